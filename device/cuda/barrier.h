// Barriers in shared memory, by their addresses there: conversions from a pointer cost more than what they are used
// for.
#pragma once

#include <cstdint>

namespace evt::ptx {

struct Barrier {
  std::uint32_t address;
};
/// The barriers of a ring.
struct Barriers {
  std::uint32_t first;
  __device__ __forceinline__ Barrier operator[](int i) const { return {first + 8u * (std::uint32_t)i}; }
};

} // namespace evt::ptx
