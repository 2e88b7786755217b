// How a kernel is declared, and what its block shares.
//
//   EVT_CUDA_KERNEL(name, Launch, threads, 1) { … launch.status … }      a parameter `launch`, by value; launch bounds
//   EVT_BLOCK_VARIABLE(BlockState, block);                               one in each block
//   EVT_BLOCK_ARRAY(Notification, room, 4);                              likewise, [4]
//   EVT_BLOCK_STORAGE(Program, bytes);                                   room for one, as chars: nothing is constructed
//   EVT_DYNAMIC_SHARED(bytes);                                           what the launch gives each block, as chars
#pragma once

#ifdef EVT_SIMULATED
#include "device/cuda/simulated/launch.h"
#else
#define EVT_CUDA_KERNEL(name, Launch, ...)                                                                             \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__) name(const __grid_constant__ Launch launch)
#define EVT_BLOCK_VARIABLE(Type, name) __shared__ Type name
#define EVT_BLOCK_ARRAY(Type, name, count) __shared__ Type name[count]
#define EVT_BLOCK_STORAGE(Type, name) __shared__ alignas(Type) char name[sizeof(Type)]
#define EVT_DYNAMIC_SHARED(name) extern __shared__ __align__(128) char name[]
#endif
