#include "runtime/cuda/TensorMaps.h"

namespace evt::runtime::cuda {

std::vector<TensorMap> encodeTensorMaps(const Driver &driver, const Manifest &manifest, const Shapes &shapes,
                                        std::span<const Address> memories) {
  constexpr size_t mostDims = 5; // the driver's own limit
  std::vector<TensorMap> maps;
  for (const CudaSection::TensorMap &wanted : manifest.cuda->tensorMaps) {
    TensorMap &map = maps.emplace_back();
    const Shapes::Extents &extents = shapes.memories[wanted.memory];
    if (extents.elements == 0)
      continue;
    const Memory &memory = manifest.memories[wanted.memory];
    // The driver counts dimensions from the innermost one on; the innermost stride is the element's size.
    uint64_t dims[mostDims], strides[mostDims], distance = bytesOf(memory.type);
    uint32_t box[mostDims], steps[mostDims];
    size_t rank = extents.dims.size();
    for (size_t d = 0; d < rank; ++d) {
      dims[d] = static_cast<uint64_t>(extents.dims[rank - 1 - d]);
      distance *= dims[d];
      strides[d] = distance;
      box[d] = d == 0 ? wanted.columns : d == 1 ? wanted.rows : 1;
      steps[d] = 1;
    }
    driver.TensorMapEncodeTiled(&map, memory.type == DataType::bf16 ? TensorMapType::bfloat16 : TensorMapType::float16,
                                static_cast<uint32_t>(rank), reinterpret_cast<void *>(memories[wanted.memory]),
                                static_cast<const uint64_t *>(dims), static_cast<const uint64_t *>(strides),
                                static_cast<const uint32_t *>(box), static_cast<const uint32_t *>(steps),
                                tensorMapInterleaveNone, tensorMapSwizzle128, tensorMapPromotion256, tensorMapFillZero);
  }
  return maps;
}

} // namespace evt::runtime::cuda
