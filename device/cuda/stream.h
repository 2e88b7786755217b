// Products that stream their weights: the ring between loader and compute, the sums between compute and epilogue.
//
// Weights are packed so that 8 rows x 32 columns are 512 neighbouring bytes, lane l's 16 of them being row l/4, columns
// 8 (l%4)..+7: a stage is one contiguous copy, and a lane's two fragments are one 16-byte read without bank conflicts.
// Within 32 columns the tensor core is given columns in the order of the lanes, for rows and weights alike; the order
// of a sum depends on K alone.
//
// What is in flight is bounded apart from what is buffered: more than some 40 KB an SM queue up in the memory system,
// and then the last tile of a phase waits behind other SMs' run-ahead.
#pragma once

#include "device/common/types.h"
#include "device/cuda/memory.h"
#include "device/cuda/worker.h"

namespace evt {

//===-- the ring --------------------------------------------------------------------------------------------------===//

/// One role's view of the ring: where it is, and in which round.
struct Cursor {
  int slot = 0;
  std::uint32_t round = 0;
  __device__ void advance(int slots) {
    if (++slot == slots) {
      slot = 0;
      round ^= 1;
    }
  }
};

struct Ring {
  const char *stages;
  std::uint32_t address; // of the stages, in shared memory
  ptx::Barriers full, empty;
  int slots, stage_bytes, in_flight;
  const volatile std::uint32_t *dead; // compute has stopped taking stages: the launch is being aborted
  Cursor at, oldest;                  // compute: the next stage, and the next to give back
  std::uint32_t sent;                 // loader: stages

  /// Loader, by a whole warp: fetches the stages of a task, `Steps` times one of each of the `Streams`, each lane its
  /// own. A lane waits until its stage is free and until few enough are in flight.
  template <int Steps, int Streams>
  __device__ __forceinline__ void send(const char *const (&from)[Streams], std::uint32_t bytes) {
    constexpr int total = Steps * Streams;
    const int lane = (int)threadIdx.x % 32, most = slots < 32 ? slots : 32;
    for (int first = 0; first < total; first += most) {
      const int mine = first + lane;
      const std::uint32_t n = sent + (std::uint32_t)lane, before = n - (std::uint32_t)in_flight;
      const ptx::Barrier arrived = full[(int)(n % (std::uint32_t)slots)],
                         freed = empty[(int)(n % (std::uint32_t)slots)];
      const ptx::Barrier earlier = full[(int)(before % (std::uint32_t)slots)];
      const std::uint32_t round = n / (std::uint32_t)slots & 1, earlier_round = before / (std::uint32_t)slots & 1;
      const std::uint32_t to = address + n % (std::uint32_t)slots * (std::uint32_t)stage_bytes;
      const char *source = from[0];
#pragma unroll
      for (int f = 1; f < Streams; ++f)
        source = mine % Streams == f ? from[f] : source;
      source += (std::size_t)(mine / Streams) * bytes;
      bool waiting = lane < most && mine < total, room = false, clear = n < (std::uint32_t)in_flight;
      while (__any_sync(~0u, waiting)) {
        if (waiting) {
          room = room || ptx::barrier_test(freed, round ^ 1) || *dead; // nobody reads any more
          clear = clear || ptx::barrier_test(earlier, earlier_round);
          if (room && clear) {
            ptx::barrier_expect(arrived, bytes);
            ptx::bulk_load_once(to, source, bytes, arrived);
            waiting = false;
          }
        }
      }
      const int count = total - first < most ? total - first : most;
      sent += (std::uint32_t)count;
    }
  }
  /// Loader, at the end: shared memory must outlive the copies into it.
  __device__ void settle() {
    for (std::uint32_t n = sent < (std::uint32_t)in_flight ? 0 : sent - (std::uint32_t)in_flight; n < sent; ++n)
      ptx::barrier_wait(full[(int)(n % (std::uint32_t)slots)], n / (std::uint32_t)slots & 1);
  }

  /// Compute, every warp: the next stage, once it is there.
  __device__ __forceinline__ const char *receive() {
    ptx::barrier_wait(full[at.slot], at.round);
    const char *stage = stages + at.slot * stage_bytes;
    at.advance(slots);
    return stage;
  }
  /// Gives the oldest stage back. What was read from it must have been used: a load that is only issued may still be on
  /// its way when the copy engine overwrites the stage.
  __device__ __forceinline__ void release() {
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::barrier_arrive(empty[oldest.slot]);
    oldest.advance(slots);
  }
};

/// The packed place of row `offset[Rank-2]`, a multiple of 8, and column `offset[Rank-1]`, a multiple of 32.
template <class T, int Rank>
__device__ inline const T *packed(const Memory<T, Rank> &m, const std::int64_t (&offset)[Rank]) {
  std::int64_t lead = 0;
#pragma unroll
  for (int d = 0; d < Rank - 2; ++d)
    lead = lead * m.dims[d] + offset[d];
  const std::int64_t rows = m.dims[Rank - 2], columns = m.dims[Rank - 1];
  return m.data + lead * rows * columns + offset[Rank - 2] * columns + offset[Rank - 1] * 8;
}

//===-- rows and products -----------------------------------------------------------------------------------------===//

/// A lane's place in a fragment of 8 rows: row `g`, and the quarter `c` of 8 columns (of 32 packed ones).
__device__ inline int fragment_row() { return (int)threadIdx.x % 32 / 4; }
__device__ inline int fragment_quarter() { return (int)threadIdx.x % 4; }

/// 8 elements of a row; zero outside.
template <class T, int Rank>
__device__ inline uint4 row_piece(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank]) {
  std::int64_t linear = 0;
  bool inside = true;
#pragma unroll
  for (int d = 0; d < Rank; ++d) {
    inside &= 0 <= at[d] && at[d] < m.dims[d];
    linear = linear * m.dims[d] + at[d];
  }
  // Not through L1: another block wrote it, and it is kept in registers.
  return inside ? __ldcg(reinterpret_cast<const uint4 *>(m.data + linear)) : uint4{0, 0, 0, 0};
}

/// sums[f] = this warp's share of rows times fragment f of weights, along `Steps` stages of `Blocks` pieces each. The
/// last stage is still to be released.
template <int Steps, int Blocks, int Fragments, bool Bfloat16>
__device__ __forceinline__ void multiply(Ring &ring, const uint4 (&rows)[Steps * Blocks], float (&sums)[Fragments][2]) {
  float even[Fragments][4] = {}, odd[Fragments][4] = {};
  const int warp = (int)threadIdx.x / 32, lane = (int)threadIdx.x % 32;
#pragma unroll
  for (int s = 0; s < Steps; ++s)
#pragma unroll
    for (int f = 0; f < Fragments; ++f) {
      const uint4 *stage = reinterpret_cast<const uint4 *>(ring.receive()) + warp * Blocks * 32 + lane;
#pragma unroll
      for (int b = 0; b < Blocks; ++b) {
        const uint4 w = stage[b * 32], a = rows[s * Blocks + b];
        if constexpr (Bfloat16) {
          ptx::mma_bf16(even[f], a.x, 0, a.y, 0, w.x, w.y);
          ptx::mma_bf16(odd[f], a.z, 0, a.w, 0, w.z, w.w);
        } else {
          ptx::mma_f16(even[f], a.x, 0, a.y, 0, w.x, w.y);
          ptx::mma_f16(odd[f], a.z, 0, a.w, 0, w.z, w.w);
        }
      }
      if (s || f)
        ring.release(); // the stage before: its products were issued, so its loads are over
    }
#pragma unroll
  for (int f = 0; f < Fragments; ++f) {
    sums[f][0] = even[f][0] + odd[f][0];
    sums[f][1] = even[f][1] + odd[f][1];
  }
}

//===-- from compute to epilogue ----------------------------------------------------------------------------------===//

/// A product on its way to the epilogue.
struct Result {
  Task task;
  std::uint64_t taken, started; // for the trace
};

struct Results {
  static constexpr int slots = 4;
  float *sums; // [slot][warp][fragment][lane][2]
  ptx::Barriers full, empty;
  Result *head;
  int fragments; // room of a slot
  Cursor at;

  __device__ float2 *place(int warp, int fragment) const {
    return reinterpret_cast<float2 *>(sums) + ((at.slot * compute_warps + warp) * fragments + fragment) * 32 +
           threadIdx.x % 32;
  }

  /// Compute, every warp.
  template <int Fragments>
  __device__ void put(const Task &task, const float (&s)[Fragments][2], std::uint64_t taken, std::uint64_t started) {
    ptx::barrier_wait(empty[at.slot], at.round ^ 1);
    const int warp = (int)threadIdx.x / 32;
#pragma unroll
    for (int f = 0; f < Fragments; ++f)
      *place(warp, f) = {s[f][0], s[f][1]};
    finish(task, taken, started);
  }
  __device__ void put_end() {
    ptx::barrier_wait(empty[at.slot], at.round ^ 1);
    Task end;
    end.call = Task::none;
    finish(end, 0, 0);
  }

  /// Epilogue, one warp: adds what the warps found, in their order, and frees the slot.
  template <int Fragments> __device__ void take(float (&s)[Fragments * 2]) {
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
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::barrier_arrive(empty[at.slot]);
  }

private:
  __device__ void finish(const Task &task, std::uint64_t taken, std::uint64_t started) {
    if (threadIdx.x == 0)
      head[at.slot] = {task, taken, started};
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::barrier_arrive(full[at.slot]);
    at.advance(slots);
  }
};

/// What a role keeps from one task to the next of the same call and coordinates.
struct Key {
  std::uint32_t call = Task::none;
  std::int64_t at[Task::max_coords];
  /// True, and remembers, if this is another call or other coordinates.
  template <int N> __device__ bool changes(std::uint32_t now, const std::int64_t (&coord)[N]) {
    bool same = call == now;
#pragma unroll
    for (int i = 0; i < N; ++i)
      same &= at[i] == coord[i];
    call = now;
#pragma unroll
    for (int i = 0; i < N; ++i)
      at[i] = coord[i];
    return !same;
  }
};

/// Values of the epilogue that depend on the key only, each lane's own.
struct Kept {
  static constexpr int most = 4;
  Key key;
  float value[most];
};

//===-- single elements, for the epilogue -------------------------------------------------------------------------===//

namespace detail {
template <class T, int Rank>
__device__ inline std::int64_t element_place(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1]) {
  std::int64_t linear = 0;
  bool inside = true;
#pragma unroll
  for (int d = 0; d < Rank; ++d) {
    inside &= 0 <= at[d] && at[d] < m.dims[d];
    linear = linear * m.dims[d] + at[d];
  }
  return inside ? linear : -1;
}
} // namespace detail

template <class T, int Rank>
__device__ inline T load_element(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1], T fill) {
  const std::int64_t place = detail::element_place(m, at);
  return place >= 0 ? m.data[place] : fill;
}
template <class T, int Rank>
__device__ inline void store_element(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1], T value) {
  const std::int64_t place = detail::element_place(m, at);
  if (place >= 0)
    m.data[place] = value;
}

/// Two neighbours of the last dimension, as one access where they are both there and aligned.
template <class T> struct alignas(2 * sizeof(T)) Pair { T first, second; };
template <class T, int Rank>
__device__ inline Pair<T> load_pair(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank], T fill) {
  const std::int64_t place = detail::element_place(m, at);
  const bool both = at[Rank - 1] + 1 < m.dims[Rank - 1] && place >= 0;
  if (both && place % 2 == 0)
    return *reinterpret_cast<const Pair<T> *>(m.data + place);
  std::int64_t next[Rank];
#pragma unroll
  for (int d = 0; d < Rank; ++d)
    next[d] = at[d] + (d == Rank - 1);
  return {place >= 0 ? m.data[place] : fill, load_element(m, next, fill)};
}
template <class T, int Rank>
__device__ inline void store_pair(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank], T first, T second) {
  const std::int64_t place = detail::element_place(m, at);
  const bool both = at[Rank - 1] + 1 < m.dims[Rank - 1] && place >= 0;
  if (both && place % 2 == 0) {
    *reinterpret_cast<Pair<T> *>(m.data + place) = {first, second};
    return;
  }
  std::int64_t next[Rank];
#pragma unroll
  for (int d = 0; d < Rank; ++d)
    next[d] = at[d] + (d == Rank - 1);
  if (place >= 0)
    m.data[place] = first;
  store_element(m, next, second);
}

/// Reduces each of 8 rows of `Width` elements from `at` on, `fill` outside; every lane gets its fragment row's result.
/// All lanes share each row, so that its elements are all on their way at once.
template <class Op, int Width, class T, int Rank>
__device__ inline T reduce_rows(const Memory<T, Rank> &m, const std::int64_t (&at)[Rank], T fill) {
  static_assert(Width % 32 == 0);
  constexpr int each = Width / 32, step = each % 4 == 0 && sizeof(T) == 4 ? 4 : 1;
  const int lane = (int)threadIdx.x % 32;
  T result{};
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    std::int64_t from[Rank];
#pragma unroll
    for (int d = 0; d < Rank; ++d)
      from[d] = at[d] + (d == Rank - 2 ? r : 0);
    T part = fill; // a row outside: its result is used by nobody
    if (from[Rank - 2] < m.dims[Rank - 2]) {
      struct alignas(4 * step) Piece {
        T element[step];
      } piece[each / step];
      from[Rank - 1] += lane * step;
      const T *row = m.data + detail::element_place(m, from);
      const bool whole = at[Rank - 1] + Width <= m.dims[Rank - 1] && at[Rank - 1] >= 0 &&
                         reinterpret_cast<std::uintptr_t>(row) % (4 * step) == 0;
#pragma unroll
      for (int i = 0; i < each / step; ++i) {
        if (whole) {
          piece[i] = *reinterpret_cast<const Piece *>(row + i * 32 * step);
        } else {
#pragma unroll
          for (int e = 0; e < step; ++e) {
            std::int64_t single[Rank];
#pragma unroll
            for (int d = 0; d < Rank; ++d)
              single[d] = from[d] + (d == Rank - 1 ? i * 32 * step + e : 0);
            piece[i].element[e] = load_element(m, single, fill);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < each; ++i)
        part = i ? Op::apply(part, piece[i / step].element[i % step]) : piece[0].element[0];
#pragma unroll
      for (int half = 16; half; half /= 2)
        part = Op::apply(part, __shfl_xor_sync(~0u, part, half));
    }
    if (fragment_row() == r)
      result = part;
  }
  return result;
}

/// Combines the four lanes that share a row; all get the result.
template <class Op, class T> __device__ inline T combine_row(T value) {
  value = Op::apply(value, __shfl_xor_sync(~0u, value, 1));
  return Op::apply(value, __shfl_xor_sync(~0u, value, 2));
}

} // namespace evt
