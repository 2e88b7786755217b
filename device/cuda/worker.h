// A worker: one block of the persistent kernel, which has an SM to itself.
//
// Its warps have roles. One warp, the *control* role, runs the schedule, all lanes alike: it decides which task comes
// next and hands it over through a small ring in shared memory, so that it is a few tasks ahead (tickets are taken, and
// ragged grids decoded, while earlier tasks still run). The *compute* warps take the tasks in that order: one thread of
// them passes the task's waits, all run its body, and one thread issues its notifies. A task that streams (stream.h)
// uses more: control is its loader, each lane a stage, and *epilogue* warps end what the compute warps multiplied.
//
// Counters are 32-bit and zero between launches. Publishing: every writer, a barrier of the compute warps, one thread's
// release. Reading: one thread's acquire, a barrier, then ordinary loads. A block that is told to abort drains its
// tasks without running them, so no role waits for another that has left.
#pragma once

#include "device/common/scalar.h"
#include "device/cuda/abi.h"
#include "device/cuda/ptx.h"

namespace evt {

/// A dependency counter.
struct Counter {
  std::uint32_t value;
};

/// What the workers of a launch share besides events. Lives in the region of kind "control"; each field on a line of
/// its own, since different workers hammer different fields.
struct Control {
  alignas(128) std::uint64_t ticket;   // next number of the ticket schedule
  alignas(128) std::uint64_t finished; // dynamic: tasks finished
  alignas(128) std::uint32_t left;     // workers that are through
  alignas(128) std::uint64_t head;     // dynamic: the queue's ends
  alignas(128) std::uint64_t tail;
  alignas(128) std::uint32_t reporting; // a worker is filling in the fault
};
inline constexpr std::size_t control_bytes = 768;
static_assert(sizeof(Control) <= control_bytes);

/// A task on its way from control to compute.
struct Task {
  static constexpr std::uint32_t none = ~0u; // `call` after the last task
  static constexpr int max_coords = 8;
  std::uint32_t call;
  std::int64_t index;
  std::int64_t coord[max_coords]; // iterations, then grid coordinates
};

/// A notify whose element was read from a table, kept until the task has read all it needs.
struct Notification {
  std::uint32_t event;
  std::int64_t at[8];
};

inline constexpr int compute_warps = 8, compute_threads = compute_warps * 32;
inline constexpr int epilogue_warps = 3, epilogue_first = compute_threads + 32; // between them: control
inline constexpr int block_threads = epilogue_first + epilogue_warps * 32;
inline constexpr int compute_barrier = 1; // 0 is the whole block's

/// The part of a block's shared memory that is the same in every kernel.
struct BlockState {
  static constexpr int slots = 8; // tasks that control may be ahead
  std::uint64_t full[slots], empty[slots];
  Task tasks[slots];
  std::uint32_t last;    // this block was the last to leave
  std::uint32_t dead;    // compute runs no more tasks: the launch is being aborted
  std::uint32_t records; // of the trace
};

/// Notifies of the running task, in shared memory; only the thread that issues notifies uses them.
struct Collected {
  Notification *list;
  int count;
  __device__ void push_back(const Notification &n) { list[count++] = n; }
  __device__ const Notification *begin() const { return list; }
  __device__ const Notification *end() const { return list + count; }
  __device__ void clear() { count = 0; }
};

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

struct Ring;

class Worker {
public:
  __device__ Worker(const evt_cuda_launch *launch, Control *control, BlockState *block, char *tiles, Notification *room)
      : launch(launch), control(control), block(block), id(blockIdx.x), workers(launch->workers), collected{room, 0},
        full(ptx::barriers_at(block->full)), empty(ptx::barriers_at(block->empty)), tiles(tiles) {}

  const evt_cuda_launch *const launch;
  Control *const control;
  BlockState *const block;
  const std::uint32_t id, workers;
  Collected collected;
  Ring *ring = nullptr; // of control

  __device__ bool aborted() const { return ptx::load_relaxed(launch->abort) != EVT_ABORT_NONE; }

  __device__ void fail(std::uint32_t why, std::int64_t a, std::int64_t b, std::int64_t c) const {
    detail::fail(launch, control, why, a, b, c);
  }

  //===-- events: one thread at a time --------------------------------------------------------------------------===//

  /// Blocks until the element has received `count` notifications; false when the launch was aborted.
  __device__ bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    return ptx::load_acquire(&counters[element].value) >= count ||
           detail::block_until(launch, id, event, &counters[element].value, element, count);
  }
  __device__ bool await(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    return wait(event, counters, element, count);
  }
  /// Adds one notification and returns how many the element has now.
  __device__ static std::uint32_t arrive(Counter *counter, std::uint32_t n = 1) {
    return ptx::add_acq_rel(&counter->value, n) + n;
  }
  /// Adds one notification to a counter whose count is proved: nobody needs to know the sum.
  __device__ static void signal(Counter *counter) { ptx::reduce_release(&counter->value, 1); }
  __device__ void notifies(std::uint32_t, std::int64_t) const {}
  __device__ bool injected(std::uint32_t call, std::int64_t task) const {
    return launch->inject_call == (std::int64_t)call && launch->inject_task == task;
  }

  //===-- control: a warp runs the schedule ---------------------------------------------------------------------===//

  /// The next number of the ticket schedule. Numbers are taken ahead, since one takes as long to come back as many a
  /// task takes to run; those left over at the end belong to nobody.
  __device__ __forceinline__ std::int64_t take_ticket() {
    const bool asks = threadIdx.x % 32 == 0;
    if (!has_tickets) {
      has_tickets = true;
#pragma unroll
      for (int i = 0; i < tickets_ahead; ++i)
        ticket[i] = asks ? ptx::add_relaxed(&control->ticket, 1) : 0;
    }
    const std::uint64_t number = ticket[0];
#pragma unroll
    for (int i = 1; i < tickets_ahead; ++i)
      ticket[i - 1] = ticket[i];
    ticket[tickets_ahead - 1] = asks ? ptx::add_relaxed(&control->ticket, 1) : 0;
    return (std::int64_t)__shfl_sync(~0u, number, 0);
  }
  __device__ void decodes(std::uint32_t) const {}

  /// Gives a task to the compute warps; false when the launch was aborted.
  template <class... Coords> __device__ bool hand_over(std::uint32_t call, std::int64_t index, Coords... coords) {
    static_assert(sizeof...(Coords) <= Task::max_coords);
    int slot = next % BlockState::slots;
    ptx::barrier_wait(empty[slot], (next / BlockState::slots & 1) ^ 1);
    if (threadIdx.x % 32 == 0) {
      Task &task = block->tasks[slot];
      task.call = call;
      task.index = index;
      int d = 0;
      ((task.coord[d++] = coords), ...);
      ptx::barrier_arrive(full[slot]);
    }
    ++next;
    return !*(volatile std::uint32_t *)&block->dead;
  }
  __device__ void end_of_tasks() { hand_over(Task::none, 0); }

  //===-- compute: runs tasks -----------------------------------------------------------------------------------===//

  /// The next task, copied, so that its slot is free again.
  __device__ Task take() {
    int slot = next % BlockState::slots;
    ptx::barrier_wait(full[slot], next / BlockState::slots & 1);
    Task task = block->tasks[slot];
    __syncwarp();
    if (threadIdx.x % 32 == 0)
      ptx::barrier_arrive(empty[slot]);
    ++next;
    return task;
  }
  __device__ bool leads() const { return threadIdx.x == 0; }
  __device__ static int lane() { return (int)threadIdx.x; }
  __device__ static constexpr int lanes() { return compute_threads; }
  /// The compute warps meet: what one wrote to shared memory, the others see.
  __device__ static void sync() { ptx::meet(compute_barrier, compute_threads); }
  /// True for all when `mine` holds for any.
  __device__ static bool any(bool mine) { return ptx::meet_any(compute_barrier, compute_threads, mine); }
  /// A tile's place in shared memory.
  template <class T> __device__ T *tile(int offset) const { return reinterpret_cast<T *>(tiles + offset); }

  /// By the thread that leads, before the task's waits, after them, and after its notifies.
  __device__ void begin(std::uint32_t call, std::int64_t task) {
    if (launch->trace)
      taken = ptx::nanoseconds();
    evt_status *s = launch->status + id;
    s->call = call;
    s->task = task;
  }
  __device__ void passed() {
    if (launch->trace)
      started = ptx::nanoseconds();
  }
  __device__ void end(std::uint32_t call, std::int64_t task, std::int64_t number, bool notified) {
    end(call, task, number, notified, taken, started);
  }
  __device__ void end(std::uint32_t call, std::int64_t task, std::int64_t number, bool notified, std::uint64_t from,
                      std::uint64_t ready) {
    if (launch->done && notified)
      launch->done[number] = 1;
    atomicAdd((unsigned long long *)&launch->status[id].finished, 1ull);
    if (launch->trace) {
      const std::uint32_t n = atomicAdd(&block->records, 1u);
      if (n < launch->trace_records)
        launch->trace[(std::size_t)id * launch->trace_records + n] = {call, id, task, from, ready, ptx::nanoseconds()};
    }
  }

  //===-- the end -----------------------------------------------------------------------------------------------===//

  /// By every thread of the block: sets memory to zero for the next launch.
  template <class T> __device__ static void clear(T *memory, std::int64_t bytes) {
    std::uint32_t *words = reinterpret_cast<std::uint32_t *>(memory);
    for (std::int64_t i = threadIdx.x; i < bytes / 4; i += blockDim.x)
      words[i] = 0;
  }

private:
  const ptx::Barriers full, empty; // of the tasks
  char *const tiles;
  std::uint32_t next = 0; // tasks handed over or taken
  static constexpr int tickets_ahead = 3;
  std::uint64_t ticket[tickets_ahead];
  bool has_tickets = false;

public:
  std::uint64_t taken = 0, started = 0; // of the task that leads: for the trace
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
