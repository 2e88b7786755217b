// A memory as tile programs see it: a dense row-major array with its number in the manifest, and the moves between it
// and tiles. Every move tells the observer, if there is one, which box of which memory it touched.
#pragma once

#include "device/cpu/tile/copy.h"
#include "device/cpu/worker.h"

namespace evt {

template <class T, int Rank> struct Memory {
  T *data;
  std::int64_t dims[Rank ? Rank : 1];
  std::uint32_t id;
};

/// Reports the part of a box that lies inside the memory. `kind` is an evt_access_kind; false is a read, true a write.
[[gnu::cold, gnu::noinline]] inline void report(Worker &w, std::uint32_t memory, std::uint32_t kind,
                                                const std::int64_t *dims, const std::int64_t *offset,
                                                const std::int64_t *size, int rank) {
  static_assert(EVT_READ == 0 && EVT_WRITE == 1);
  std::int64_t lo[16], extent[16];
  for (int d = 0; d < rank; ++d) {
    lo[d] = most(offset[d], 0);
    extent[d] = least(offset[d] + size[d], dims[d]) - lo[d];
    if (extent[d] <= 0)
      return;
  }
  w.hooks->access(w.hooks->user, w.id, memory, kind, lo, extent, rank);
}

/// Reports a box that a foreign device function has declared.
template <std::int64_t... Sizes, class T, int Rank>
inline void report_box(Worker &w, const Memory<T, Rank> &m, bool write, const std::int64_t (&offset)[Rank ? Rank : 1]) {
  static_assert(sizeof...(Sizes) == Rank);
  const std::int64_t size[] = {Sizes..., 1};
  report(w, m.id, write, m.dims, offset, size, Rank);
}

template <std::int64_t... Sizes, class T, int Rank>
inline void load_tile(Worker &w, T *tile, const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank ? Rank : 1],
                      T fill) {
  static_assert(sizeof...(Sizes) == Rank);
  if (w.hooks) [[unlikely]]
    report_box<Sizes...>(w, m, false, offset);
  if constexpr (Rank == 0)
    *tile = *m.data;
  else
    tile::load<T, Sizes...>(tile, m.data, m.dims, offset, fill);
}

template <std::int64_t... Sizes, class T, int Rank>
inline void store_tile(Worker &w, const T *tile, const Memory<T, Rank> &m,
                       const std::int64_t (&offset)[Rank ? Rank : 1]) {
  static_assert(sizeof...(Sizes) == Rank);
  if (w.hooks) [[unlikely]]
    report_box<Sizes...>(w, m, true, offset);
  if constexpr (Rank == 0)
    *m.data = *tile;
  else
    tile::store<T, Sizes...>(tile, m.data, m.dims, offset);
}

/// Reports the table entries a move goes through and the rows they name.
template <std::int64_t... Sizes, class T, class I, int Rank, int Dim = 0>
[[gnu::cold, gnu::noinline]] void report_through(Worker &w, const Memory<T, Rank> &m, bool write,
                                                 const std::int64_t (&offset)[Rank], const Memory<I, 1> &table,
                                                 RowDim<Dim> = {}) {
  static_assert(sizeof...(Sizes) == Rank && 0 <= Dim && Dim < Rank);
  const std::int64_t size[] = {Sizes...};
  report(w, table.id, false, table.dims, offset + Dim, size + Dim, 1);
  for (std::int64_t r = 0; r < size[Dim]; ++r) {
    std::int64_t at = offset[Dim] + r;
    if (at < 0 || at >= table.dims[0])
      continue;
    std::int64_t row_offset[Rank], row_size[Rank];
    for (int d = 0; d < Rank; ++d) {
      row_offset[d] = d == Dim ? (std::int64_t)table.data[at] : offset[d];
      row_size[d] = d == Dim ? 1 : size[d];
    }
    report(w, m.id, write, m.dims, row_offset, row_size, Rank);
  }
}

template <std::int64_t... Sizes, class T, class I, int Rank, int Dim = 0>
inline void load_tile_through(Worker &w, T *tile, const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank],
                              const Memory<I, 1> &table, T fill, RowDim<Dim> rows = {}) {
  if (w.hooks) [[unlikely]]
    report_through<Sizes...>(w, m, false, offset, table, rows);
  tile::load_through<T, Sizes...>(tile, m.data, m.dims, offset, fill, table.data, table.dims[0], offset[Dim], rows);
}

template <std::int64_t... Sizes, class T, class I, int Rank, int Dim = 0>
inline void store_tile_through(Worker &w, const T *tile, const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank],
                               const Memory<I, 1> &table, RowDim<Dim> rows = {}) {
  if (w.hooks) [[unlikely]]
    report_through<Sizes...>(w, m, true, offset, table, rows);
  tile::store_through<T, Sizes...>(tile, m.data, m.dims, offset, table.data, table.dims[0], offset[Dim], rows);
}

/// One integer of a table; -1 outside it.
template <class T, int Rank>
inline std::int64_t read_table(Worker &w, const Memory<T, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1]) {
  std::int64_t linear = 0;
  for (int d = 0; d < Rank; ++d) {
    if (at[d] < 0 || at[d] >= m.dims[d])
      return -1;
    linear = linear * m.dims[d] + at[d];
  }
  if (w.hooks) [[unlikely]] {
    std::int64_t one[Rank ? Rank : 1];
    for (std::int64_t &o : one)
      o = 1;
    report(w, m.id, false, m.dims, at, one, Rank);
  }
  return m.data[linear];
}

/// How many of `size` elements from `offset` on lie inside a dimension.
inline std::int64_t valid(std::int64_t offset, std::int64_t size, std::int64_t dim) {
  return most(0, least(offset + size, dim) - most(offset, 0));
}

} // namespace evt
