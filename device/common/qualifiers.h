// Where a function runs. The headers of device/common serve both targets: for the CPU they are plain C++, inside a CUDA
// kernel everything in them is device code.
#ifndef EVT_DEVICE_COMMON_QUALIFIERS_H
#define EVT_DEVICE_COMMON_QUALIFIERS_H

#if defined(__CUDACC__)
#define EVT_DEVICE __device__
#define EVT_SHARED __host__ __device__ // by the kernel, and by what describes it at compile time
#else
#define EVT_DEVICE
#define EVT_SHARED
#endif

/// A function of an emitted kernel, and one whose arguments must stay in registers on a GPU.
#define EVT_FN static EVT_DEVICE
#if defined(__CUDACC__)
#define EVT_INLINE __device__ __forceinline__
#else
#define EVT_INLINE inline
#endif
#define EVT_FORCED static EVT_INLINE

/// What the compiler may take for granted.
#if defined(__CUDACC__)
#define EVT_ASSUME(condition) __builtin_assume(condition)
#else
#define EVT_ASSUME(condition)                                                                                          \
  do {                                                                                                                 \
    if (!(condition))                                                                                                  \
      __builtin_unreachable();                                                                                         \
  } while (0)
#endif

#endif
