// A worker: one block of the persistent kernel, which has an SM to itself.
//
// Its warps have roles. One warp, *control*, runs the schedule, all lanes alike: it decides which task comes next and
// hands it over through a small ring of tasks in shared memory, so that it is a few tasks ahead (tickets are taken, and
// ragged grids decoded, while earlier tasks still run). The *compute* warps take the tasks in that order: one thread of
// them passes the task's waits, all run its body, and one thread issues its notifies. A task that streams (stream.h)
// uses more: the *loaders* fetch its weights, and one of the *epilogue* warps ends what the compute warps multiplied.
// Those of a task on tiles (tiled.h) fetch all its operands and pass its waits.
//
// All roles walk the same ring of tasks, each at its own pace; a task's place is free when every role has left it.
//
// Counters are 32-bit and zero between launches. Publishing: every writer, a barrier of the compute warps, one thread's
// release. Reading: one thread's acquire, a barrier, then ordinary loads. In a block that is told to abort, the roles
// keep handing tasks on without waiting for events or ending them, so no role waits for another that has left.
#pragma once

#include "device/common/scalar.h"
#include "device/cuda/block.h"

namespace evt {

// The slow paths are functions of their own that get values, never a Worker: one whose address escapes would live in
// memory.
namespace detail {

/// Reports a fault of the program. The first one wins; every worker leaves at its next wait or task.
__device__ __noinline__ inline void fail(const evt_cuda_launch *launch, Control *control, std::uint32_t why,
                                         std::int64_t a, std::int64_t b, std::int64_t c) {
  if (atomicExch(&control->reporting, 1u) != 0)
    return;
  *launch->fault = {a, b, c};
  __threadfence();
  atomicCAS(launch->abort, (std::uint32_t)EVT_ABORT_NONE, why);
}

/// Sets words to zero: every `step`-th from `first` on.
__device__ __noinline__ inline void clear(std::uint32_t *words, std::uint32_t count, std::uint32_t first,
                                          std::uint32_t step) {
#pragma unroll 1
  for (std::uint32_t i = first; i < count; i += step)
    words[i] = 0;
}

/// Polls until the counter has reached `count`; false when the launch was aborted, or this wait lasted too long.
__device__ __noinline__ inline bool block_until(const evt_cuda_launch *launch, std::uint32_t id, std::uint32_t event,
                                                const std::uint32_t *counter, std::int64_t element,
                                                std::uint32_t count) {
  std::uint64_t start = 0;
  for (std::uint32_t spin = 1;; ++spin) {
    if (ptx::load_acquire(counter) >= count)
      break;
    if (spin % 256)
      continue;
    if (ptx::load_relaxed(launch->abort) != EVT_ABORT_NONE)
      return false;
    if (!start) {
      start = ptx::nanoseconds();
      evt_status *s = launch->status + id;
      s->event = event;
      s->element = element;
      s->count = count;
      ptx::store_release(&s->state, (std::uint32_t)EVT_WAITING);
    } else if (launch->limit_ns && ptx::nanoseconds() - start > launch->limit_ns) {
      atomicCAS(launch->abort, (std::uint32_t)EVT_ABORT_NONE, EVT_ABORT_LIMIT);
      return false; // the status keeps telling what it waited for
    }
  }
  if (start)
    ptx::store_release(&launch->status[id].state, (std::uint32_t)EVT_RUNNING);
  return true;
}

} // namespace detail

struct TileRing;
struct Ring;

class Worker {
public:
  __device__ Worker(const evt_cuda_launch *launch, Control *control, BlockState *block, char *tiles, Notification *room)
      : launch(launch), control(control), block(block), id(blockIdx.x),
        workers(launch->workers), collected{room, 0}, tasks{ptx::barriers_at(block->full),
                                                            ptx::barriers_at(block->empty),
                                                            ptx::barriers_at(block->begun),
                                                            ptx::barriers_at(block->fed),
                                                            ptx::barriers_at(block->done)},
        tiles(tiles) {}

  const evt_cuda_launch *const launch;
  Control *const control;
  BlockState *const block;
  const std::uint32_t id, workers;
  Collected collected;
  TaskRing<ptx::Sync, BlockState::slots> tasks;
  TileRing *tile_ring = nullptr; // of compute
  // Of compute, while it runs a task that is fed through the ring of weights: how many stages, where they begin, and
  // what else is to be known of the ring.
  int fed_stages = 0;
  Cursor fed_from;
  const Ring *ring = nullptr;

  /// Control: whether tasks of a call are in this launch.
  __device__ __forceinline__ bool runs(std::int32_t call, std::int64_t iteration = -1) const {
    return block->part.has(call, (std::int32_t)iteration);
  }

  __device__ bool aborted() const { return ptx::load_relaxed(launch->abort) != EVT_ABORT_NONE; }

  /// Whether the launch is traced. One whose kernel was compiled with EVT_NO_TRACE never is: that is how the cost of
  /// asking is measured.
  __device__ __forceinline__ bool traced() const {
#ifdef EVT_NO_TRACE
    return false;
#else
    return launch->trace;
#endif
  }

  __device__ void fail(std::uint32_t why, std::int64_t a, std::int64_t b, std::int64_t c) const {
    detail::fail(launch, control, why, a, b, c);
  }

  //===-- events: one thread at a time --------------------------------------------------------------------------===//

  /// Compute, the leading thread: blocks until the element has received `count` notifications; false when the launch
  /// was aborted. What a compute thread has seen complete stays so for all of them, and is not asked for again: asking
  /// takes as long as a small task.
  __device__ bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    if (has_seen(event, counters, element))
      return true;
    if (ptx::load_acquire(&counters[element].value) < count &&
        !detail::block_until(launch, id, event, &counters[element].value, element, count))
      return false;
    remember(event, counters, element);
    return true;
  }
  /// The same for compute threads that wait beside each other, and then meet.
  __device__ __forceinline__ bool wait_beside(std::uint32_t event, const Counter *counters, std::int64_t element,
                                              std::uint32_t count) const {
    if (has_seen(event, counters, element))
      return true;
    if (!await_beside(event, counters, element, count))
      return false;
    remember(event, counters, element);
    return true;
  }
  /// The same for control, which remembers nothing.
  __device__ bool await(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    return ptx::load_acquire(&counters[element].value) >= count ||
           detail::block_until(launch, id, event, &counters[element].value, element, count);
  }
  /// The same without remembering: one of them reports. A hint orders nothing, so it need not be acquired.
  template <bool IsHint = false>
  __device__ __forceinline__ bool await_beside(std::uint32_t event, const Counter *counters, std::int64_t element,
                                               std::uint32_t count) const {
    const std::uint32_t *counter = &counters[element].value;
    const auto value = [=] { return IsHint ? ptx::load_relaxed(counter) : ptx::load_acquire(counter); };
    for (std::uint32_t spin = 1; value() < count; ++spin) {
      if (spin % 256)
        continue;
      if (aborted())
        return false;
      if (atomicExch(&block->reports, 1u))
        continue;
      const bool passed = detail::block_until(launch, id, event, &counters[element].value, element, count);
      atomicExch(&block->reports, 0u);
      return passed;
    }
    return true;
  }
  /// Elements that compute has seen complete, two of an event.
  __device__ __forceinline__ static std::uint32_t name_of(const Counter *counters, std::int64_t element) {
    return (std::uint32_t)(reinterpret_cast<std::uintptr_t>(counters + element) / sizeof(Counter)); // never 0
  }
  __device__ __forceinline__ volatile std::uint32_t &seen_of(std::uint32_t event, std::int64_t element) const {
    return block->seen[event % BlockState::remembered][element / 4 % 2];
  }
  __device__ __forceinline__ bool has_seen(std::uint32_t event, const Counter *counters, std::int64_t element) const {
    return seen_of(event, element) == name_of(counters, element);
  }
  __device__ __forceinline__ void remember(std::uint32_t event, const Counter *counters, std::int64_t element) const {
    seen_of(event, element) = name_of(counters, element);
  }
  /// Adds one notification and returns how many the element has now.
  __device__ static std::uint32_t arrive(Counter *counter, std::uint32_t n = 1) {
    return ptx::add_acq_rel(&counter->value, n) + n;
  }
  /// Adds one notification to a counter whose count is proved: nobody needs to know the sum.
  __device__ static void signal(Counter *counter) { ptx::reduce_release(&counter->value, 1); }
  /// An epilogue warp, one lane: adds it later, with all others of that counter that come one after the other.
  __device__ __forceinline__ void owe(Counter *counter) {
    Owed &owed = block->owed[threadIdx.x / 32 % epilogue_warps];
    if (owed.counter != counter)
      settle();
    owed.counter = counter;
    ++owed.count;
  }
  __device__ __forceinline__ void settle() {
    Owed &owed = block->owed[threadIdx.x / 32 % epilogue_warps];
    if (owed.count)
      ptx::reduce_release(&owed.counter->value, owed.count);
    owed.count = 0;
  }
  /// Tells early readers when to look. Orders nothing.
  __device__ static void hint(Counter *counter) { ptx::reduce_relaxed(&counter->value, 1); }
  __device__ void notifies(std::uint32_t, std::int64_t) const {}
  __device__ bool injected(std::uint32_t call, std::int64_t task) const {
    return launch->inject_call == (std::int64_t)call && launch->inject_task == task;
  }

  //===-- control: a warp runs the schedule ---------------------------------------------------------------------===//

  /// The next number of the ticket schedule. Numbers are taken ahead (`Ahead` of them besides those handed over), since
  /// one takes as long to come back as many a task takes to run; those left over at the end belong to nobody.
  template <int Ahead> __device__ __forceinline__ std::int64_t take_ticket() {
    static_assert(0 <= Ahead && Ahead <= most_tickets);
    const auto take = [&] { return threadIdx.x % 32 == 0 ? ptx::add_relaxed(&control->ticket, 1) : 0; };
    if constexpr (Ahead == 0)
      return (std::int64_t)__shfl_sync(~0u, take(), 0);
    if (!has_tickets) {
      has_tickets = true;
#pragma unroll
      for (int i = 0; i < Ahead; ++i)
        ticket[i] = take();
    }
    const std::uint64_t number = ticket[0];
#pragma unroll
    for (int i = 1; i < Ahead; ++i)
      ticket[i - 1] = ticket[i];
    ticket[Ahead ? Ahead - 1 : 0] = take();
    return (std::int64_t)__shfl_sync(~0u, number, 0);
  }
  __device__ void decodes(std::uint32_t) const {}

  /// Gives a task to the compute warps; false when the launch was aborted.
  template <class... Coords> __device__ bool hand_over(std::uint32_t call, std::int64_t index, Coords... coords) {
    return hand_over_fed(Feed{}, call, index, coords...);
  }
  template <class... Coords>
  __device__ bool hand_over_fed(const Feed &feed, std::uint32_t call, std::int64_t index, Coords... coords) {
    tasks.enter(tasks.begun, ahead_of_compute);
    __syncwarp(); // a lane that has not looked yet would wait for the round after this one
    if (threadIdx.x % 32 == 0) {
      Task &task = describe(call, index, coords...);
      task.shape = 0;
      task.feed = feed;
      tasks.hand_over();
    }
    stages_since = 0;
    return leave();
  }
  /// The same for a task that streams `Steps` times a stage from each of `from`, which the kernel keeps for its slot.
  /// Tasks with the same number `rows_of` and the same coordinates `rows` multiply the same rows.
  template <int Steps, int Streams, int N, class... Coords>
  __device__ __forceinline__ bool hand_over_stream(std::uint32_t call, std::int64_t index, std::uint32_t shape,
                                                   const char *const (&from)[Streams], std::uint32_t stage_bytes,
                                                   std::uint32_t rows_of, bool always, const std::int64_t (&rows)[N],
                                                   Coords... coords) {
    tasks.enter(tasks.fed, ahead_of_loader);
    __syncwarp();
    key.follow(rows_of, rows, always);
    if (threadIdx.x % 32 == 0) {
      Task &task = describe(call, index, coords...);
      task.shape = shape;
      task.key = key.number;
      task.steps = Steps;
      task.streams = Streams;
      task.stage_bytes = stage_bytes;
      task.finisher = (std::uint32_t)turn;
      task.is_calm = stages_since < calm_stages;
#pragma unroll
      for (int f = 0; f < Streams; ++f)
        feeds[tasks.at.slot * feeds_each + f] = from[f];
      tasks.hand_over();
    }
    turn = (turn + 1) % epilogue_warps;
    stages_since += Steps * Streams;
    return leave();
  }
  /// The same for a task on tiles. Unless `at_once`, control goes on when the loaders have issued its copies: what it
  /// takes early, another block cannot have.
  template <class... Coords>
  __device__ __forceinline__ bool hand_over_tiles(bool at_once, std::uint32_t call, std::int64_t index,
                                                  Coords... coords) {
    tasks.enter(tasks.fed, ahead_of_tiles);
    __syncwarp();
    const Cursor place = tasks.at;
    if (threadIdx.x % 32 == 0) {
      describe(call, index, coords...).shape = 0;
      tasks.hand_over();
    }
    const bool goes_on = leave();
    if (goes_on && !at_once)
      ptx::barrier_wait(tasks.fed[place.slot], place.round);
    return goes_on;
  }
  int stages_since = 0, calm_stages = 0; // control: since the last task that does not stream; how many the ring has
  int turn = 0;                          // control: the epilogue warp that ends the next task

  __device__ void end_of_tasks() { hand_over(Task::none, 0); }

  //===-- every role that walks the tasks -----------------------------------------------------------------------===//

  /// The next task, once it is there; the same again.
  __device__ __forceinline__ Task &next_task() {
    tasks.await();
    return task();
  }
  __device__ __forceinline__ Task &task() const { return block->tasks[tasks.at.slot]; }

  //===-- compute: runs tasks -----------------------------------------------------------------------------------===//

  __device__ bool leads() const { return ptx::thread() == 0; }
  __device__ static int lane() { return ptx::thread(); }
  __device__ static int kept_lane() { return ptx::kept_thread(); } // all lanes of a warp
  __device__ static constexpr int lanes() { return compute_threads; }
  /// The compute warps meet: what one wrote to shared memory, the others see.
  __device__ static void sync() { ptx::meet(compute_barrier, compute_threads); }
  /// True for all when `mine` holds for any.
  __device__ static bool any(bool mine) { return ptx::meet_any(compute_barrier, compute_threads, mine); }
  /// A tile's place in shared memory.
  template <class T> __device__ T *tile(int offset) const { return reinterpret_cast<T *>(tiles + offset); }

  /// By the thread that leads: before the task's waits, after them (but for those that a loader passes along K, which
  /// the trace has as a part of the task), and after its notifies.
  __device__ void begin() {
    Task &task = block->tasks[tasks.at.slot];
    if (traced())
      task.taken = ptx::nanoseconds();
    evt_status *s = launch->status + id;
    s->call = task.call;
    s->task = task.index;
  }
  __device__ void passed() {
    if (traced())
      block->tasks[tasks.at.slot].started = ptx::nanoseconds();
  }
  __device__ void end(std::uint32_t call, std::int64_t task, std::int64_t number, bool notified, std::uint64_t from,
                      std::uint64_t ready) {
    if (launch->done && notified)
      launch->done[number] = 1;
    atomicAdd((unsigned long long *)&launch->status[id].finished, 1ull);
    if (traced()) {
      const std::uint32_t n = atomicAdd(&block->records, 1u);
      if (n < launch->trace_records)
        launch->trace[(std::size_t)id * launch->trace_records + n] = {call, id, task, from, ready, ptx::nanoseconds()};
    }
  }

  //===-- the end -----------------------------------------------------------------------------------------------===//

  /// By the threads of compute: sets memory to zero for the next launch. Of many small ones, each warp has its own:
  /// everybody waits for that, and its code is in no cache.
  template <class T> __device__ __forceinline__ static void clear(int number, T *memory, std::int64_t bytes) {
    constexpr std::int64_t few = 16384; // bytes that a warp clears in 128 rounds
    const bool is_large = bytes > few;
    if (is_large || threadIdx.x / 32 == (unsigned)number % compute_warps)
      detail::clear(reinterpret_cast<std::uint32_t *>(memory), (std::uint32_t)(bytes / 4),
                    is_large ? threadIdx.x : threadIdx.x % 32, is_large ? compute_threads : 32);
  }

private:
  template <class... Coords>
  __device__ __forceinline__ Task &describe(std::uint32_t call, std::int64_t index, Coords... coords) {
    static_assert(sizeof...(Coords) <= Task::max_coords);
    Task &task = block->tasks[tasks.at.slot];
    task.call = call;
    task.skipped = 0;
    task.index = index;
    [[maybe_unused]] int d = 0;
    ((task.coord[d++] = (std::int32_t)coords), ...);
    return task;
  }
  __device__ __forceinline__ bool leave() {
    bool goes_on = !*(volatile std::uint32_t *)&block->dead;
    if (tasks.step()) // not for every task: asking takes as long as a small one
      goes_on &= !aborted();
    return __shfl_sync(~0u, goes_on, 0); // all lanes or none
  }

  char *const tiles;
  static constexpr int ahead_of_compute = 4, ahead_of_loader = 3, ahead_of_tiles = 2;
  Key key; // of control
  static constexpr int most_tickets = 2;
  std::uint64_t ticket[most_tickets];
  bool has_tickets = false;

public:
  const char **feeds = nullptr; // where the loader finds a task's weights: [slot][feeds_each]
  int feeds_each = 0;
};

/// A half-open range of linear task indices.
struct Range {
  std::int64_t begin, end;
};

/// Static schedule: the contiguous share of `n` tasks that worker `id` of `workers` runs.
__device__ inline Range share(std::int64_t n, std::uint32_t id, std::uint32_t workers) {
  return {n * id / workers, n * (id + 1) / workers};
}

/// Ticket schedule: tasks that form a chain (width 1) gain nothing from being spread, others go one by one.
__device__ inline std::int64_t tasks_per_ticket(std::int64_t n, std::int64_t width, std::uint32_t) {
  return width <= 1 ? most(n, 1) : 1;
}

} // namespace evt
