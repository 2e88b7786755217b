// What a launch has left on the GPU, copied to the host: enough for evt_kernel_explain to enumerate the launch's tasks,
// and for the report of a stall.
#ifndef EVT_RUNTIME_CUDA_HOSTCOPY_H
#define EVT_RUNTIME_CUDA_HOSTCOPY_H

#include "runtime/cuda/DeviceMemory.h"
#include "runtime/launch/HostLaunch.h"

#include <span>
#include <vector>

namespace evt::runtime::cuda {

// Memories of integers, in the manifest's order, and the regions. Floats stay where they are: no wait, notify or grid
// depends on one, and they may be large. Their addresses here are null.
struct HostCopy {
  std::vector<std::vector<uint64_t>> storage; // words, so that every element type is aligned
  std::vector<void *> memories, regions;
};

// Copies in the stream and waits for it. `memories` are all of the manifest's.
HostCopy copyToHost(const Gpu &gpu, const Manifest &manifest, const Shapes &shapes, std::span<const Address> memories,
                    std::span<const Address> regions, Stream stream);

} // namespace evt::runtime::cuda

#endif
