// Tasks from their waits to their notifies, by who runs them: what emitted functions of a task are made of.
#pragma once

#include "device/cuda/dynamic.h"
#include "device/cuda/stream.h"

#include "device/common/protocol.h"

#include <type_traits>

namespace evt {

/// One task of the compute warps: its waits by one thread, its body by all, its notifies by one thread after all. The
/// body passes the waits when it has begun what need not wait: `body(pass)` is false if `pass()` was. Waits are skipped
/// when a dynamic schedule found the task ready. With `IsTold`, another warp ends it: `tell_task`. `first` is where its
/// call begins among all tasks, in memory: it is wanted behind the body, which has better use for registers.
template <bool Dynamic, bool IsTold = false, class Waits, class Body, class Notifies>
__device__ __forceinline__ bool run_task(DynamicWorker &w, const Task &task, const std::int64_t &first, Waits waits,
                                         Body body, Notifies notifies) {
  if (w.leads())
    w.begin();
  const bool goes_on = body([&] {
    bool stop = false;
    if (w.leads()) {
      stop = !Dynamic && !waits();
      w.passed();
    }
    return !w.any(stop);
  });
  if (!goes_on)
    return false;
  w.sync();
  if (!IsTold && w.leads())
    w.close<Dynamic>(task.call, task.index, first + task.index, task.taken, task.started, notifies);
  return true;
}

/// Its end, by a thread of a warp that does nothing else.
template <class Notifies>
__device__ __forceinline__ void tell_task(DynamicWorker &w, const Task &task, std::int64_t number, Notifies notifies) {
  w.tasks.await_done();
  if (!task.skipped)
    w.close<false>(task.call, task.index, number, task.taken, task.started, notifies);
}

/// The same for a task that notifies one element: `arrives` says whether it was the last to do so, and the block then
/// goes on with the task that waits for it, `joined`.
template <bool Dynamic, class Waits, class Body, class Arrives, class Joined>
__device__ __forceinline__ bool run_joining_task(DynamicWorker &w, const Task &task, const std::int64_t &first,
                                                 Waits waits, Body body, Arrives arrives, Joined joined) {
  bool last = false;
  if (!run_task<Dynamic>(w, task, first, waits, body, [&] { last = arrives(); }))
    return false;
  if (w.any(last))
    joined();
  return true;
}
template <bool Dynamic, class Notifies>
__device__ __forceinline__ void end_joined(DynamicWorker &w, std::uint32_t call, std::int64_t task, std::int64_t number,
                                           std::uint64_t began, Notifies notifies) {
  w.sync();
  if (w.leads())
    w.close<Dynamic>(call, task, number, began, began, notifies);
}

/// The products of a task that streams: leaves the sums to the epilogue.
template <int Pieces, int Blocks, int Fragments, bool Bfloat16, int Most>
__device__ __forceinline__ void multiply_stream(Ring &ring, Results &results, const uint4 (&rows)[Most]) {
  float sums[Fragments][2];
  multiply<Blocks, Fragments, Bfloat16>(ring, reinterpret_cast<const uint4(&)[Pieces]>(rows), sums);
  results.put(sums);
}

/// Waits of threads that do not meet before they use what they waited for: each asks for itself.
struct Asking : Blocking<Asking> {
  using Blocking::Blocking;
  __device__ bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    return w.await_beside(event, counters, element, (std::uint32_t)most(count, 0));
  }
};

/// Waits of early readers, any thread's, and when looking for rows is worth while: when all but as many tasks as there
/// are blocks have told that theirs are there. What is missing then arrives while the others' are read.
struct Looking : Blocking<Looking> {
  using Blocking::Blocking;
  __device__ bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    return w.wait_beside(event, counters, element, (std::uint32_t)most(count, 0));
  }
  __device__ bool hint(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    // An injected fault stands for a task that does not come to its end, though its rows are there.
    const std::int64_t enough = w.launch->inject_call < 0 ? count - w.workers : count;
    return w.await_beside<true>(event, counters, element, (std::uint32_t)most(enough, 0));
  }
};

/// Notifies of the epilogue, a lane. Those of events that rows are read ahead of are owed until the warp's next task
/// has other rows: whoever waits for them is a phase behind.
struct Owing : Blocking<Owing> {
  using Blocking::Blocking;
};
template <bool Not> using OwingUnless = std::conditional_t<Not, Polling, Owing>;
template <class Use> __device__ __forceinline__ void signal_early(Use &, Counter *counter) { Worker::signal(counter); }
__device__ __forceinline__ void signal_early(Owing &use, Counter *counter) { use.w.owe(counter); }

/// The end of a task that streams, by one epilogue warp: `body` has stored everything; then its notifies by one lane.
template <bool Dynamic, class Notifies>
__device__ __forceinline__ void end_task(DynamicWorker &w, std::uint32_t call, std::int64_t task, std::int64_t number,
                                         std::uint64_t taken, std::uint64_t started, Notifies notifies) {
  __syncwarp();
  if (threadIdx.x % 32 == 0)
    w.close<Dynamic>(call, task, number, taken, started, notifies);
  __syncwarp();
}

/// A notify that nobody waits for but the warp itself: it is counted for who looks at a launch that stands still.
__device__ __forceinline__ void count_own(Counter *counter) {
  __syncwarp(); // what its lanes wrote, they all see
  if (threadIdx.x % 32 == 0)
    ptx::reduce_relaxed(&counter->value, 1);
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
