// The one parameter of a CUDA kernel, byte by byte: evt_cuda_launch, then memories, symbols and regions as 8-byte
// words, then tensor maps. device/cuda/abi.h defines it; nothing else knows the layout.
#ifndef EVT_RUNTIME_CUDA_PARAMETERS_H
#define EVT_RUNTIME_CUDA_PARAMETERS_H

#include "device/cuda/abi.h"
#include "runtime/cuda/Driver.h"

#include <span>
#include <vector>

namespace evt::runtime::cuda {

// The pointers of a launch in the kernel's view: addresses of the device, which the host must not follow.
template <typename T> T *devicePointer(Address address) {
  return reinterpret_cast<T *>(static_cast<uintptr_t>(address));
}

std::vector<uint64_t> packParameters(const evt_cuda_launch &launch, std::span<const Address> memories,
                                     std::span<const int64_t> symbols, std::span<const Address> regions,
                                     std::span<const TensorMap> maps = {});

} // namespace evt::runtime::cuda

#endif
