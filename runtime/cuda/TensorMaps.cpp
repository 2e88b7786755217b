#include "runtime/cuda/TensorMaps.h"

namespace evt::runtime::cuda {

namespace {

const TileShape *packedTileOf(const Manifest &manifest, const Memory &memory) {
  if (!memory.argument)
    return nullptr;
  const std::optional<TileShape> &packed = manifest.arguments[*memory.argument].packed;
  return packed ? &*packed : nullptr;
}

} // namespace

std::vector<TensorMap> encodeTensorMaps(const Driver &driver, const Manifest &manifest, const Shapes &shapes,
                                        std::span<const Address> memories) {
  constexpr size_t mostDims = 5;          // the driver's own limit
  constexpr int64_t swizzledColumns = 64; // 128 bytes
  std::vector<TensorMap> maps;
  for (const CudaSection::TensorMap &wanted : manifest.cuda->tensorMaps) {
    TensorMap &map = maps.emplace_back();
    const Shapes::Extents &extents = shapes.memories[wanted.memory];
    if (extents.elements == 0)
      continue;
    const Memory &memory = manifest.memories[wanted.memory];
    // The driver counts dimensions from the innermost one on; the innermost stride is the element's size. A packed
    // tensor has a tile's elements, then the tiles of a row of tiles, then rows of tiles.
    uint64_t dims[mostDims], strides[mostDims], distance = bytesOf(memory.type);
    uint32_t box[mostDims], steps[mostDims];
    size_t rank = 0;
    auto add = [&](int64_t extent, int64_t fetched) {
      dims[rank] = static_cast<uint64_t>(extent);
      distance *= dims[rank];
      strides[rank] = distance;
      box[rank] = static_cast<uint32_t>(fetched);
      steps[rank++] = 1;
    };
    auto from = extents.dims.rbegin();
    const TileShape *tile = packedTileOf(manifest, memory);
    const int64_t columns = *from++, rows = *from++, allRows = fetchedRows(memory, wanted, rows);
    const int64_t boxRows = fetchedTileRows(memory, wanted, rows);
    if (tile) {
      add(tile->rows * tile->columns, tile->rows * tile->columns);
      add(columns / tile->columns, wanted.columns / tile->columns);
      add(allRows / tile->rows, wanted.rows / tile->rows);
    } else if (wanted.columns == swizzledColumns) {
      add(columns, wanted.columns);
      add(allRows, boxRows);
    } else { // 64 columns of all rows of a tile, then the next 64
      const uint64_t row = static_cast<uint64_t>(columns) * bytesOf(memory.type);
      add(swizzledColumns, swizzledColumns);
      add(allRows, boxRows);
      strides[rank - 2] = row;
      add(columns / swizzledColumns, wanted.columns / swizzledColumns);
      strides[rank - 2] = swizzledColumns * bytesOf(memory.type);
      distance = row * static_cast<uint64_t>(allRows);
      strides[rank - 1] = distance;
    }
    for (; from != extents.dims.rend(); ++from)
      add(*from, 1);
    driver.TensorMapEncodeTiled(&map, memory.type == DataType::bf16 ? TensorMapType::bfloat16 : TensorMapType::float16,
                                static_cast<uint32_t>(rank), reinterpret_cast<void *>(memories[wanted.memory]),
                                static_cast<const uint64_t *>(dims), static_cast<const uint64_t *>(strides),
                                static_cast<const uint32_t *>(box), static_cast<const uint32_t *>(steps),
                                tensorMapInterleaveNone, tile ? tensorMapSwizzleNone : tensorMapSwizzle128,
                                tensorMapPromotion256, tensorMapFillZero);
  }
  return maps;
}

} // namespace evt::runtime::cuda
