// A tensor map as a driver without a GPU writes it (runtime/cuda/fake) and the simulated copy engine reads it: what a
// true driver would encode, in plain words. Dimensions are counted from the innermost on.
#pragma once

#include <cstdint>

namespace evt::simulated {

struct TensorMap {
  std::uint64_t address, type, rank;
  std::uint64_t extents[5];
  std::uint64_t strides[4]; // bytes, from the second dimension on
  std::uint64_t box[4];     // a fifth size is 1

  /// By 128 bytes: it is what boxes of 64 elements of 16 bits are for.
  bool is_swizzled() const { return box[0] == 64; }
  std::uint64_t box_of(int dimension) const { return dimension < 4 ? box[dimension] : 1; }
};
static_assert(sizeof(TensorMap) == 128);

} // namespace evt::simulated
