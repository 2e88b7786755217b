// Memories of a launch as the copy engine knows them: addresses and extents are known only now.
#ifndef EVT_RUNTIME_CUDA_TENSORMAPS_H
#define EVT_RUNTIME_CUDA_TENSORMAPS_H

#include "runtime/artifact/Shapes.h"
#include "runtime/cuda/Driver.h"

#include <span>
#include <vector>

namespace evt::runtime::cuda {

// The manifest's maps, in its order. That of a memory without elements stays zero: nothing can be fetched from it.
std::vector<TensorMap> encodeTensorMaps(const Driver &driver, const Manifest &manifest, const Shapes &shapes,
                                        std::span<const Address> memories);

} // namespace evt::runtime::cuda

#endif
