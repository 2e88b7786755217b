// What device/cuda/launch.h says, on a simulated GPU: a kernel is two symbols, `<name>_launch`, which runs all its
// blocks, and `<name>_parameter_bytes`, which a driver reads from a cubin.
#pragma once

#include "device/cuda/simulated/gpu.h"

#define EVT_CUDA_KERNEL(name, Launch, ...)                                                                             \
  static void name##_thread(const Launch &launch);                                                                     \
  extern "C" {                                                                                                         \
  [[gnu::visibility("default")]] extern const unsigned name##_parameter_bytes;                                         \
  const unsigned name##_parameter_bytes = sizeof(Launch);                                                              \
  [[gnu::visibility("default")]] void name##_launch(const void *parameters, unsigned blocks, unsigned threads,         \
                                                    unsigned shared_bytes) {                                           \
    evt::simulated::launch([](const void *p) { name##_thread(*static_cast<const Launch *>(p)); }, parameters, blocks,  \
                           threads, shared_bytes);                                                                     \
  }                                                                                                                    \
  }                                                                                                                    \
  static void name##_thread(const Launch &launch)
#define EVT_BLOCK_VARIABLE(Type, name)                                                                                 \
  struct name##_of_block;                                                                                              \
  Type &name = *::evt::simulated::shared_variable<Type, name##_of_block>()
#define EVT_BLOCK_ARRAY(Type, name, count)                                                                             \
  struct name##_of_block;                                                                                              \
  Type *const name = ::evt::simulated::shared_variable<Type, name##_of_block>(count)
#define EVT_BLOCK_STORAGE(Type, name)                                                                                  \
  struct name##_of_block;                                                                                              \
  char *const name = reinterpret_cast<char *>(::evt::simulated::shared_variable<Type, name##_of_block>())
#define EVT_DYNAMIC_SHARED(name) char *const name = ::evt::simulated::dynamic_shared()
