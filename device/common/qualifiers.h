// Where a function runs. The headers of device/common serve both targets: for the CPU they are plain C++, inside a CUDA
// kernel everything in them is device code.
#ifndef EVT_DEVICE_COMMON_QUALIFIERS_H
#define EVT_DEVICE_COMMON_QUALIFIERS_H

#if defined(__CUDACC__)
#define EVT_DEVICE __device__
#else
#define EVT_DEVICE
#endif

/// A function of an emitted kernel, and one whose arguments must stay in registers on a GPU.
#define EVT_FN static EVT_DEVICE
#if defined(__CUDACC__)
#define EVT_FORCED static __device__ __forceinline__
#else
#define EVT_FORCED static inline
#endif

#endif
