#include "runtime/cuda/HostCopy.h"

namespace evt::runtime::cuda {

HostCopy copyToHost(const Gpu &gpu, const Manifest &manifest, const Shapes &shapes, std::span<const Address> memories,
                    std::span<const Address> regions, Stream stream) {
  HostCopy copy;
  auto fetch = [&](Address address, int64_t bytes) -> void * {
    size_t size = static_cast<size_t>(bytes);
    copy.storage.emplace_back(size / sizeof(uint64_t) + 1); // never empty, so never at a null address
    if (size)
      gpu.driver().MemcpyDtoHAsync(static_cast<void *>(copy.storage.back().data()), address, size, stream);
    return copy.storage.back().data();
  };
  for (size_t m = 0; m < memories.size(); ++m)
    copy.memories.push_back(isFloat(manifest.memories[m].type) ? nullptr : fetch(memories[m], shapes.memoryBytes[m]));
  for (size_t r = 0; r < regions.size(); ++r)
    copy.regions.push_back(fetch(regions[r], shapes.regionBytes[r]));
  gpu.driver().StreamSynchronize(stream);
  return copy;
}

} // namespace evt::runtime::cuda
