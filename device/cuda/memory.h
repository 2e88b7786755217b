// A memory as tile programs see it, a dense row-major array, and the moves between it and tiles in shared memory, made
// by all compute threads together. What a move means at the edges: device/cpu/tile/copy.h, whose results these equal.
//
// Loads are ordinary ones, never through the non-coherent cache: another block may have written the data during this
// launch.
#pragma once

#include "device/common/types.h"
#include "device/cuda/worker.h"

namespace evt {

template <class T, int Rank> struct Memory {
  T *data;
  std::int64_t dims[Rank ? Rank : 1];
  std::uint32_t id;
};

namespace detail {

/// A tile's static shape, walked in steps of `Step` elements of its last dimension.
template <int Step, std::int64_t... Sizes> struct Walk {
  static constexpr int rank = sizeof...(Sizes);
  static constexpr int steps = (int)(Sizes * ... * 1) / Step;

  /// Where step `i` begins in the tile.
  __device__ static void position(int i, std::int64_t (&at)[rank]) {
    constexpr std::int64_t sizes[rank] = {Sizes...};
    int rest = i;
#pragma unroll
    for (int d = rank - 1; d >= 0; --d) {
      const int n = d == rank - 1 ? (int)(sizes[d] / Step) : (int)sizes[d];
      at[d] = rest % n * (d == rank - 1 ? Step : 1);
      rest /= n;
    }
  }
  /// Linear place of a position, or -1 outside.
  __device__ static std::int64_t place(const std::int64_t (&at)[rank], const std::int64_t *dims) {
    std::int64_t linear = 0;
    bool inside = true;
#pragma unroll
    for (int d = 0; d < rank; ++d) {
      inside &= 0 <= at[d] && at[d] + (d == rank - 1 ? Step : 1) <= dims[d];
      linear = linear * dims[d] + at[d];
    }
    return inside ? linear : -1;
  }
};

/// 16 bytes at a time are possible where no step can straddle an edge.
template <class T, std::int64_t Last> constexpr int widest_step() {
  return Last % (16 / (int)sizeof(T)) == 0 ? 16 / (int)sizeof(T) : 1;
}
template <class T, int Step, int Rank>
__device__ inline bool can_step(const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank]) {
  return Step == 1 || (m.dims[Rank - 1] % Step == 0 && offset[Rank - 1] % Step == 0 &&
                       reinterpret_cast<std::uintptr_t>(m.data) % 16 == 0);
}
template <class T, int Step> struct alignas(Step == 1 ? alignof(T) : 16) Piece { T element[Step]; };

/// The memory row a table names, or -1.
template <class I>
__device__ inline std::int64_t table_row(const Memory<I, 1> &table, std::int64_t at, std::int64_t rows) {
  if (at < 0 || at >= table.dims[0])
    return -1;
  std::int64_t row = (std::int64_t)table.data[at];
  return row < rows ? row : -1;
}

/// `row` says where a row is: from its place in the tile, and from its offset in dimension `Dim`.
template <int Dim, int Step, std::int64_t... Sizes, class T, int Rank, class Row>
__device__ inline void load_steps(T *tile, const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank], T fill,
                                  Row row) {
  using W = Walk<Step, Sizes...>;
  using P = Piece<T, Step>;
  for (int i = Worker::lane(); i < W::steps; i += Worker::lanes()) {
    std::int64_t at[Rank];
    W::position(i, at);
    const std::int64_t first = at[Dim];
#pragma unroll
    for (int d = 0; d < Rank; ++d)
      at[d] += offset[d];
    at[Dim] = row(first, at[Dim]);
    const std::int64_t from = W::place(at, m.dims);
    P piece;
    if (from >= 0) {
      piece = *reinterpret_cast<const P *>(m.data + from);
    } else {
#pragma unroll
      for (int e = 0; e < Step; ++e)
        piece.element[e] = fill;
    }
    reinterpret_cast<P *>(tile)[i] = piece;
  }
}

template <int Dim, int Step, std::int64_t... Sizes, class T, int Rank, class Row>
__device__ inline void store_steps(const T *tile, const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank],
                                   Row row) {
  using W = Walk<Step, Sizes...>;
  using P = Piece<T, Step>;
  for (int i = Worker::lane(); i < W::steps; i += Worker::lanes()) {
    std::int64_t at[Rank];
    W::position(i, at);
    const std::int64_t first = at[Dim];
#pragma unroll
    for (int d = 0; d < Rank; ++d)
      at[d] += offset[d];
    at[Dim] = row(first, at[Dim]);
    const std::int64_t to = W::place(at, m.dims);
    if (to >= 0)
      *reinterpret_cast<P *>(m.data + to) = reinterpret_cast<const P *>(tile)[i];
  }
}

template <std::int64_t... Sizes> constexpr std::int64_t last_of() {
  std::int64_t all[] = {Sizes...};
  return all[sizeof...(Sizes) - 1];
}

} // namespace detail

template <std::int64_t... Sizes, class T, int Rank>
__device__ inline void load_tile(Worker &, T *tile, const Memory<T, Rank> &m,
                                 const std::int64_t (&offset)[Rank ? Rank : 1], T fill) {
  static_assert(sizeof...(Sizes) == Rank);
  if constexpr (Rank == 0) {
    if (Worker::lane() == 0)
      *tile = *m.data;
  } else {
    constexpr int wide = detail::widest_step<T, detail::last_of<Sizes...>()>();
    auto plain = [](std::int64_t, std::int64_t at) { return at; };
    if (detail::can_step<T, wide>(m, offset))
      detail::load_steps<0, wide, Sizes...>(tile, m, offset, fill, plain);
    else
      detail::load_steps<0, 1, Sizes...>(tile, m, offset, fill, plain);
  }
}

template <std::int64_t... Sizes, class T, int Rank>
__device__ inline void store_tile(Worker &, const T *tile, const Memory<T, Rank> &m,
                                  const std::int64_t (&offset)[Rank ? Rank : 1]) {
  static_assert(sizeof...(Sizes) == Rank);
  if constexpr (Rank == 0) {
    if (Worker::lane() == 0)
      *m.data = *tile;
  } else {
    constexpr int wide = detail::widest_step<T, detail::last_of<Sizes...>()>();
    auto plain = [](std::int64_t, std::int64_t at) { return at; };
    if (detail::can_step<T, wide>(m, offset))
      detail::store_steps<0, wide, Sizes...>(tile, m, offset, plain);
    else
      detail::store_steps<0, 1, Sizes...>(tile, m, offset, plain);
  }
}

template <std::int64_t... Sizes, class T, class I, int Rank, int Dim = 0>
__device__ inline void load_tile_through(Worker &, T *tile, const Memory<T, Rank> &m,
                                         const std::int64_t (&offset)[Rank], const Memory<I, 1> &table, T fill,
                                         RowDim<Dim> = {}) {
  static_assert(sizeof...(Sizes) == Rank && 0 <= Dim && Dim < Rank);
  constexpr int wide = Dim == Rank - 1 ? 1 : detail::widest_step<T, detail::last_of<Sizes...>()>();
  auto through = [&](std::int64_t, std::int64_t at) { return detail::table_row(table, at, m.dims[Dim]); };
  if (detail::can_step<T, wide>(m, offset))
    detail::load_steps<Dim, wide, Sizes...>(tile, m, offset, fill, through);
  else
    detail::load_steps<Dim, 1, Sizes...>(tile, m, offset, fill, through);
}

/// Of several rows that name the same memory row the last one stays, so the others are left out.
template <std::int64_t... Sizes, class T, class I, int Rank, int Dim = 0>
__device__ inline void store_tile_through(Worker &, const T *tile, const Memory<T, Rank> &m,
                                          const std::int64_t (&offset)[Rank], const Memory<I, 1> &table,
                                          RowDim<Dim> = {}) {
  static_assert(sizeof...(Sizes) == Rank && 0 <= Dim && Dim < Rank);
  constexpr std::int64_t sizes[] = {Sizes...};
  auto through = [&](std::int64_t first, std::int64_t at) -> std::int64_t {
    const std::int64_t row = detail::table_row(table, at, m.dims[Dim]);
    if (row >= 0)
      for (std::int64_t later = first + 1; later < sizes[Dim]; ++later)
        if (detail::table_row(table, at + (later - first), m.dims[Dim]) == row)
          return -1;
    return row;
  };
  constexpr int wide = Dim == Rank - 1 ? 1 : detail::widest_step<T, detail::last_of<Sizes...>()>();
  if (detail::can_step<T, wide>(m, offset))
    detail::store_steps<Dim, wide, Sizes...>(tile, m, offset, through);
  else
    detail::store_steps<Dim, 1, Sizes...>(tile, m, offset, through);
}

/// One integer of a table; -1 outside it. Any thread, or all.
template <class T, int Rank>
__device__ inline std::int64_t read_table(Worker &, const Memory<T, Rank> &m,
                                          const std::int64_t (&at)[Rank ? Rank : 1]) {
  std::int64_t linear = 0;
  for (int d = 0; d < Rank; ++d) {
    if (at[d] < 0 || at[d] >= m.dims[d])
      return -1;
    linear = linear * m.dims[d] + at[d];
  }
  return m.data[linear];
}

/// How many of `size` elements from `offset` on lie inside a dimension.
__device__ inline std::int64_t valid(std::int64_t offset, std::int64_t size, std::int64_t dim) {
  return most(0, least(offset + size, dim) - most(offset, 0));
}

} // namespace evt
