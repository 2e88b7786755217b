// Products of tiles on the tensor cores: the ring between the loader and the groups of warps that multiply.
//
// A stage holds 64 columns of K, or a few times that: for each 64, a tile of rows, then the tiles of weights one below
// the other, which to the tensor cores are one tile. The copy engine fills it from maps of the tensors that the runtime
// makes for each launch, zero outside (or, in rows of the runtime's buffers, whatever is there: nobody stores what
// comes of it); so ragged edges cost nothing and need no code.
//
// The loader passes the waits of a task before it hands the task over, and then issues every copy of it: a task that
// compute has taken always gets its stages. What earlier tasks wrote was written by ordinary stores, and is read by the
// copy engine: after the acquire the loader says so (`copy_fence`), and a task that stores for others does too.
#pragma once

#include "device/cuda/dynamic.h"
#include "device/cuda/memory.h"
#include "device/cuda/row.h"
#include "device/cuda/stream.h"
#include "device/cuda/wgmma.h"

#include "device/common/protocol.h"

namespace evt {

/// A tensor as the copy engine knows it.
struct alignas(64) TensorMap {
  std::uint64_t words[16];
};

/// The maps of a launch: they follow the parameter's words (device/cuda/abi.h).
constexpr std::size_t tensor_maps_offset(int words) {
  return (sizeof(evt_cuda_launch) + 8 * (std::size_t)words + 63) / 64 * 64;
}
__device__ __forceinline__ const TensorMap *tensor_maps(const evt_cuda_launch *launch, int words) {
  return reinterpret_cast<const TensorMap *>(reinterpret_cast<const char *>(launch) + tensor_maps_offset(words));
}

//===-- the ring --------------------------------------------------------------------------------------------------===//

template <int Slots> struct TileBarriers { std::uint64_t full[Slots], empty[Slots]; };
template <> struct TileBarriers<0> {};

/// Compute's side is that of every ring of stages; one loader fills it, as far as it goes.
struct TileRing : StageRing<ptx::Sync> {
  std::uint32_t address; // of the stages, in shared memory
  int stage_bytes;
  const volatile std::uint32_t *dead; // compute has stopped taking stages: the launch is being aborted
  std::uint32_t sent;                 // loader: stages

  /// Loader, one lane: `count` stages of `bytes` each; `fill(to, arrived, i)` issues the copies of one.
  template <class Fill> __device__ __forceinline__ void send(std::int64_t count, std::uint32_t bytes, Fill fill) {
    for (int i = 0; i < (int)count; ++i) {
      while (!ptx::barrier_try(empty[at.slot], at.round ^ 1))
        if (*dead)
          return; // nobody reads any more
      ptx::barrier_expect(full[at.slot], bytes);
      fill(address + (std::uint32_t)(at.slot * stage_bytes), full[at.slot], i);
      at.advance(slots);
      ++sent;
    }
  }
  /// Loader, the same lane, at the end: shared memory must outlive the copies into it.
  __device__ void settle() {
    for (std::uint32_t n = sent < (std::uint32_t)slots ? 0 : sent - (std::uint32_t)slots; n < sent; ++n)
      ptx::barrier_wait(full[(int)(n % (std::uint32_t)slots)], n / (std::uint32_t)slots & 1);
  }

  /// Compute, every warp: the next stage, once it is there. It is released when the products that read it are over.
  __device__ __forceinline__ std::uint32_t receive() {
    return address + (std::uint32_t)(StageRing::receive() * stage_bytes);
  }
};

/// Stages of a loop along K.
__device__ inline std::int64_t tile_stages(std::int64_t lower, std::int64_t upper, std::int64_t step) {
  return ceildiv(most(upper - lower, 0), step) * (step / 64);
}

//===-- the loader: a lane of the control warp --------------------------------------------------------------------===//

/// Waits that block before a task is handed over: while compute runs earlier ones, whose status they then replace.
struct WaitingAhead : Blocking<WaitingAhead> {
  const std::uint32_t call;
  const std::int64_t task;
  __device__ WaitingAhead(Worker &w, std::uint32_t call, std::int64_t task) : Blocking(w), call(call), task(task) {}

  __device__ bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    const std::uint32_t enough = (std::uint32_t)most(count, 0);
    if (ptx::load_acquire(&counters[element].value) >= enough)
      return true;
    evt_status *status = w.launch->status + w.id;
    status->call = call;
    status->task = task;
    return detail::block_until(w.launch, w.id, event, &counters[element].value, element, enough);
  }
};

/// By the control warp: the waits of a task that is about to be handed over, by its first lane; false when the launch
/// was aborted.
template <bool Dynamic, class Waits>
__device__ __forceinline__ bool pass_ahead(Worker &w, std::uint32_t call, std::int64_t task, Waits waits) {
  bool passed = true;
  if (threadIdx.x % 32 == 0) {
    WaitingAhead ahead{w, call, task};
    passed = !w.aborted() && (Dynamic || waits(ahead));
  }
  return __shfl_sync(~0u, passed, 0);
}

//===-- compute ---------------------------------------------------------------------------------------------------===//

inline constexpr int group_rows = 64, row_groups = 2, group_threads = 128;
static_assert(compute_threads == row_groups * group_threads);

/// Pieces of 64 rows that each group of warps has of a tile.
template <int Rows>
inline constexpr int row_pieces_of = (Rows + group_rows * row_groups - 1) / (group_rows * row_groups);

/// The row of a tile that a lane's fragment `h` has: two of each piece of 64 rows.
template <int Rows> __device__ inline int tile_row(int h) {
  const int group = (int)threadIdx.x / group_threads, warp = (int)threadIdx.x / 32 % 4;
  return (group * row_pieces_of<Rows> + h / 2) * group_rows + warp * 16 + h % 2 * 8 + fragment_row();
}

/// sums = the group's rows times all columns, along `stages` stages. A stage is given back when the next one's products
/// have been issued and its own are over.
template <int Rows, int Columns, bool Bfloat16, bool Packed, int Chunks, int Pieces, int Sums>
__device__ __forceinline__ void multiply_tiles(TileRing &ring, std::int64_t stages, float (&sums)[Pieces][Sums]) {
  static_assert(Pieces == row_pieces_of<Rows> && Sums == Columns / 2);
#pragma unroll
  for (int p = 0; p < Pieces; ++p)
#pragma unroll
    for (int i = 0; i < Sums; ++i)
      sums[p][i] = 0;
  const int group = __shfl_sync(~0u, (int)threadIdx.x / group_threads, 0);
  if (Rows < group_rows * row_groups && group * group_rows >= Rows) {
    for (int i = 0; i < (int)stages; ++i) { // nothing to do but to let it pass
      ring.receive();
      ring.release();
    }
    return;
  }
  for (int i = 0; i < (int)stages; ++i) {
    const std::uint32_t stage = ring.receive();
    const std::uint64_t rows = ptx::tile_descriptor(stage + (std::uint32_t)(group * Pieces * group_rows * 128));
    const std::uint32_t below = stage + Rows * 128;
    const std::uint64_t weights = Packed ? ptx::packed_descriptor(below) : ptx::tile_descriptor(below);
    ptx::wgmma_fence();
#pragma unroll
    for (int chunk = 0; chunk < Chunks; ++chunk)
#pragma unroll
      for (int k = 0; k < 4; ++k)
#pragma unroll
        for (int p = 0; p < Pieces; ++p) {
          constexpr std::uint64_t chunk_bytes = (Rows + Columns) * 128;
          ptx::wgmma<Columns, Bfloat16>(
              sums[p], rows + (chunk * chunk_bytes + p * group_rows * 128) / 16 + ptx::columns_further<false>(k),
              weights + chunk * chunk_bytes / 16 + ptx::columns_further<Packed>(k));
        }
    ptx::wgmma_commit();
    ptx::wgmma_wait<1>();
    if (i)
      ring.release();
  }
  ptx::wgmma_wait<0>();
  if (stages > 0)
    ring.release();
}

/// A task on tiles, by the compute warps; its waits were passed by the loader. `finish(sums)` does everything after the
/// product.
template <bool Dynamic, int Rows, int Columns, bool Bfloat16, bool Packed, int Chunks, class Finish, class Notifies>
__device__ __forceinline__ bool run_tiled(DynamicWorker &w, const Task &task, std::int64_t number, std::int64_t stages,
                                          Finish finish, Notifies notifies) {
  if (w.leads()) {
    w.begin(task.call, task.index);
    w.passed();
  }
  float sums[row_pieces_of<Rows>][Columns / 2];
  multiply_tiles<Rows, Columns, Bfloat16, Packed, Chunks>(*w.tile_ring, stages, sums);
  if (Rows >= group_rows * row_groups || (int)threadIdx.x / group_threads * group_rows < Rows)
    finish(sums);
  ptx::copy_fence();
  w.sync();
  if (w.leads())
    w.close<Dynamic>(task.call, task.index, number, w.taken, w.started, notifies);
  return true;
}

} // namespace evt
