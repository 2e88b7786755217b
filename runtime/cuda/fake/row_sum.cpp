#include "runtime/testdata/row_sum.cpp"

#include "runtime/cuda/fake/FakeKernel.h"

FAKE_CUDA_KERNEL(3, 1, 2)
