// The kernel that packs weights (device/common/pack.h). It is in every cubin, so that nothing is compiled when a model
// is loaded.
#pragma once

#include "device/common/pack.h"
#include "device/cuda/abi.h"

/// `name` is the kernel's.
#define EVT_PACK_KERNEL(name)                                                                                          \
  extern "C" __global__ void __launch_bounds__(EVT_PACK_THREADS) name(const __grid_constant__ evt_cuda_pack pack) {    \
    evt::pack(pack, blockIdx.x *EVT_PACK_THREADS + threadIdx.x, pack.blocks * EVT_PACK_THREADS);                       \
  }
