// The rows of products that stream: a warp reads its share of them into registers, where they stay from task to task.
//
// They are read from the tensor when its events have come, or early, from a place of it, in words that tell whether
// they are there (device/common/early.h): what is missing is asked for again, until the events themselves say that it
// must be there.
#pragma once

#include "device/common/early.h"
#include "device/common/types.h"
#include "device/cuda/memory.h"

namespace evt {

/// A lane's place in a fragment of 8 rows: row `g`, and the quarter `c` of 8 columns (of 32 packed ones). Lanes may ask
/// by themselves; all together they keep their number (ptx::kept_thread).
__device__ inline int fragment_row(int thread = ptx::thread()) { return thread % 32 / 4; }
__device__ inline int fragment_quarter(int thread = ptx::thread()) { return thread % 4; }

/// Whether one of these words is not there (device/common/early.h).
template <int Count> __device__ __forceinline__ bool is_missing(const std::uint32_t (&words)[Count]) {
  std::uint32_t least = words[0];
#pragma unroll
  for (int i = 1; i < Count; ++i)
    least = least < words[i] ? least : words[i];
  return least == 0;
}

/// A row of memory for each four lanes of a warp, for reading pieces of 8 elements; zero outside.
template <class T> struct Row {
  const T *data; // null: the row is outside
  int columns;
  /// `at` ends with a 0 for the column. By all lanes of a warp. `is_dropped`: nobody stores what follows from a row
  /// outside (of a token that is not there); where the tile's first row is inside, it is read instead.
  template <int Rank>
  __device__ __forceinline__ Row(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank], bool is_dropped) {
    std::int64_t linear = 0;
    bool inside = true;
#pragma unroll
    for (int d = 0; d < Rank; ++d) {
      inside &= d == Rank - 1 || (0 <= at[d] && at[d] < m.dims[d]);
      linear = d ? linear * m.dims[d] + at[d] : at[d];
    }
    data = inside ? m.data + linear : nullptr;
    if (is_dropped) {
      const auto first = (const T *)__shfl_sync(~0u, (unsigned long long)data, ptx::kept_thread() % 4);
      data = inside ? data : first;
    }
    columns = (int)m.dims[Rank - 1];
  }
  /// Whether pieces from all these columns, which go up by constants, are there for all lanes.
  template <int Count> __device__ __forceinline__ bool has_all(const int (&column)[Count]) const {
    return __all_sync(~0u, data && column[0] >= 0 && column[Count - 1] < columns);
  }
  __device__ __forceinline__ bool has(int column) const { return data && 0 <= column && column < columns; }

  /// Not through L1, since another block wrote them, and they are kept in registers.
  template <int Count> __device__ __forceinline__ void pieces(uint4 *to, const int (&column)[Count]) const {
    if (has_all(column)) {
      const T *first = data + column[0];
#pragma unroll
      for (int i = 0; i < Count; ++i)
        to[i] = __ldcg(reinterpret_cast<const uint4 *>(first + (column[i] - column[0])));
      return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i)
      to[i] = has(column[i]) ? __ldcg(reinterpret_cast<const uint4 *>(data + column[i])) : uint4{0, 0, 0, 0};
  }
};

//===-- early rows (device/common/early.h) ------------------------------------------------------------------------===//

struct EarlyWords {
  __device__ __forceinline__ static void store(std::uint32_t *to, std::uint32_t word) { ptx::store_relaxed(to, word); }
};

/// How rows are read: early from a place, or from the tensor itself (`flip` is 0).
struct Reading {
  std::uint32_t flip;
  std::uint32_t missing = ~0u; // pieces of rows, a bit each
  bool there = true;
  /// So many pieces, counted from the first of all, are there or missing together, since it takes few instructions to
  /// tell; the last ones may be fewer.
  static constexpr int pieces_together = 4;

  /// Those of a row's pieces that are missing; the first of them is number `at` of all.
  template <class T, int Count>
  __device__ __forceinline__ void pieces(const Row<T> &row, uint4 *rows, int at, const int (&column)[Count]) {
    static_assert(Count <= 32);
    const T *start = row.data + column[0]; // columns differ by constants, so addresses do, too
    if (row.has_all(column)) {
#pragma unroll
      for (int i = 0; i < Count; ++i) {
        const int first = (at + i) / pieces_together * pieces_together; // of those that are there together
        load(rows[at + i], start + (column[i] - column[0]), missing >> first & 1);
      }
      return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
      const bool is_inside = row.has(column[i]);
      if (!is_inside) {                             // it is there, and 0
        if constexpr (Count % pieces_together == 0) // or it may be of those that others are read with
          missing &= ~(1u << (at + i));
        rows[at + i] = {flip, flip, flip, flip};
      }
      load(rows[at + i], start + (column[i] - column[0]), is_inside && missing >> (at + i) & 1);
    }
  }
  template <class T> __device__ __forceinline__ static void load(uint4 &piece, const T *from, bool loads) {
    std::uint32_t words[4] = {piece.x, piece.y, piece.z, piece.w};
    ptx::load_relaxed(words, reinterpret_cast<const std::uint32_t *>(from), loads);
    piece = {words[0], words[1], words[2], words[3]};
  }
  /// What was there stays.
  template <int Count> __device__ __forceinline__ void look(const uint4 *pieces) {
    std::uint32_t now = 0;
#pragma unroll
    for (int i = 0; i < Count; i += pieces_together) {
      const int group = Count - i < pieces_together ? Count - i : pieces_together;
      std::uint32_t words[4 * pieces_together];
#pragma unroll
      for (int n = 0; n < pieces_together; ++n) {
        const uint4 &piece = pieces[n < group ? i + n : i];
        words[4 * n] = piece.x;
        words[4 * n + 1] = piece.y;
        words[4 * n + 2] = piece.z;
        words[4 * n + 3] = piece.w;
      }
      now |= is_missing(words) ? ((1u << group) - 1) << i : 0;
    }
    missing = flip ? now : 0;
  }
};

/// Rows as they are multiplied: flipped back, and a piece as the tensor core takes it from four registers that follow
/// each other, of which the first and third are of rows 0 to 7, the others of rows 8 to 15. Those are the same rows
/// once more, with the other columns of the piece (see `multiply`).
template <int Count> __device__ __forceinline__ void arrange_rows(uint4 (&rows)[Count], std::uint32_t flip) {
#pragma unroll
  for (uint4 &piece : rows) {
    piece.x ^= flip;
    piece.w ^= flip;
    ptx::swap_flipped(piece.y, piece.z, flip);
  }
}

/// Pieces from number `From` on, which not all products have, are no longer wanted. What deeper rows left in them would
/// stay in registers while shallower ones are read, and what then does not fit is in memory for deep rows, too.
template <int From, int Count> __device__ __forceinline__ void forget_rows(uint4 (&rows)[Count]) {
#pragma unroll
  for (int i = From; i < Count; ++i)
    rows[i] = {};
}

/// A memory as readers of a generation see it: a place has its layout. There is none before the first generation.
template <class T, int Rank>
__device__ __forceinline__ Memory<T, Rank> early_memory(Memory<T, Rank> m, const Places &places,
                                                        std::int64_t generation) {
  if (generation >= 0)
    m.data = reinterpret_cast<T *>(places.of(generation));
  return m;
}

/// Compute, a warp: `read(reading)` until all of its `Pieces` of rows are there, and `find(reading)` until all that row
/// values come from is; without `is_early`, once. Returns how the rows are to be flipped.
template <int Pieces, int Most, class Read, class Find, class Events>
__device__ __forceinline__ std::uint32_t read_rows(bool is_early, uint4 (&rows)[Most], Read read, Find find,
                                                   Events events) {
  constexpr int tries = 64;
  Reading reading{is_early ? early_flip : 0};
  bool found = false;
  const auto all = [&] {
    read(reading);
    if (!found) {
      reading.there = true;
      find(reading);
      found = __all_sync(~0u, reading.there);
    }
    reading.look<Pieces>(rows);
    return __all_sync(~0u, !reading.missing) && found;
  };
  read_early(tries, all, [&] {
    if (threadIdx.x % 32 == 0)
      events();
    __syncwarp();
  });
  return reading.flip;
}

} // namespace evt
