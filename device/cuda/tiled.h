// Products of tiles on the tensor cores: two groups of warps multiply the stages that loaders fetch (tile_ring.h), and
// do what follows.
#pragma once

#include "device/cuda/row.h"
#include "device/cuda/tile_ring.h"

namespace evt {

inline constexpr int group_rows = 64, row_groups = 2, group_threads = 128;
static_assert(compute_threads == row_groups * group_threads);

/// Pieces of 64 rows that each group of warps has of a tile.
template <int Rows>
inline constexpr int row_pieces_of = (Rows + group_rows * row_groups - 1) / (group_rows * row_groups);

/// The fragments of which a warp does what follows the products: its own, or every other of 64 rows that one group of
/// warps has multiplied, which both then share.
struct FragmentShare {
  int from, to;   // fragments `h`
  int mask;       // of a thread's number, to that of the one that has multiplied its rows
  int beyond = 0; // added to rows: in a rehearsal, none of them is there
  __device__ __forceinline__ int thread() const { return ptx::kept_thread() & mask; }
  /// The row of a tile that a lane's fragment `h` has: two of each piece of 64 rows.
  template <int Rows> __device__ __forceinline__ int row(int thread, int h) const {
    const int group = thread / group_threads, warp = thread / 32 % 4;
    return (group * row_pieces_of<Rows> + h / 2) * group_rows + warp * 16 + h % 2 * 8 + fragment_row(thread) + beyond;
  }
};

/// The other group gets the first one's sums of its second fragment, and the first one what the other has found for its
/// first fragment. All compute threads; `to`, with room for two sums for every 4 columns of each of a group's threads,
/// and for what is found early, is theirs until they meet again.
template <int Sums, int Each>
__device__ __forceinline__ void share_sums(Worker &w, float2 *to, float (&sums)[Sums], float (&early)[2][Each]) {
  const int thread = ptx::kept_thread(), group = thread / group_threads;
  float2 *of_sums = to + thread % group_threads;
  float *of_early = reinterpret_cast<float *>(to + Sums / 4 * group_threads) + thread % group_threads;
  if (group == 0)
#pragma unroll
    for (int i = 0; i < Sums / 4; ++i)
      of_sums[i * group_threads] = {sums[4 * i + 2], sums[4 * i + 3]};
  else
#pragma unroll
    for (int i = 0; i < Each; ++i)
      of_early[i * group_threads] = early[0][i];
  w.sync();
  if (group == 0)
#pragma unroll
    for (int i = 0; i < Each; ++i)
      early[0][i] = of_early[i * group_threads];
  else
#pragma unroll
    for (int i = 0; i < Sums / 4; ++i) {
      const float2 v = of_sums[i * group_threads];
      sums[4 * i + 2] = v.x;
      sums[4 * i + 3] = v.y;
    }
}

/// Of a lane's fragment `h`: the sum that is its element `n` (two for every 8 columns), or one of what was found before
/// its columns. What is chosen among are registers: `h` may be a variable, so that one piece of code serves all
/// fragments. Code behind a product runs once a task, and would wait for its own instructions most of the time.
template <int Pieces, int Sums>
__device__ __forceinline__ float sum_of(const float (&sums)[Pieces][Sums], int h, int n) {
  const int at = n / 2 * 4 + n % 2;
  float v = sums[0][at];
#pragma unroll
  for (int f = 1; f < 2 * Pieces; ++f)
    v = h == f ? sums[f / 2][at + f % 2 * 2] : v;
  return v;
}
template <int Fragments, int Each>
__device__ __forceinline__ float early_of(const float (&early)[Fragments][Each], int h, int n) {
  float v = early[0][n];
#pragma unroll
  for (int f = 1; f < Fragments; ++f)
    v = h == f ? early[f][n] : v;
  return v;
}
template <int Fragments, int Each>
__device__ __forceinline__ void find_early(float (&early)[Fragments][Each], int h, int n, float v) {
#pragma unroll
  for (int f = 0; f < Fragments; ++f)
    early[f][n] = h == f ? v : early[f][n];
}
/// The next 32 columns of `Columns`, whose sums begin at `First`, take the place of the first.
template <int First, int Columns, int Pieces, int Sums>
__device__ __forceinline__ void move_up(float (&sums)[Pieces][Sums]) {
#pragma unroll
  for (int p = 0; p < Pieces; ++p)
#pragma unroll
    for (int i = First; i + 16 < First + Columns / 2; ++i)
      sums[p][i] = sums[p][i + 16];
}

/// sums = the group's rows, of which `own` are there, times all columns, along `steps` times 64 columns; stages have
/// room for `room` rows of a tile, and `fetched` are in them. A stage is given back when its products are over: of
/// large tiles, whose arithmetic takes longer than their copies, when the next one's have been issued; of others at
/// once, since waiting for the next would keep a part of the ring from being filled. `begin()` is called when the first
/// products have been issued: the task's waits are passed then, but for those that a loader passes along K. Where the
/// second group has no rows (`is_alone` is the first one), it sees the first stage and no other, and the first one
/// gives the others back for both. It never looks at a barrier too late, since no slot comes round before it has given
/// its first stage back, nor too early, since it meets the first group, which has seen all stages, before its next
/// task; where a launch is aborted, it looks at none any more.
///
/// The chunks of a stage are no loop of the kernel, and there is one loop over stages for all numbers of rows: ptxas
/// lets products wait for each other, in all of the kernel, where it cannot see all that are in flight.
template <int Rows, int Columns, bool Bfloat16, bool Packed, int Chunks, int Pieces, int Sums, class Begin>
__device__ __forceinline__ void multiply_tiles(TileRing &of_worker, int room, int steps, int fetched, int own,
                                               bool is_alone, float (&sums)[Pieces][Sums], Begin begin) {
  static_assert(Pieces == row_pieces_of<Rows> && Sums == Columns / 2);
#pragma unroll
  for (int p = 0; p < Pieces; ++p)
#pragma unroll
    for (int i = 0; i < Sums; ++i)
      sums[p][i] = 0;
  TileRing ring = of_worker.at_hand();
  const int stages = (steps + Chunks - 1) / Chunks; // what is beyond K is zero
  const int group = __shfl_sync(~0u, ptx::thread() / group_threads, 0);
  const auto release = [&](bool is_first) {
    if (is_alone && !is_first)
      ring.release_twice();
    else
      ring.release();
  };
  if (stages == 0 || own <= 0) {
    const int count = stages ? stages : 1, seen = is_alone && group ? 1 : count;
    for (int i = 0; i < seen; ++i) { // nothing to do but to let it pass
      ring.receive();
      release(i == 0);
      if (i == 0)
        begin();
    }
    ring.skip(count - seen);
    return of_worker.go_on_from(ring);
  }
  constexpr bool is_large = Rows * Columns / (Rows + Columns) >= 80;
  const std::uint32_t next_rows = (std::uint32_t)fetched * 128 / 16, first_weights = Chunks * room * 128;
  constexpr std::uint32_t next_weights = (Packed ? 1024 : Columns * 128) / 16;
  for (int i = 0; i < stages; ++i) {
    const std::uint32_t stage = ring.receive();
    ptx::Operand rows = ptx::tile_operand(stage + (std::uint32_t)(group * Pieces * group_rows * 128));
    ptx::Operand weights =
        Packed ? ptx::packed_operand<Chunks>(stage + first_weights) : ptx::tile_operand(stage + first_weights);
    ptx::wgmma_fence();
#pragma unroll
    for (int chunk = 0; chunk < Chunks;
         ++chunk, rows = rows.further(next_rows), weights = weights.further(next_weights))
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int p = 0; p < Pieces; ++p)
          ptx::wgmma<Columns, Bfloat16>(sums[p],
                                        rows.further(p * group_rows * 128 / 16 + ptx::columns_further<false>(k)).word(),
                                        weights.further(ptx::columns_further<Packed>(k)).word());
    ptx::wgmma_commit();
    if (i == 0)
      begin();
    ptx::wgmma_wait<is_large ? 1 : 0>();
    if (!is_large || i)
      release(i == (is_large ? 1 : 0));
  }
  if (is_large) {
    ptx::wgmma_wait<0>();
    release(stages == 1);
  }
  of_worker.go_on_from(ring);
}

/// A task on tiles, by the compute warps, of whose tiles `fetched` rows are fetched, of which `there` are of any use:
/// the last tile of a tensor may have few. `find(early, share)` finds, of what follows the products, what does not need
/// them, and `finish(sums, early, share)` does the rest. With `Shares` the tiles of other tasks have room for sums on
/// their way from one group of warps to the other. While the first one multiplies, that one finds everything early for
/// both, and rehearses the rest with rows that are not there: what follows the products runs once in a while, and its
/// instructions come from afar. Only where the rows' buffer has no more than one group's: what is stored then has no
/// more (`dropsRowsOutside` of the compiler), so that a row far beyond is outside of everything.
/// With `Along`, loaders may mark the task as skipped as late as before its last columns: its groups of warps then have
/// to ask together.
template <bool Dynamic, int Rows, int Columns, bool Bfloat16, bool Packed, int Chunks, int FewChunks, bool Shares,
          int Early, bool Along = false, class Find, class Finish, class Notifies>
__device__ __forceinline__ bool run_tiled(DynamicWorker &w, const Task &task, std::int64_t number, int steps,
                                          int fetched, std::int64_t there, Find find, Finish finish,
                                          Notifies notifies) {
  if (w.leads())
    w.begin();
  constexpr int pieces = row_pieces_of<Rows>;
  const int group = __shfl_sync(~0u, ptx::thread() / group_threads, 0);
  const int live = (int)least(fetched, there), own = live - group * pieces * group_rows; // rows of the group of warps
  const bool is_alone = live <= pieces * group_rows, is_shared = Shares && live <= group_rows;
  const auto is_skipped = [&] { // the mark is there before the last columns are, and without Along before the first
    return *(const volatile std::uint32_t *)&task.skipped != 0;
  };
  float sums[pieces][Columns / 2], early[2 * pieces][Early ? Early : 1] = {};
  const auto begun = [&] {
    if (w.leads())
      w.passed();
    if constexpr (Shares && Early > 0)
      if (is_shared && group && !is_skipped())
        find(early, FragmentShare{0, 2, group_threads - 1});
  };
  constexpr int few = Rows / 2 < group_rows ? group_rows : Rows / 2;
  if (Chunks != FewChunks && fetched <= few)
    multiply_tiles<Rows, Columns, Bfloat16, Packed, FewChunks>(*w.tile_ring, fetched, steps, fetched, own, is_alone,
                                                               sums, begun);
  else
    multiply_tiles<Rows, Columns, Bfloat16, Packed, Chunks>(*w.tile_ring, fetched <= few ? fetched : Rows, steps,
                                                            fetched, own, is_alone, sums, begun);
  const auto stops = [&] { return Along && w.any(is_skipped()); }; // all warps, each when it needs the sums
  if (Along ? !is_shared && stops() : is_skipped())
    return false; // all warps
  // Few rows and many have code of their own behind the products, which is 1 to 2 % faster, but for the dynamic
  // schedule: its kernels take longest to compile. The loops are those of a rehearsal: the same instructions both
  // times.
  if constexpr (Dynamic) {
    FragmentShare share{0, 2 * pieces, compute_threads - 1};
    bool rehearses = is_shared && fetched <= group_rows && group;
    if (is_shared)
      share = {group, group + 1, group_threads - 1, rehearses ? 1 << 30 : 0};
    else if (Early > 0 && own > 0)
      find(early, share);
    if (is_shared || own > 0)
#pragma unroll 1
      for (;;) {
        if constexpr (Shares)
          if (is_shared && !rehearses) {
            if (stops())
              return false;
            share_sums(w, w.tile<float2>(0), sums[0], early);
          }
        finish(sums, early, share);
        if (!rehearses)
          break;
        share.beyond = 0;
        rehearses = ptx::kept(0);
      }
  } else if (is_shared) {
    if constexpr (Shares) {
      bool rehearses = fetched <= group_rows && group;
      FragmentShare share{group, group + 1, group_threads - 1, rehearses ? 1 << 30 : 0};
#pragma unroll 1
      for (;;) {
        if (!rehearses) {
          if (stops())
            return false;
          share_sums(w, w.tile<float2>(0), sums[0], early);
        }
        finish(sums, early, share);
        if (!rehearses)
          break;
        share.beyond = 0;
        rehearses = ptx::kept(0);
      }
    }
  } else if (own > 0) {
    const FragmentShare share{0, 2 * pieces, compute_threads - 1};
    if constexpr (Early > 0)
      find(early, share);
    finish(sums, early, share);
  }
  w.sync();
  if (w.leads())
    w.close<Dynamic>(task.call, task.index, number, task.taken, task.started, notifies);
  return true;
}

} // namespace evt
