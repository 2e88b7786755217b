// A lane's row of a memory, for tiles whose elements the lanes hold as fragments: where it begins and ends is found
// once, and its elements are then a constant apart. In tiles of many columns most tasks lie inside the memory as a
// whole; those at an edge take the slow way, element by element.
#pragma once

#include "device/cuda/elements.h"
#include "device/cuda/memory.h"

namespace evt {

namespace detail {
/// The lane that is not `upper` gives its `b` for the other's `a`.
__device__ __forceinline__ void exchange(std::uint32_t &a, std::uint32_t &b, bool upper, int distance) {
  const std::uint32_t got = __shfl_xor_sync(~0u, upper ? a : b, distance);
  (upper ? a : b) = got;
}
} // namespace detail

/// Of four pairs, each of other 8 columns, the four lanes of a row make 8 neighbours for each of them.
template <class T> __device__ __forceinline__ uint4 exchange_four(const Pair<T> (&pairs)[4]) {
  static_assert(sizeof(T) == 2);
  std::uint32_t word[4];
#pragma unroll
  for (int i = 0; i < 4; ++i)
    word[i] = __builtin_bit_cast(std::uint32_t, pairs[i]);
  const int quarter = fragment_quarter(ptx::kept_thread());
  detail::exchange(word[0], word[1], quarter & 1, 1);
  detail::exchange(word[2], word[3], quarter & 1, 1);
  detail::exchange(word[0], word[2], quarter & 2, 2);
  detail::exchange(word[1], word[3], quarter & 2, 2);
  return {word[0], word[1], word[2], word[3]};
}

//===-- rows that a table names -----------------------------------------------------------------------------------===//

/// The row of a memory of `rows` rows that a table's entry names, -1 if there is none.
template <class I> __device__ __forceinline__ int named_row(I entry, int rows) {
  return 0 <= entry && entry < (I)rows ? (int)entry : -1;
}

/// The same for a store by all lanes of a warp, each with the entry of its row of 8: of several that name the same row
/// the last one stays, so the others get -1.
template <class I> __device__ __forceinline__ int last_named_row(I entry, int rows) {
  const int row = named_row(entry, rows);
  const unsigned same = __match_any_sync(~0u, row), lane = threadIdx.x % 32;
  return same >> (lane | 3) >> 1 ? -1 : row; // a lane beyond the four of this row
}

/// The same for row `g` of a tile of `TileRows`, whose entry is at `at`. Others hold the later rows, so the four lanes
/// that share the row read their entries.
template <int TileRows, class I>
__device__ __forceinline__ int last_named_row(const Memory<I, 1> &table, int at, int g, int rows) {
  auto row_at = [&](int position) { return named_row(load_element(table, {position}, (I)-1), rows); };
  const int row = row_at(at);
  int later = 0;
  for (int r = g + 1 + fragment_quarter(ptx::kept_thread()); r < TileRows; r += 4)
    later |= row_at(at + r - g) == row;
  later |= __shfl_xor_sync(~0u, later, 1);
  later |= __shfl_xor_sync(~0u, later, 2);
  return later ? -1 : row;
}

//===-- a lane's row ----------------------------------------------------------------------------------------------===//

/// The elements `k`, `k + 1` for k = 0, 8, 16, … < Width, counted from the lane's own first column. Made by all lanes
/// of a warp together.
template <class T, int Width> struct FragmentRow {
  T *first;
  int low, high; // elements from `low` on and before `high` are there
  bool whole;    // all pairs are there, each at a multiple of its size
  bool aligned;  // the tile's row is there, at a multiple of 16 bytes: the same for the four lanes that share it

  template <int Rank> __device__ __forceinline__ FragmentRow(const Memory<T, Rank> &m, const int (&at)[Rank]) {
    bool inside = true;
#pragma unroll
    for (int d = 0; d < Rank - 1; ++d)
      inside &= (unsigned)at[d] < (unsigned)m.dims[d];
    first = detail::element_at(m, at);
    low = at[Rank - 1] < 0 ? -at[Rank - 1] : 0;
    high = inside ? (int)m.dims[Rank - 1] - at[Rank - 1] : 0;
    const std::uintptr_t address = reinterpret_cast<std::uintptr_t>(first);
    whole = low == 0 && Width - 6 <= high && address % (2 * sizeof(T)) == 0;
    const int column = 2 * fragment_quarter(ptx::kept_thread());
    aligned = at[Rank - 1] >= column && Width - column <= high && (address - column * sizeof(T)) % 16 == 0;
  }
  __device__ bool has(int k) const { return low <= k && k < high; }

  __device__ __forceinline__ Pair<T> load(int k, T fill) const {
    if (whole)
      return *reinterpret_cast<const Pair<T> *>(first + k);
    return {has(k) ? first[k] : fill, has(k + 1) ? first[k + 1] : fill};
  }
  __device__ __forceinline__ void store(int k, T even, T odd) const {
    if (whole) {
      *reinterpret_cast<Pair<T> *>(first + k) = {even, odd};
    } else {
      if (has(k))
        first[k] = even;
      if (has(k + 1))
        first[k + 1] = odd;
    }
  }
  /// Four pairs of 16-bit elements, at k, k + 8, k + 16 and k + 24, by all lanes of the warp: the four lanes of a row
  /// exchange them, so that each stores 8 neighbours.
  __device__ __forceinline__ void store_four(int k, const Pair<T> (&pairs)[4]) const {
    const uint4 neighbours = exchange_four(pairs);
    const int quarter = fragment_quarter(ptx::kept_thread()); // before lanes part
    if (aligned) {
      *reinterpret_cast<uint4 *>(first + k + 6 * quarter) = neighbours;
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i)
        store(k + 8 * i, pairs[i].first, pairs[i].second);
    }
  }
};

/// The same where groups of 8 columns are inside the memory or outside as a whole, each at a multiple of 8 elements: no
/// way but the fast one, which is little code. Most tasks of a decoder run this code once a phase, and it is fetched
/// anew each time.
template <class T, int Width> struct WholeRow {
  T *first;
  int column, columns; // of the lane's first element; of the memory, 0 for a row outside

  template <int Rank> __device__ __forceinline__ WholeRow(const Memory<T, Rank> &m, const int (&at)[Rank]) {
    bool inside = true;
#pragma unroll
    for (int d = 0; d < Rank - 1; ++d)
      inside &= (unsigned)at[d] < (unsigned)m.dims[d];
    first = detail::element_at(m, at);
    column = at[Rank - 1];
    columns = inside ? (int)m.dims[Rank - 1] : 0;
  }
  __device__ __forceinline__ bool has(int k) const { return (unsigned)(column + k) < (unsigned)columns; }

  __device__ __forceinline__ Pair<T> load(int k, T fill) const {
    return has(k) ? *reinterpret_cast<const Pair<T> *>(first + k) : Pair<T>{fill, fill};
  }
  __device__ __forceinline__ void store(int k, T even, T odd) const {
    if (has(k))
      *reinterpret_cast<Pair<T> *>(first + k) = {even, odd};
  }
  __device__ __forceinline__ void store_four(int k, const Pair<T> (&pairs)[4]) const {
    const uint4 neighbours = exchange_four(pairs);
    const int quarter = fragment_quarter(ptx::kept_thread());
    if (has(k + 6 * quarter))
      *reinterpret_cast<uint4 *>(first + k + 6 * quarter) = neighbours;
  }
};

} // namespace evt
