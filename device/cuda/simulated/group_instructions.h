// The functions of device/cuda/group_instructions.h on a simulated GPU. What each does is said there.
#pragma once

#include "device/cuda/simulated/instructions.h"

namespace evt::ptx {

inline void wgmma_fence() {}
inline void wgmma_commit() { simulated::end_products(); }
template <int Groups> void wgmma_wait() { simulated::await_products(Groups); }

template <int Columns, bool Bfloat16> void wgmma(float (&c)[Columns / 2], std::uint64_t a, std::uint64_t b) {
  simulated::multiply_group(c, Columns, Bfloat16, a, b);
}

inline void copy_fence() {}
inline void shared_copy_fence() {}

namespace detail {

template <class... Coordinates>
void copy_box(std::uint32_t to, const void *map, Barrier barrier, Coordinates... coordinates) {
  const int at[] = {coordinates...};
  simulated::copy_box(to, map, barrier.address, at, sizeof...(Coordinates));
}

} // namespace detail

template <class... Coordinates>
void tensor_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, Coordinates... more) {
  detail::copy_box(to, map, barrier, x, y, more...);
}
inline void packed_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y) {
  detail::copy_box(to, map, barrier, 0, x / 32, y / 8);
}
inline void packed_load(std::uint32_t to, const void *map, Barrier barrier, int x, int y, int z) {
  detail::copy_box(to, map, barrier, 0, x / 32, y / 8, z);
}
inline void tensor_prefetch(const void *) {}

} // namespace evt::ptx
