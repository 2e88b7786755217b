// The kernel that packs weights (device/common/pack.h). It is in every cubin, so that nothing is compiled when a model
// is loaded.
#pragma once

#include "device/common/pack.h"
#include "device/cuda/abi.h"
#include "device/cuda/launch.h"

/// `name` is the kernel's.
#define EVT_PACK_KERNEL(name)                                                                                          \
  EVT_CUDA_KERNEL(name, evt_cuda_pack, EVT_PACK_THREADS) {                                                             \
    evt::pack(launch, blockIdx.x *EVT_PACK_THREADS + threadIdx.x, launch.blocks * EVT_PACK_THREADS);                   \
  }
