// Everything an emitted kernel for CUDA includes, and the frame that runs it.
#pragma once

#include "device/common/math.h"
#include "device/common/scalar.h"
#include "device/common/types.h"
#include "device/cuda/dynamic.h"
#include "device/cuda/memory.h"
#include "device/cuda/stream.h"
#include "device/cuda/tile/matmul.h"
#include "device/cuda/tile/reduce.h"
#include "device/cuda/tile/topk.h"

#include "device/common/protocol.h"

#include <new>

namespace evt {

/// Where things are in a block's dynamic shared memory, which the emitter has counted: the ring, the sums on their way
/// to the epilogue, then the tiles of tasks that do not stream.
struct SharedLayout {
  int slots, stage_bytes, in_flight; // of the ring; 0 slots if nothing streams
  int fragments;                     // of the largest product
  static constexpr int most_slots = 64;
  __host__ __device__ constexpr int ring_bytes() const { return slots * stage_bytes; }
  __host__ __device__ constexpr int sums_bytes() const {
    return slots ? Results::slots * compute_warps * fragments * 256 : 0;
  }
  __host__ __device__ constexpr int tiles() const { return ring_bytes() + sums_bytes(); }
};

/// The barriers of a block's rings.
template <bool Streams> struct StreamState {
  std::uint64_t full[SharedLayout::most_slots], empty[SharedLayout::most_slots];
  std::uint64_t sums_full[Results::slots], sums_empty[Results::slots];
  Result head[Results::slots];
};
template <> struct StreamState<false> {};

/// Runs one block of a launch. `Kernel` is emitted:
///   Program                                      a launch, unpacked: constructed from it, one a block, in shared
///   memory Program::reset(dynamic)                      by every thread of the last block: zeroes the counters
///   Kernel::schedule(worker, program)            by the control thread: hands over every task of this block, and sends
///   the
///                                                weights of those that stream
///   Kernel::execute(worker, program, task, …)    by all compute threads: runs one; false when the launch was aborted
///   Kernel::finish(worker, program, result, …)   by an epilogue warp: ends a task that streams
///   Kernel::layout, ::row_pieces, ::collected    how much of everything there is
template <class Kernel, class Program, class Launch> __device__ inline void run_block(const Launch &launch) {
  constexpr SharedLayout layout = Kernel::layout;
  constexpr bool streams = layout.slots > 0;
  static_assert(layout.slots <= SharedLayout::most_slots);
  extern __shared__ __align__(128) char shared[];
  __shared__ BlockState block;
  __shared__ StreamState<streams> stream;
  __shared__ alignas(Program) char storage[sizeof(Program)];
  __shared__ Notification room[Kernel::collected ? Kernel::collected : 1];
  if (threadIdx.x == 0) {
    new (storage) Program(launch);
    block.dead = block.records = 0;
    for (int s = 0; s < BlockState::slots; ++s) {
      ptx::barrier_init(ptx::barriers_at(block.full)[s], 1);
      ptx::barrier_init(ptx::barriers_at(block.empty)[s], compute_warps);
    }
    if constexpr (streams) {
      for (int s = 0; s < layout.slots; ++s) {
        ptx::barrier_init(ptx::barriers_at(stream.full)[s], 1);
        ptx::barrier_init(ptx::barriers_at(stream.empty)[s], compute_warps);
      }
      for (int s = 0; s < Results::slots; ++s) {
        ptx::barrier_init(ptx::barriers_at(stream.sums_full)[s], compute_warps);
        ptx::barrier_init(ptx::barriers_at(stream.sums_empty)[s], 1);
      }
    }
    ptx::barrier_init_fence();
  }
  __syncthreads();
  const Program &P = *reinterpret_cast<const Program *>(storage);
  DynamicWorker w(&launch, P.control, &block, shared + layout.tiles(), room, P.slots, P.tasks);
  // Each role has its own view of the rings, in registers.
  auto open_ring = [&] {
    Ring ring{};
    if constexpr (streams) {
      ring.stages = shared;
      ring.address = ptx::kept(ptx::shared_address(shared));
      ring.full = ptx::barriers_at(stream.full);
      ring.empty = ptx::barriers_at(stream.empty);
      ring.slots = layout.slots;
      ring.stage_bytes = layout.stage_bytes;
      ring.in_flight = layout.in_flight;
      ring.dead = &block.dead;
    }
    return ring;
  };
  auto open_results = [&] {
    Results results{};
    if constexpr (streams) {
      results.sums = reinterpret_cast<float *>(shared + layout.ring_bytes());
      results.full = ptx::barriers_at(stream.sums_full);
      results.empty = ptx::barriers_at(stream.sums_empty);
      results.head = stream.head;
      results.fragments = layout.fragments;
    }
    return results;
  };
  if (threadIdx.x < compute_threads) {
    Ring ring = open_ring();
    Results results = open_results();
    Key key;
    uint4 rows[Kernel::row_pieces ? Kernel::row_pieces : 1];
    bool alive = true;
    while (true) {
      const Task task = w.take();
      if (task.call == Task::none)
        break;
      if (alive)
        alive = Kernel::execute(w, P, task, ring, results, key, rows);
      if (!alive && w.leads())
        *(volatile std::uint32_t *)&block.dead = 1;
    }
    if constexpr (streams)
      for (int e = 0; e < epilogue_warps; ++e)
        results.put_end();
  } else if (threadIdx.x < epilogue_first) {
    Ring ring = open_ring();
    w.ring = &ring;
    Kernel::schedule(w, P);
    w.end_of_tasks();
    if constexpr (streams)
      ring.settle();
  } else if (streams && threadIdx.x >= epilogue_first) {
    if constexpr (streams) {
      Results results = open_results();
      Kept kept;
      for (int first = (threadIdx.x - epilogue_first) / 32; first; --first)
        results.at.advance(Results::slots);
      while (true) {
        ptx::barrier_wait(results.full[results.at.slot], results.at.round);
        const Result result = results.head[results.at.slot];
        if (result.task.call == Task::none)
          break;
        Kernel::finish(w, P, result, results, kept);
        for (int e = 0; e < epilogue_warps; ++e)
          results.at.advance(Results::slots);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    if (!w.aborted())
      ptx::store_release(&launch.status[w.id].state, (std::uint32_t)EVT_LEFT);
    block.last = ptx::add_acq_rel(&P.control->left, 1u) + 1 == w.workers && !w.aborted();
  }
  __syncthreads();
  if (block.last) {
    const bool dynamic = launch.schedule == EVT_DYNAMIC;
    if (dynamic)
      w.reset_queue();
    __syncthreads(); // the queue's end is read before it is cleared
    P.reset(dynamic);
  }
}

/// One task of the compute warps: its waits by one thread, its body by all, its notifies by one thread after all.
/// `waits`, `body` and `notifies` take the worker; waits are skipped when a dynamic schedule found the task ready.
template <class Waits, class Body, class Notifies>
__device__ __forceinline__ bool run_task(DynamicWorker &w, const Task &task, std::int64_t number, Waits waits,
                                         Body body, Notifies notifies) {
  bool stop = false;
  const bool dynamic = w.launch->schedule == EVT_DYNAMIC;
  if (w.leads()) {
    w.begin(task.call, task.index);
    stop = w.aborted() || (!dynamic && !waits());
    w.passed();
  }
  if (w.any(stop))
    return false;
  body();
  w.sync();
  if (w.leads()) {
    const bool notified = !w.injected(task.call, task.index);
    if (notified)
      notifies();
    w.end(task.call, task.index, number, notified);
    if (dynamic) {
      w.flush();
      w.finished();
    }
  }
  return true;
}

/// The part of a task that streams which the compute warps run. `rows` fills the registers when the key changed;
/// `waits` then comes first. Leaves the sums to the epilogue.
template <int Steps, int Blocks, int Fragments, bool Bfloat16, int N, int Most, class Waits, class Rows>
__device__ __forceinline__ bool run_stream(DynamicWorker &w, const Task &task, Ring &ring, Results &results, Key &key,
                                           const std::int64_t (&coord)[N], uint4 (&rows)[Most], bool always,
                                           Waits waits, Rows load) {
  if (w.leads())
    w.begin(task.call, task.index);
  if (key.changes(task.call, coord) || always) {
    bool stop = false;
    if (w.leads())
      stop = w.aborted() || (w.launch->schedule != EVT_DYNAMIC && !waits());
    if (w.any(stop))
      return false;
    load();
  }
  if (w.leads())
    w.passed();
  float sums[Fragments][2];
  multiply<Steps, Blocks, Fragments, Bfloat16>(ring, reinterpret_cast<const uint4(&)[Steps * Blocks]>(rows), sums);
  results.put(task, sums, w.taken, w.started);
  ring.release();
  return true;
}

/// The end of a task that streams, by one epilogue warp: `body` has stored everything; then its notifies by one lane.
template <class Notifies>
__device__ inline void end_task(DynamicWorker &w, std::uint32_t call, std::int64_t task, std::int64_t number,
                                std::uint64_t taken, std::uint64_t started, Notifies notifies) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) {
    const bool notified = !w.injected(call, task);
    if (notified)
      notifies();
    w.end(call, task, number, notified, taken, started);
    if (w.launch->schedule == EVT_DYNAMIC) {
      w.flush();
      w.finished();
    }
  }
  __syncwarp();
}

/// A notify of one element by a warp; true, for all its lanes, if it was the last the element needs.
__device__ inline bool arrive_last(Counter *counter, std::int64_t count) {
  __syncwarp();
  std::uint32_t now = 0;
  if (threadIdx.x % 32 == 0)
    now = Worker::arrive(counter);
  now = __shfl_sync(~0u, now, 0);
  __syncwarp();
  return now == count;
}

} // namespace evt
