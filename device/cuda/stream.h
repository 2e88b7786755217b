// Products that stream their weights: the ring between loader and compute, the sums between compute and epilogue.
//
// Weights are packed so that 8 rows x 32 columns are 512 neighbouring bytes, lane l's 16 of them being row l/4, columns
// 8 (l%4)..+7: a stage is one contiguous copy, and a lane's two fragments are one 16-byte read without bank conflicts.
// The 16-byte pieces of a row have traded places, for products on the tensor cores (tiled.h).
// Within 32 columns the tensor core is given columns in the order of the lanes, for rows and weights alike; the order
// of a sum depends on K alone.
//
// What is in flight is bounded apart from what is buffered: more than some 40 KB an SM queue up in the memory system,
// and then the last tile of a phase waits behind other SMs' run-ahead.
#pragma once

#include "device/common/early.h"
#include "device/common/types.h"
#include "device/cuda/memory.h"
#include "device/cuda/worker.h"

namespace evt {

//===-- the ring --------------------------------------------------------------------------------------------------===//

/// As many as the bytes allow, and the ring.
__host__ __device__ constexpr int stages_in_flight(int bytes, int stage_bytes, int slots) {
  int stages = bytes / stage_bytes;
  while (stages > 1 && !rounds_stay_apart(slots, stages, loaders))
    --stages;
  return stages < 1 ? 1 : stages;
}

struct Ring : StageRing<ptx::Sync> {
  const char *stages;
  std::uint32_t address; // of the stages, in shared memory
  int stage_bytes;

  /// Loader, one thread: fetches its next stage.
  __device__ __forceinline__ void send(const char *from, std::uint32_t bytes, bool calmly) {
    StageRing::send<loaders>([=](ptx::Barrier arrived) { ptx::barrier_expect(arrived, bytes); },
                             [=, this](int slot, ptx::Barrier arrived) {
                               ptx::bulk_load_once(address + (std::uint32_t)(slot * stage_bytes), from, bytes, arrived);
                             },
                             calmly);
  }
  /// Compute, every warp: the next stage, once it is there.
  __device__ __forceinline__ const char *receive() { return stages + StageRing::receive() * stage_bytes; }
  /// Its address in shared memory.
  __device__ __forceinline__ std::uint32_t receive_address() {
    return address + (std::uint32_t)(StageRing::receive() * stage_bytes);
  }
  /// Compute, a warp: waits for the next stages together, lane i for stage i; as many as there are lanes, or slots.
  __device__ __forceinline__ void await(int count) const {
    const int lane = (int)threadIdx.x % 32;
    Cursor own = at;
    own.skip(lane, slots);
    if (lane < count)
      ptx::barrier_wait(full[own.slot], own.round);
    __syncwarp();
  }
  /// Where stage i of these is.
  __device__ __forceinline__ std::uint32_t address_of(int i) const {
    Cursor own = at;
    own.skip(i, slots);
    return address + (std::uint32_t)(own.slot * stage_bytes);
  }
  /// Gives them back.
  __device__ __forceinline__ void release(int count) {
    const int lane = (int)threadIdx.x % 32;
    Cursor own = at;
    own.skip(lane, slots);
    __syncwarp();
    if (lane < count)
      ptx::barrier_arrive(empty[own.slot]);
    at.skip(count, slots);
    oldest = at;
  }
  using StageRing::release;
  /// Compute: the same ring from such a stage on; nothing is kept from task to task.
  __device__ __forceinline__ Ring from(Cursor stage) const {
    Ring ring = *this;
    ring.at = ring.oldest = stage;
    return ring;
  }
  /// Compute: lets so many stages pass.
  __device__ void pass(int count) {
#pragma unroll 1
    for (int i = 0; i < count; ++i) {
      StageRing::receive();
      release();
    }
  }
};

/// What a kernel has of such a ring.
struct StreamStages {
  int slots = 0, bytes = 0;
};

/// A packed tile; the emitted source checks that it is what the compiler has in mind (compiler/layout).
inline constexpr int packed_rows = 8, packed_columns = 32;
/// Where in a tile the 16-byte piece lies that a lane reads.
__host__ __device__ constexpr int packed_piece(int lane) { return lane ^ (lane / 8 % 4); }

/// The packed place of row `offset[Rank-2]` and column `offset[Rank-1]`, where a packed tile begins.
template <class T, int Rank>
__device__ inline const T *packed(const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank]) {
  std::int64_t lead = 0;
#pragma unroll
  for (int d = 0; d < Rank - 2; ++d)
    lead = lead * m.dims[d] + offset[d];
  const std::int64_t rows = m.dims[Rank - 2], columns = m.dims[Rank - 1];
  return m.data + lead * rows * columns + offset[Rank - 2] * columns + offset[Rank - 1] * packed_rows;
}

//===-- rows and products -----------------------------------------------------------------------------------------===//

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
      if (!is_inside) { // it is there, and 0
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

/// sums[f] = this warp's share of rows times fragment f of weights, along stages of `Blocks` pieces each, the last one
/// of what is left. The pieces of a stage are read while those of the one before are multiplied; a stage is given back
/// when its pieces have been used.
///
/// A tensor core multiplies 16 rows, of which there are 8. Rows 8 to 15 stand for the same ones with the second half of
/// a piece's columns, so both halves are multiplied from the registers in which the rows are: the first half of the
/// weights gives its sums in rows 0 to 7 of one product, the second in rows 8 to 15 of the other. Nobody looks at what
/// else there is.
template <int Blocks, int Fragments, bool Bfloat16, int Pieces>
__device__ __forceinline__ void multiply(Ring &ring, const uint4 (&rows)[Pieces], float (&sums)[Fragments][2]) {
  constexpr int stages = (Pieces + Blocks - 1) / Blocks, last = Pieces - (stages - 1) * Blocks;
  const auto blocks = [](int stage) { return stage + 1 < stages ? Blocks : last; };
  float part[2][Fragments][4] = {};
  const int number = ptx::kept_thread();
  const auto first = [=](int count) { return number / 32 * count * 32 + packed_piece(number % 32); };
  ring.oldest = ring.at; // nothing is kept from task to task
  uint4 piece[2][Blocks];
#pragma unroll
  for (int n = 0; n <= stages * Fragments; ++n) {
    if (n < stages * Fragments) {
      const int count = blocks(n / Fragments); // a warp's share
      const uint4 *stage = reinterpret_cast<const uint4 *>(ring.receive()) + first(count);
#pragma unroll
      for (int b = 0; b < count; ++b)
        piece[n % 2][b] = stage[b * 32];
    }
    if (n > 0) {
      const int s = (n - 1) / Fragments, f = (n - 1) % Fragments;
#pragma unroll
      for (int b = 0; b < blocks(s); ++b) {
        const uint4 w = piece[(n - 1) % 2][b], a = rows[s * Blocks + b];
        if constexpr (Bfloat16) {
          ptx::mma_bf16(part[0][f], a.x, a.y, a.z, a.w, w.x, w.y);
          ptx::mma_bf16(part[1][f], a.x, a.y, a.z, a.w, w.z, w.w);
        } else {
          ptx::mma_f16(part[0][f], a.x, a.y, a.z, a.w, w.x, w.y);
          ptx::mma_f16(part[1][f], a.x, a.y, a.z, a.w, w.z, w.w);
        }
      }
      ring.release(); // its products were issued, so its loads are over
    }
  }
#pragma unroll
  for (int f = 0; f < Fragments; ++f) {
    sums[f][0] = part[0][f][0] + part[1][f][2];
    sums[f][1] = part[0][f][1] + part[1][f][3];
  }
}

//===-- from compute to epilogue ----------------------------------------------------------------------------------===//

struct Results : ResultRing<ptx::Sync> {
  static constexpr int slots = 4;
  float *sums;   // [slot][warp][fragment][lane][2]
  int fragments; // room of a slot

  __device__ float2 *place(int warp, int fragment) const {
    return reinterpret_cast<float2 *>(sums) + ((at.slot * compute_warps + warp) * fragments + fragment) * 32 +
           ptx::kept_thread() % 32;
  }

  /// Compute, every warp.
  template <int Fragments> __device__ __forceinline__ void put(const float (&s)[Fragments][2]) {
    begin_put();
    const int warp = ptx::kept_thread() / 32;
#pragma unroll
    for (int f = 0; f < Fragments; ++f)
      *place(warp, f) = {s[f][0], s[f][1]};
    end_put(slots);
  }

  /// Epilogue, one warp: adds what the warps found, in their order, and frees the slot.
  template <int Fragments> __device__ __forceinline__ void take(float (&s)[Fragments * 2]) {
    begin_take();
#pragma unroll
    for (int f = 0; f < Fragments; ++f) {
      float2 sum = *place(0, f);
#pragma unroll
      for (int warp = 1; warp < compute_warps; ++warp) {
        const float2 v = *place(warp, f);
        sum.x += v.x;
        sum.y += v.y;
      }
      s[2 * f] = sum.x;
      s[2 * f + 1] = sum.y;
    }
    end_take();
  }
  /// The same for a task that nobody ends.
  __device__ void drop() {
    begin_take();
    end_take();
  }
};

/// Values that the ends of all tasks of a key need, one for each of 8 rows: the compute warps find them while the rows
/// are on their way, warp w those of row w.
struct Kept {
  static constexpr int most = 4;
};
__device__ __forceinline__ void keep(float *kept, int value, float found) {
  if (threadIdx.x % 32 == 0)
    kept[value * 8 + (int)threadIdx.x / 32] = found;
}

//===-- single elements, for the epilogue -------------------------------------------------------------------------===//

// Indices are 32 bits wide here (the runtime refuses larger extents): what an epilogue does with them is a good part of
// its instructions, and those are fetched anew for almost every task.

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
