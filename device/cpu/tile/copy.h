// Moving tiles between memory and the worker's own buffers.
//
// A memory is dense and row-major with shape dims[0..rank); a tile is a box [off, off + Sizes) of it, dense and
// row-major with its static sizes. Offsets may be negative or past the end: `load` fills what lies outside the memory
// and `store` drops it, so that ragged edges need no code of their own.
//
//   dims = {3, 5}, off = {1, 3}, sizes 3 x 4, fill = 0, memory m[i][j]
//
//        m13 m14  0  0
//        m23 m24  0  0
//         0   0   0  0
//
// `load_through` and `store_through` take the rows from a table: row r of the tile is row table[table_off + r] of the
// memory. A row whose table position is outside [0, table_len), or whose entry is outside [0, dims[D]), lies outside.
// Rows are dimension D, 0 unless `RowDim<D>` is given; sizes before it are 1, and off[D] is not read. Two rows of a
// store that name the same memory row are stored in increasing r: the last one stays.
//
// A tile of lower rank than its memory is one with sizes of 1 in the dropped dimensions: the bytes are the same.
#ifndef EVT_DEVICE_CPU_TILE_COPY_H
#define EVT_DEVICE_CPU_TILE_COPY_H

#include "device/common/types.h"

#include <cstdint>
#include <cstring>

namespace evt::tile {
namespace detail {

// The part [lo, hi) of a tile's [0, size) that lies inside a memory of extent `dim` when the tile begins at `off`.
struct Inside {
  std::int64_t lo, hi;
};
inline Inside inside(std::int64_t size, std::int64_t dim, std::int64_t off) {
  if (off <= -size || off >= dim)
    return {0, 0};
  const std::int64_t lo = off < 0 ? -off : 0, hi = dim - off < size ? dim - off : size;
  return {lo, hi};
}

template <typename T> inline void fill_elements(T *dst, std::int64_t count, T fill) {
  for (std::int64_t i = 0; i < count; ++i)
    dst[i] = fill;
}

template <typename T> inline void copy_elements(T *dst, const T *src, std::int64_t count) {
  std::memcpy(dst, src, static_cast<std::size_t>(count) * sizeof(T));
}

// A box of rank 1 + sizeof...(Rest), of which dims and off are the entries from its first dimension on.
template <typename T, std::int64_t Size, std::int64_t... Rest> struct Box {
  static constexpr std::int64_t inner = (Rest * ... * 1); // elements of the tile in one step of this dimension

  static std::int64_t stride(const std::int64_t *dims) {
    std::int64_t n = 1;
    for (std::size_t d = 1; d <= sizeof...(Rest); ++d)
      n *= dims[d];
    return n;
  }

  static bool is_inside(const std::int64_t *dims, const std::int64_t *off) {
    if (off[0] < 0 || off[0] > dims[0] - Size)
      return false;
    if constexpr (sizeof...(Rest) > 0)
      return Box<T, Rest...>::is_inside(dims + 1, off + 1);
    return true;
  }

  // base is the memory's element at index 0 of this dimension and those inside it.
  static void load_whole(T *dst, const T *base, const std::int64_t *dims, const std::int64_t *off) {
    const std::int64_t step = stride(dims);
    const T *src = base + off[0] * step;
    if constexpr (sizeof...(Rest) == 0) {
      std::memcpy(dst, src, Size * sizeof(T));
    } else if (step == inner) { // the inner dimensions are taken whole, so the box is one piece
      std::memcpy(dst, src, Size * inner * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < Size; ++i)
        Box<T, Rest...>::load_whole(dst + i * inner, src + i * step, dims + 1, off + 1);
    }
  }

  static void load(T *dst, const T *base, const std::int64_t *dims, const std::int64_t *off, T fill) {
    const Inside in = inside(Size, dims[0], off[0]);
    const std::int64_t step = stride(dims);
    fill_elements(dst, in.lo * inner, fill);
    if constexpr (sizeof...(Rest) == 0) {
      if (in.lo < in.hi)
        copy_elements(dst + in.lo, base + (off[0] + in.lo), in.hi - in.lo);
    } else {
      for (std::int64_t i = in.lo; i < in.hi; ++i)
        Box<T, Rest...>::load(dst + i * inner, base + (off[0] + i) * step, dims + 1, off + 1, fill);
    }
    fill_elements(dst + in.hi * inner, (Size - in.hi) * inner, fill);
  }

  static void store_whole(const T *src, T *base, const std::int64_t *dims, const std::int64_t *off) {
    const std::int64_t step = stride(dims);
    T *dst = base + off[0] * step;
    if constexpr (sizeof...(Rest) == 0) {
      std::memcpy(dst, src, Size * sizeof(T));
    } else if (step == inner) {
      std::memcpy(dst, src, Size * inner * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < Size; ++i)
        Box<T, Rest...>::store_whole(src + i * inner, dst + i * step, dims + 1, off + 1);
    }
  }

  static void store(const T *src, T *base, const std::int64_t *dims, const std::int64_t *off) {
    const Inside in = inside(Size, dims[0], off[0]);
    const std::int64_t step = stride(dims);
    if constexpr (sizeof...(Rest) == 0) {
      if (in.lo < in.hi)
        copy_elements(base + (off[0] + in.lo), src + in.lo, in.hi - in.lo);
    } else {
      for (std::int64_t i = in.lo; i < in.hi; ++i)
        Box<T, Rest...>::store(src + i * inner, base + (off[0] + i) * step, dims + 1, off + 1);
    }
  }

  // The memory row that tile row r names, or -1 when it lies outside.
  template <typename Index>
  static std::int64_t row(const std::int64_t *dims, const Index *table, std::int64_t table_len, std::int64_t at) {
    if (at < 0 || at >= table_len)
      return -1;
    const std::int64_t index = static_cast<std::int64_t>(table[at]);
    return index >= 0 && index < dims[0] ? index : -1;
  }

  template <int Dim, typename Index>
  static void load_rows(T *dst, const T *base, const std::int64_t *dims, const std::int64_t *off, T fill,
                        const Index *table, std::int64_t table_len, std::int64_t table_off) {
    const std::int64_t step = stride(dims);
    if constexpr (Dim > 0) {
      static_assert(Size == 1);
      if (0 <= off[0] && off[0] < dims[0])
        Box<T, Rest...>::template load_rows<Dim - 1>(dst, base + off[0] * step, dims + 1, off + 1, fill, table,
                                                     table_len, table_off);
      else
        fill_elements(dst, inner, fill);
      return;
    }
    bool whole = true;
    if constexpr (sizeof...(Rest) > 0)
      whole = Box<T, Rest...>::is_inside(dims + 1, off + 1);
    for (std::int64_t r = 0; r < Size; ++r) {
      const std::int64_t index = row(dims, table, table_len, table_off + r);
      if (index < 0)
        fill_elements(dst + r * inner, inner, fill);
      else if constexpr (sizeof...(Rest) == 0)
        dst[r] = base[index];
      else if (whole)
        Box<T, Rest...>::load_whole(dst + r * inner, base + index * step, dims + 1, off + 1);
      else
        Box<T, Rest...>::load(dst + r * inner, base + index * step, dims + 1, off + 1, fill);
    }
  }

  template <int Dim, typename Index>
  static void store_rows(const T *src, T *base, const std::int64_t *dims, const std::int64_t *off, const Index *table,
                         std::int64_t table_len, std::int64_t table_off) {
    const std::int64_t step = stride(dims);
    if constexpr (Dim > 0) {
      static_assert(Size == 1);
      if (0 <= off[0] && off[0] < dims[0])
        Box<T, Rest...>::template store_rows<Dim - 1>(src, base + off[0] * step, dims + 1, off + 1, table, table_len,
                                                      table_off);
      return;
    }
    for (std::int64_t r = 0; r < Size; ++r) {
      const std::int64_t index = row(dims, table, table_len, table_off + r);
      if (index < 0)
        continue;
      if constexpr (sizeof...(Rest) == 0)
        base[index] = src[r];
      else
        Box<T, Rest...>::store(src + r * inner, base + index * step, dims + 1, off + 1);
    }
  }
};

} // namespace detail

// dst = the box of `base`, with `fill` outside.
template <typename T, std::int64_t... Sizes>
void load(T *dst, const T *base, const std::int64_t *dims, const std::int64_t *off, T fill) {
  static_assert(((Sizes > 0) && ...));
  if constexpr (sizeof...(Sizes) == 0)
    *dst = *base;
  else if (detail::Box<T, Sizes...>::is_inside(dims, off))
    detail::Box<T, Sizes...>::load_whole(dst, base, dims, off);
  else
    detail::Box<T, Sizes...>::load(dst, base, dims, off, fill);
}

// The box of `base` = src, where inside.
template <typename T, std::int64_t... Sizes>
void store(const T *src, T *base, const std::int64_t *dims, const std::int64_t *off) {
  static_assert(((Sizes > 0) && ...));
  if constexpr (sizeof...(Sizes) == 0)
    *base = *src;
  else if (detail::Box<T, Sizes...>::is_inside(dims, off))
    detail::Box<T, Sizes...>::store_whole(src, base, dims, off);
  else
    detail::Box<T, Sizes...>::store(src, base, dims, off);
}

template <typename T, std::int64_t... Sizes, typename Index, int Dim = 0>
void load_through(T *dst, const T *base, const std::int64_t *dims, const std::int64_t *off, T fill, const Index *table,
                  std::int64_t table_len, std::int64_t table_off, RowDim<Dim> = {}) {
  static_assert(sizeof...(Sizes) > 0 && ((Sizes > 0) && ...));
  detail::Box<T, Sizes...>::template load_rows<Dim>(dst, base, dims, off, fill, table, table_len, table_off);
}

template <typename T, std::int64_t... Sizes, typename Index, int Dim = 0>
void store_through(const T *src, T *base, const std::int64_t *dims, const std::int64_t *off, const Index *table,
                   std::int64_t table_len, std::int64_t table_off, RowDim<Dim> = {}) {
  static_assert(sizeof...(Sizes) > 0 && ((Sizes > 0) && ...));
  detail::Box<T, Sizes...>::template store_rows<Dim>(src, base, dims, off, table, table_len, table_off);
}

} // namespace evt::tile
#endif
