#include "Reference.h"

namespace evt::fuzz {

namespace {

uint32_t ramp(const std::vector<int64_t> &point) {
  uint32_t sum = 0;
  for (size_t d = 0; d < point.size(); ++d)
    sum += static_cast<uint32_t>(point[d]) * (2 * static_cast<uint32_t>(d) + 1);
  return sum;
}

} // namespace

int64_t elementCount(const Memory &memory, const Values &symbols) {
  int64_t n = 1;
  for (const Size &d : memory.dims)
    n *= d.at(symbols);
  return n;
}

void evaluate(const Model &model, const Values &symbols, std::vector<Tensor> &tensors) {
  forEachTask(model, symbols, [&](int c, const std::vector<int64_t> &coords) {
    const Call &call = model.calls[static_cast<size_t>(c)];
    uint32_t h = static_cast<uint32_t>(call.salt);
    for (size_t k = 0; k < coords.size(); ++k)
      h += static_cast<uint32_t>(coords[k]) * (2 * static_cast<uint32_t>(k) + 3);

    // Calls visit(point in the tile, element or null) for the whole tile.
    auto forTile = [&](const Access &access, auto visit) {
      const Memory &memory = model.memories[static_cast<size_t>(access.memory)];
      Tensor &tensor = tensors[static_cast<size_t>(access.memory)];
      forEachPoint({access.tile.begin(), access.tile.end()}, [&](const std::vector<int64_t> &point) {
        int64_t linear = 0;
        bool inside = true;
        for (size_t d = 0; d < point.size(); ++d) {
          int64_t extent = memory.dims[d].at(symbols), at = access.offset[d].at(coords, symbols) + point[d];
          inside &= at >= 0 && at < extent;
          linear = linear * extent + at;
        }
        visit(point, inside ? &tensor[static_cast<size_t>(linear)] : nullptr);
      });
    };
    for (const Access &read : call.reads) {
      uint32_t sum = 0;
      forTile(read, [&](const std::vector<int64_t> &point, const int32_t *element) {
        sum += (element ? static_cast<uint32_t>(*element) : 0u) * (1 + 2 * ramp(point));
      });
      h = h * 31 + sum;
    }
    for (const Access &write : call.writes)
      forTile(write, [&](const std::vector<int64_t> &point, int32_t *element) {
        if (element)
          *element = static_cast<int32_t>(h + 7 * ramp(point));
      });
  });
}

} // namespace evt::fuzz
