#include "runtime/testdata/faults.cpp"

#include "runtime/cuda/fake/FakeKernel.h"

FAKE_CUDA_KERNEL(1, 1, 2)
