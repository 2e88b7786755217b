#include "runtime/testdata/chain.cpp"

#include "runtime/cuda/fake/FakeKernel.h"

FAKE_CUDA_KERNEL(0, 1, 3)
