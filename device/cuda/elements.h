// Single elements of memories, and neighbours of a row: what the ends of tasks on fragments load, store and reduce.
//
// Indices are 32 bits wide here (the runtime refuses larger extents): what an epilogue does with them is a good part of
// its instructions, and those are fetched anew for almost every task.
#pragma once

#include "device/cuda/read_rows.h"

namespace evt {

namespace detail {
template <class T, int Rank>
__device__ __forceinline__ bool is_inside(const Memory<T, Rank> &m, const int (&at)[Rank ? Rank : 1]) {
  bool inside = true;
#pragma unroll
  for (int d = 0; d < Rank; ++d)
    inside &= (unsigned)at[d] < (unsigned)m.dims[d];
  return inside;
}
template <class T, int Rank>
__device__ __forceinline__ T *element_at(const Memory<T, Rank> &m, const int (&at)[Rank ? Rank : 1]) {
  std::int64_t linear = 0;
#pragma unroll
  for (int d = 0; d < Rank; ++d)
    linear = d ? linear * (int)m.dims[d] + at[d] : at[d];
  return m.data + linear;
}
} // namespace detail

template <class T, int Rank>
__device__ __forceinline__ T load_element(const Memory<T, Rank> &m, const int (&at)[Rank ? Rank : 1], T fill) {
  return detail::is_inside(m, at) ? *detail::element_at(m, at) : fill;
}
template <class T, int Rank>
__device__ __forceinline__ void store_element(const Memory<T, Rank> &m, const int (&at)[Rank ? Rank : 1], T value) {
  if (detail::is_inside(m, at))
    *detail::element_at(m, at) = value;
}

/// Two neighbours of the last dimension, as one access where they are both there and aligned.
template <class T> struct alignas(2 * sizeof(T)) Pair { T first, second; };
template <class T, int Rank>
__device__ __forceinline__ Pair<T> load_pair(const Memory<T, Rank> &m, const int (&at)[Rank], T fill) {
  Pair<T> pair{fill, fill};
  if (detail::is_inside(m, at)) {
    const T *place = detail::element_at(m, at);
    if ((int)m.dims[Rank - 1] % 2 == 0 && at[Rank - 1] % 2 == 0)
      return *reinterpret_cast<const Pair<T> *>(place);
    pair.first = place[0];
    if (at[Rank - 1] + 1 < (int)m.dims[Rank - 1])
      pair.second = place[1];
  }
  return pair;
}
template <class T, int Rank>
__device__ __forceinline__ void store_pair(const Memory<T, Rank> &m, const int (&at)[Rank], T first, T second) {
  if (!detail::is_inside(m, at))
    return;
  T *place = detail::element_at(m, at);
  if ((int)m.dims[Rank - 1] % 2 == 0 && at[Rank - 1] % 2 == 0) {
    *reinterpret_cast<Pair<T> *>(place) = {first, second};
    return;
  }
  place[0] = first;
  if (at[Rank - 1] + 1 < (int)m.dims[Rank - 1])
    place[1] = second;
}

/// The same into an early place of the memory, in words of 32 bits, if there is one.
template <class T, int Rank>
__device__ __forceinline__ void store_element(const Memory<T, Rank> &m, const int (&at)[Rank], T value,
                                              const EarlyWrite &to) {
  static_assert(sizeof(T) == 4);
  if (!to.now)
    store_element(m, at, value);
  else if (detail::is_inside(m, at))
    write_early<EarlyWords>(to, detail::element_at(m, at) - m.data, __builtin_bit_cast(std::uint32_t, value));
}
template <class T, int Rank>
__device__ __forceinline__ void store_pair(const Memory<T, Rank> &m, const int (&at)[Rank], T first, T second,
                                           const EarlyWrite &to) {
  static_assert(sizeof(T) == 2);
  if (!to.now)
    store_pair(m, at, first, second);
  else if (detail::is_inside(m, at))
    write_early<EarlyWords>(to, (detail::element_at(m, at) - m.data) / 2,
                            __builtin_bit_cast(std::uint32_t, Pair<T>{first, second}));
}

namespace detail {
/// Reduces `Each` elements of every lane, in their order, and then the lanes' results.
template <class Op, int Each, class Get> __device__ __forceinline__ auto reduce_lanes(Get element) {
  auto part = element(0);
#pragma unroll
  for (int i = 1; i < Each; ++i)
    part = Op::apply(part, element(i));
#pragma unroll
  for (int half = 16; half; half /= 2)
    part = Op::apply(part, __shfl_xor_sync(~0u, part, half));
  return part;
}
} // namespace detail

/// Reduces the `Width` elements of a row from `at` on, `fill` outside, by all lanes of a warp: lane l takes every 32nd
/// group of neighbours, so that all are on their way at once.
template <class Op, int Width, class T, int Rank>
__device__ __forceinline__ T reduce_row(const Memory<T, Rank> &m, const int (&at)[Rank], T fill) {
  static_assert(Width % 32 == 0);
  constexpr int each = Width / 32, step = each % 4 == 0 && sizeof(T) == 4 ? 4 : 1;
  if (!detail::is_inside(m, at))
    return fill; // its result is used by nobody
  struct alignas(4 * step) Piece {
    T element[step];
  } piece[each / step];
  const int lane = ptx::kept_thread() % 32 * step, columns = (int)m.dims[Rank - 1] - at[Rank - 1];
  const T *row = detail::element_at(m, at) + lane;
  if (Width <= columns && reinterpret_cast<std::uintptr_t>(row) % (4 * step) == 0) {
#pragma unroll
    for (int i = 0; i < each / step; ++i)
      piece[i] = *reinterpret_cast<const Piece *>(row + i * 32 * step);
  } else {
#pragma unroll
    for (int i = 0; i < each; ++i) {
      const int column = i / step * 32 * step + i % step;
      piece[i / step].element[i % step] = lane + column < columns ? row[column] : fill;
    }
  }
  return detail::reduce_lanes<Op, each>([&](int i) { return piece[i / step].element[i % step]; });
}
/// The same for whole rows of a memory that may be an early one.
template <class Op, int Width, class T, int Rank>
__device__ __forceinline__ T reduce_row(const Memory<T, Rank> &m, const int (&at)[Rank], T fill, Reading &reading) {
  static_assert(Width % 32 == 0 && sizeof(T) == 4);
  constexpr int each = Width / 32, step = each % 4 == 0 ? 4 : 1;
  if (!detail::is_inside(m, at))
    return fill;
  std::uint32_t words[each / step][step];
  const std::uint32_t *row =
      reinterpret_cast<const std::uint32_t *>(detail::element_at(m, at)) + ptx::kept_thread() % 32 * step;
#pragma unroll
  for (int i = 0; i < each / step; ++i)
    if constexpr (step == 4)
      ptx::load_relaxed(words[i], row + i * 32 * step, true);
    else
      words[i][0] = ptx::load_relaxed(row + i * 32);
#pragma unroll
  for (int i = 0; i < each / step; ++i)
    reading.there &= !is_missing(words[i]) || reading.flip == 0;
  return detail::reduce_lanes<Op, each>(
      [&](int i) { return __builtin_bit_cast(T, words[i / step][i % step] ^ reading.flip); });
}

/// Combines the four lanes that share a row; all get the result.
template <class Op, class T> __device__ inline T combine_row(T value) {
  value = Op::apply(value, __shfl_xor_sync(~0u, value, 1));
  return Op::apply(value, __shfl_xor_sync(~0u, value, 2));
}

} // namespace evt
