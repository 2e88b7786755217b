// The ring between the loaders and the groups of warps that multiply tiles on the tensor cores (tiled.h), and what
// loaders wait for.
//
// A stage holds 64 columns of K, or a few times that (chunks): the tiles of rows, chunk after chunk, then the weights,
// those of one operand below those of another, which to the tensor cores are one tile. The copy engine fills it from
// maps of the tensors that the runtime makes for each launch, zero outside (or, in rows of the runtime's buffers,
// whatever is there: nobody stores what comes of it); so ragged edges cost nothing and need no code. What a copy costs
// is the copy more than its bytes, so there is one for the rows of a stage, and one for each operand of packed weights.
//
// Two warps load, a lane of each: one the weights, which nothing orders, as soon as a task is handed over; the other
// passes the task's waits and then fetches its rows. A task that compute has taken always gets its stages, waits or no
// waits: one whose launch is being aborted is marked before its first rows arrive, and nobody ends it. What earlier
// tasks wrote was written by ordinary stores, and is read by the copy engine: after the acquire the loader says so
// (`copy_fence`).
#pragma once

#include "device/cuda/dynamic.h"
#include "device/cuda/memory.h"
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

/// Stages of a ring of tiles, and what each has room for at least; 0 slots: there is none.
struct TileStages {
  int slots, bytes;
};

inline constexpr int tile_loaders = 2;
enum TileLoader { load_weights, load_rows };

template <int Slots> struct TileBarriers { std::uint64_t full[tile_loaders][Slots], empty[Slots]; };
template <> struct TileBarriers<0> {};

/// Compute's side is that of every ring of stages, of which each loader fills a part, as far as it goes. `full` is that
/// of the loader; compute's is that of the rows.
struct TileRing : StageRing<ptx::Sync> {
  ptx::Barriers weights; // compute: the other part is there
  std::uint32_t address; // of the stages, in shared memory
  int stage_bytes;
  const volatile std::uint32_t *dead; // compute has stopped taking stages: the launch is being aborted
  std::uint32_t sent;                 // loader: stages
  bool was_fed;                       // loader: by ordinary copies, since the last stage of the copy engine
  bool has_pieces;                    // likewise, where a feed has the copy engine fetch rows
  static constexpr int arrivals =
      33; // of a loader, at `full`: where all lanes copy, those copies' and the first lane's

  struct Nothing {
    __device__ __forceinline__ void operator()(int) const {}
  };
  /// Loader, one lane: its part of `count` stages, `bytes` each; `fill(to, arrived, i)` issues the copies of one, when
  /// `await(i)` has seen what they need. A task without products has one stage with nothing in it.
  template <class Fill, class Await = Nothing>
  __device__ __forceinline__ void send(int count, std::uint32_t bytes, Fill fill, Await await = {}) {
    if (!count && await_empty()) {
      ptx::barrier_arrive(full[at.slot], arrivals);
      at.advance(slots);
      ++sent;
    }
    for (int i = 0; i < count; ++i) {
      if (!await_empty())
        return;
      if (was_fed)
        ptx::shared_copy_fence(); // what lanes wrote, the copy engine overwrites
      was_fed = false;
      await(i);
      ptx::barrier_arrive(full[at.slot], arrivals - 1);
      ptx::barrier_expect(full[at.slot], bytes);
      fill(address + (std::uint32_t)(at.slot * stage_bytes), full[at.slot], i);
      at.advance(slots);
      ++sent;
    }
  }
  /// Loader, all lanes of its warp: lanes have seen what the first of them did.
  __device__ __forceinline__ void gather() {
    move(at.slot);
    move(at.round);
    move(sent);
  }
  /// Loader, all lanes: the next stage, once it is free. Its part is there when all lanes' copies since then are, and
  /// what was stored before the warp met.
  __device__ __forceinline__ bool begin_feed(std::uint32_t &stage) {
    stage = address + (std::uint32_t)(at.slot * stage_bytes);
    return __all_sync(~0u, await_empty());
  }
  __device__ __forceinline__ ptx::Barrier arrived() const { return full[at.slot]; }
  /// The first lane: before the copy engine fetches a part of it.
  __device__ __forceinline__ void begin_bulk() {
    if (has_pieces)
      ptx::shared_copy_fence(); // what lanes wrote, the copy engine overwrites
    has_pieces = false;
  }
  /// `bulk` bytes of it are on their way by the copy engine.
  __device__ __forceinline__ void end_feed(bool leads, std::uint32_t bulk) {
    ptx::arrive_when_copied(full[at.slot]);
    if (leads) {
      if (bulk)
        ptx::barrier_expect(full[at.slot], bulk);
      else
        ptx::barrier_arrive(full[at.slot]);
    }
    at.advance(slots);
    ++sent;
    was_fed = true;
  }
  /// Loader, all lanes: it has no part in the next stage.
  __device__ __forceinline__ bool feed_nothing(bool leads) {
    if (!__all_sync(~0u, await_empty()))
      return false;
    if (leads)
      ptx::barrier_arrive(full[at.slot], arrivals);
    at.advance(slots);
    ++sent;
    return true;
  }
  /// False when nobody reads any more.
  __device__ __forceinline__ bool await_empty() const {
    while (!ptx::barrier_try(empty[at.slot], at.round ^ 1))
      if (*dead)
        return false;
    return true;
  }
  /// Loader, the same lane, at the end: shared memory must outlive the copies into it.
  __device__ void settle() {
    for (std::uint32_t n = sent < (std::uint32_t)slots ? 0 : sent - (std::uint32_t)slots; n < sent; ++n)
      ptx::barrier_wait(full[(int)(n % (std::uint32_t)slots)], n / (std::uint32_t)slots & 1);
  }

  /// Compute, all lanes of a warp: what it uses of the ring in registers of its own, and back. What lives from task to
  /// task is in memory most of the time, and would be fetched from there, and put back, for every stage; a shuffle
  /// keeps the compiler from taking one for the other.
  __device__ __forceinline__ TileRing at_hand() const {
    TileRing ring = *this;
    move(ring.full.first);
    move(ring.empty.first);
    move(ring.weights.first);
    move(ring.address);
    ring.move_cursors();
    return ring;
  }
  __device__ __forceinline__ void go_on_from(const TileRing &ring) {
    at = ring.at;
    oldest = ring.oldest;
    move_cursors();
  }
  /// Compute, every warp: the next stage, once it is there. It is released when the products that read it are over.
  __device__ __forceinline__ std::uint32_t receive() {
    ptx::barrier_wait(weights[at.slot], at.round);
    // So that what follows from it is known to be the same for all lanes: products then take few instructions.
    return __shfl_sync(~0u, address + (std::uint32_t)(StageRing::receive() * stage_bytes), 0);
  }
  /// By this warp, and for one that skips it.
  __device__ __forceinline__ void release_twice() {
    ptx::Sync::arrive_twice(empty[oldest.slot]);
    oldest.advance(slots);
  }
  __device__ __forceinline__ void skip(int count) {
    at.skip_all(count, slots);
    oldest.skip_all(count, slots);
  }

private:
  template <class V> __device__ __forceinline__ static void move(V &v) { v = __shfl_sync(~0u, v, 0); }
  __device__ __forceinline__ void move_cursors() {
    move(at.slot);
    move(at.round);
    move(oldest.slot);
  }
};

/// Stages of a loop along K.
__device__ inline std::int64_t tile_stages(std::int64_t lower, std::int64_t upper, std::int64_t step) {
  return ceildiv(most(upper - lower, 0), step) * (step / 64);
}

/// Bytes of a stage with that many chunks of 64 columns of K, of `rows` rows and of weights. The tensor cores read 64
/// rows of each chunk, also of those that are not there.
__device__ __forceinline__ int tile_stage_bytes(int chunks, int rows, int columns) {
  const int all = chunks * (rows + columns), read = (chunks - 1) * rows + 64;
  return ((all > read ? all : read) + 7) / 8 * 1024;
}

/// Rows that are fetched for a tile of a buffer that has few: those of whole groups of 8 (runtime/cuda/TensorMaps.cpp).
template <int Rows> __device__ __forceinline__ int fetched_rows(std::int64_t extent) {
  return extent < Rows ? ((int)extent + 7) / 8 * 8 : Rows;
}

//===-- the loaders: a lane of a warp each ------------------------------------------------------------------------===//

/// Waits of the loader of rows: while compute runs earlier tasks, whose status they then replace.
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

/// Loader of rows: the waits of a task, after which copies see what others have stored.
template <bool Dynamic, class Waits> __device__ __forceinline__ void pass_ahead(Worker &w, Task &task, Waits waits) {
  if constexpr (!Dynamic) {
    WaitingAhead ahead{w, task.call, task.index};
    if (!waits(ahead))
      task.skipped = 1;
  }
  ptx::copy_fence();
}

/// A loader, its lane: a wait for a range of elements, each of which is for `columns` of K, passed as the loader comes
/// to them. `waits(ahead, from, to)` are those of the elements `from` to `to` - 1.
template <bool Dynamic, class Waits> struct WaitsAlong {
  Worker &w;
  Task &task;
  const std::int64_t columns;
  Waits waits;
  std::int64_t passed = 0;
  bool goes_on = true;

  __device__ WaitsAlong(Worker &w, Task &task, std::int64_t columns, Waits waits)
      : w(w), task(task), columns(columns), waits(waits) {}
  /// Before columns up to `end` are fetched, or the last ones.
  __device__ __forceinline__ void pass(std::int64_t end, bool is_last) {
    if constexpr (!Dynamic) {
      // Columns may begin outside: what compute reads beside the first stage counts on the first element.
      const std::int64_t to = is_last ? INT64_MAX : ceildiv(most(end, 1), columns);
      if (to <= passed || !goes_on)
        return;
      WaitingAhead ahead{w, task.call, task.index};
      goes_on = waits(ahead, passed, to);
      if (!goes_on)
        task.skipped = 1;
      passed = to;
      ptx::copy_fence();
    }
  }
};
/// Of a task that passes all waits before.
struct NothingAlong {
  __device__ __forceinline__ void pass(std::int64_t, bool) const {}
};
template <bool Dynamic, class Waits>
__device__ __forceinline__ WaitsAlong<Dynamic, Waits> waits_along(Worker &w, Task &task, std::int64_t columns,
                                                                  Waits waits) {
  return {w, task, columns, waits};
}

/// A loader, all lanes: the waits of a task that it feeds. They are passed when its first copy of what an event orders
/// is to be issued, and the tables that say where from have been read; those of a task that has nothing to be fed, not
/// at all: compute passes its own.
template <bool Dynamic, class Waits> struct FeedWaits {
  Worker &w;
  Task &task;
  TileRing &ring;
  Waits waits;
  bool passed = false;

  __device__ FeedWaits(Worker &w, Task &task, TileRing &ring, Waits waits)
      : w(w), task(task), ring(ring), waits(waits) {}
  /// Before anything is fed: the task before may have been a lane's.
  __device__ __forceinline__ void begin() { ring.gather(); }
  __device__ __forceinline__ void pass() {
    if (passed)
      return;
    passed = true;
    if (threadIdx.x % 32 == 0)
      pass_ahead<Dynamic>(w, task, waits);
    __syncwarp();
  }
};
template <bool Dynamic, class Waits>
__device__ __forceinline__ FeedWaits<Dynamic, Waits> feed_waits(Worker &w, Task &task, TileRing &ring, Waits waits) {
  return {w, task, ring, waits};
}

} // namespace evt
