#include "runtime/artifact/Shapes.h"

#include "runtime/Error.h"

#include <algorithm>

namespace evt::runtime {
namespace {

int64_t multiply(int64_t a, int64_t b, const std::string &what) {
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product))
    throw Error(EVT_ERROR_ARGUMENT,
                what + " does not fit in 64 bits: " + std::to_string(a) + " * " + std::to_string(b));
  return product;
}

int64_t evaluateSize(const Expression &expression, std::span<const int64_t> symbols, const std::string &what) {
  int64_t value = expression.evaluate(symbols);
  if (value < 0)
    throw Error(EVT_ERROR_ARGUMENT,
                what + " is " + expression.text() + " = " + std::to_string(value) + ", required at least 0");
  return value;
}

Shapes::Extents evaluateAll(const std::vector<Expression> &dims, std::span<const int64_t> symbols,
                            const std::string &what) {
  Shapes::Extents result{{}, 1};
  for (size_t d = 0; d < dims.size(); ++d) {
    result.dims.push_back(evaluateSize(dims[d], symbols, "dimension " + std::to_string(d) + " of " + what));
    result.elements = multiply(result.elements, result.dims.back(), "number of elements of " + what);
  }
  return result;
}

} // namespace

static bool mayReadOutside(const Memory &memory, const CudaSection::TensorMap &map) {
  return map.mayReadOutside && !memory.argument && memory.dims.size() == 2;
}

int64_t fetchedRows(const Memory &memory, const CudaSection::TensorMap &map, int64_t rows) {
  return mayReadOutside(memory, map) ? (rows + map.rows - 1) / map.rows * map.rows : rows;
}

int64_t fetchedTileRows(const Memory &memory, const CudaSection::TensorMap &map, int64_t rows) {
  return mayReadOutside(memory, map) && rows < map.rows ? (rows + 7) / 8 * 8 : map.rows;
}

Shapes resolveShapes(const Manifest &manifest, std::span<const int64_t> symbols) {
  Shapes shapes;
  for (const Memory &memory : manifest.memories) {
    std::string what = (memory.argument ? "argument '" : "buffer '") + memory.name + "'";
    shapes.memories.push_back(evaluateAll(memory.dims, symbols, what));
    shapes.memoryBytes.push_back(multiply(shapes.memories.back().elements, static_cast<int64_t>(bytesOf(memory.type)),
                                          "number of bytes of " + what));
  }
  if (manifest.cuda)
    for (const CudaSection::TensorMap &map : manifest.cuda->tensorMaps) {
      const Memory &memory = manifest.memories[map.memory];
      const std::vector<int64_t> &dims = shapes.memories[map.memory].dims;
      int64_t row = multiply(dims.back(), static_cast<int64_t>(bytesOf(memory.type)), "size of a row");
      if (!memory.argument && dims.size() == 2)
        shapes.memoryBytes[map.memory] =
            std::max(shapes.memoryBytes[map.memory], multiply(fetchedRows(memory, map, dims[0]), row,
                                                              "number of bytes of buffer '" + memory.name + "'"));
    }
  for (const Event &event : manifest.events)
    shapes.events.push_back(evaluateAll(event.dims, symbols, "event '" + event.name + "'"));

  shapes.tasks = 0;
  for (const Call &call : manifest.calls) {
    Shapes::CallExtents extents{{}, 1, shapes.tasks};
    for (const Expression &extent : call.extents) {
      extents.extents.push_back(std::max<int64_t>(extent.evaluate(symbols), 0)); // a negative grid has no tasks
      extents.tasks = multiply(extents.tasks, extents.extents.back(), "number of tasks of call '" + call.name + "'");
    }
    if (__builtin_add_overflow(shapes.tasks, extents.tasks, &shapes.tasks))
      throw Error(EVT_ERROR_ARGUMENT, "number of tasks does not fit in 64 bits");
    shapes.calls.push_back(std::move(extents));
  }

  for (const Region &region : manifest.regions) {
    int64_t bytes = evaluateSize(region.bytes, symbols, "size of region '" + region.name + "'");
    if (region.event) {
      int64_t needed = multiply(shapes.events[*region.event].elements, 4, "size of region '" + region.name + "'");
      if (bytes < needed)
        throw Error(EVT_ERROR_ARTIFACT, "region '" + region.name + "' has " + std::to_string(bytes) +
                                            " bytes, required " + std::to_string(needed) + " for the counters of '" +
                                            manifest.events[*region.event].name + "'");
    }
    shapes.regionBytes.push_back(bytes);
  }
  return shapes;
}

std::string describeElement(int64_t element, std::span<const int64_t> dims) {
  std::string text;
  for (size_t d = dims.size(); d-- > 0;) {
    int64_t extent = dims[d] > 0 ? dims[d] : 1;
    std::string coordinate = std::to_string(d == 0 ? element : element % extent);
    text = text.empty() ? coordinate : coordinate + ", " + text;
    element /= extent;
  }
  return "[" + text + "]";
}

} // namespace evt::runtime
