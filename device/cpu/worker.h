// A worker: one thread of the persistent kernel, the CPU's stand-in for an SM.
//
// Counters are 32-bit and zero between launches. Notifying is a fetch-add with release and acquire meaning, waiting a
// loop of acquire loads: what a task did before it notified is visible to every task whose wait that satisfied, and,
// because a notifier acquires what earlier notifiers of the element released, transitively along chains.
//
// A blocked worker spins briefly, then yields the core (there may be more workers than cores), publishes what it waits
// for in its status, and leaves when the launch is aborted.
#pragma once

#include "device/common/abi.h"
#include "device/common/scalar.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <sched.h>
#include <vector>

namespace evt {

using Counter = std::atomic<std::uint32_t>;
static_assert(sizeof(Counter) == 4 && Counter::is_always_lock_free);

/// What the workers of a launch share besides events. Lives in the region of kind "control".
struct Control {
  alignas(64) std::atomic<std::int64_t> ticket;   // next number of the ticket schedule
  alignas(64) std::atomic<std::int64_t> finished; // dynamic: tasks reported finished
  alignas(64) std::atomic<std::uint32_t> hungry;  // dynamic: workers that found nothing to do
  alignas(64) std::atomic<std::uint32_t> left;    // workers that are through
  alignas(64) std::atomic<std::uint64_t> head;    // dynamic: the shared queue's ends
  alignas(64) std::atomic<std::uint64_t> tail;
};
inline constexpr std::size_t control_bytes = 512;
static_assert(sizeof(Control) <= control_bytes);

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

/// A notify whose element was read from a table, kept until the task has read all it needs.
struct Notification {
  std::uint32_t event;
  std::int64_t at[8];
};

class Worker {
public:
  Worker(const evt_launch *launch, std::uint32_t id, Control *control)
      : launch(launch), hooks(launch->hooks), status(launch->status + id), control(control), id(id),
        workers(launch->workers), random(launch->perturb ? launch->perturb * 0x9E3779B97F4A7C15ull + id + 1 : 0) {
    division_watch = {this, [](void *user) {
                        Worker &w = *static_cast<Worker *>(user);
                        w.fail(EVT_ABORT_DIVISION, w.status->call, w.status->task, 0);
                      }};
  }
  ~Worker() { division_watch = {}; }
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  const evt_launch *const launch;
  const evt_hooks *const hooks;
  evt_status *const status;
  Control *const control;
  const std::uint32_t id, workers;
  std::vector<Notification> collected; // by the task that is running

  //===-- a foreign device function, as on a GPU: there a task has many threads, here one -----------------------===//

  static constexpr int lane() { return 0; }
  static constexpr int lanes() { return 1; }
  static void sync() {}
  /// A place in the memory that the function asked for with shared(…); aligned as its offset, up to 128.
  template <class T> T *tile(int offset) const { return reinterpret_cast<T *>(tiles + offset); }
  char *tiles = nullptr; // of the task that is running

  void *roles = nullptr; // the kernel's Roles (device/cpu/roles.h), if functions of it have any

  bool aborted() const { return __atomic_load_n(launch->abort, __ATOMIC_RELAXED) != EVT_ABORT_NONE; }

  /// Reports a fault of the program. The first one wins; every worker leaves at its next wait or task.
  [[gnu::cold, gnu::noinline]] void fail(evt_abort why, std::int64_t a, std::int64_t b, std::int64_t c) {
    static std::atomic_flag reporting = ATOMIC_FLAG_INIT;
    while (reporting.test_and_set(std::memory_order_acquire))
      pause();
    if (!aborted()) {
      *launch->fault = {a, b, c};
      __atomic_store_n(launch->abort, (std::uint32_t)why, __ATOMIC_RELEASE);
    }
    reporting.clear(std::memory_order_release);
  }

  /// Blocks until the element has received `count` notifications; false when the launch was aborted. More of them are a
  /// fault, which nobody else notices where the count was not known to the notifiers: it is read from memory after a
  /// guard.
  bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    if (hooks) [[unlikely]]
      hooks->wait_begin(hooks->user, id, event, element, count);
    bool passed = counters[element].load(std::memory_order_acquire) >= count;
    if (!passed)
      passed = block(event, counters + element, element, count);
    if (hooks) [[unlikely]]
      hooks->wait_end(hooks->user, id);
    if (passed && counters[element].load(std::memory_order_relaxed) > count) [[unlikely]] {
      fail(EVT_ABORT_OVERRUN, event, element, count);
      return false;
    }
    return passed;
  }

  /// The same without telling the observer: a wait of the schedule itself, not of a task.
  bool await(std::uint32_t event, const Counter *counters, std::int64_t element, std::uint32_t count) {
    return counters[element].load(std::memory_order_acquire) >= count ||
           block(event, counters + element, element, count);
  }

  /// Adds one notification and returns how many the element has now.
  static std::uint32_t arrive(Counter *counter, std::uint32_t n = 1) {
    return counter->fetch_add(n, std::memory_order_acq_rel) + n;
  }

  /// Tells the observer.
  void notifies(std::uint32_t event, std::int64_t element) const {
    if (hooks) [[unlikely]]
      hooks->notify(hooks->user, id, event, element);
  }

  /// The next number of the ticket schedule.
  std::int64_t take_ticket() { return control->ticket.fetch_add(1, std::memory_order_relaxed); }

  /// The schedule is about to wait for the guard of a ragged call: no task of it is known yet.
  void decodes(std::uint32_t call) {
    status->call = call;
    status->task = -1;
  }

  /// Sets memory of the workspace to zero for the next launch. Which one it is says who does that on a GPU.
  static void clear(int, void *memory, std::int64_t bytes) { std::memset(memory, 0, (std::size_t)bytes); }

  bool begin(std::uint32_t call, std::int64_t task, const std::int64_t *coord, std::uint32_t rank) {
    status->call = call;
    status->task = task;
    if (random) [[unlikely]]
      stall();
    if (hooks) [[unlikely]]
      hooks->task_begin(hooks->user, id, call, task, coord, rank);
    return !aborted();
  }

  /// After the task's notifies. `number` is its place in the launch's `done` bytes.
  void end(std::int64_t number, bool notified) {
    if (launch->done && notified)
      __atomic_store_n(launch->done + number, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&status->finished, status->finished + 1, __ATOMIC_RELAXED);
    if (hooks) [[unlikely]]
      hooks->task_end(hooks->user, id);
  }

  /// Fault injection: true for the one task whose notifies are dropped.
  bool injected(std::uint32_t call, std::int64_t task) const {
    return launch->inject_call == (std::int64_t)call && launch->inject_task == task;
  }

  /// Schedule fuzzing: a random delay, of nothing, some spinning or giving up the core.
  [[gnu::cold, gnu::noinline]] void stall() {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    if (random % 8 == 0)
      sched_yield();
    else if (random % 8 == 1)
      for (std::uint64_t i = random >> 54; i; --i)
        pause();
  }

private:
  [[gnu::noinline]] bool block(std::uint32_t event, const Counter *counter, std::int64_t element, std::uint32_t count) {
    for (int spin = 0; spin < 200; ++spin) {
      pause();
      if (counter->load(std::memory_order_acquire) >= count)
        return true;
    }
    status->event = event;
    status->element = element;
    status->count = count;
    __atomic_store_n(&status->state, (std::uint32_t)EVT_WAITING, __ATOMIC_RELEASE);
    bool passed;
    while (!(passed = counter->load(std::memory_order_acquire) >= count) && !aborted())
      sched_yield();
    __atomic_store_n(&status->state, (std::uint32_t)EVT_RUNNING, __ATOMIC_RELEASE);
    return passed;
  }

  std::uint64_t random;
};

/// A half-open range of linear task indices.
struct Range {
  std::int64_t begin, end;
};

/// Static schedule: the contiguous share of `n` tasks that worker `id` of `workers` runs.
inline Range share(std::int64_t n, std::uint32_t id, std::uint32_t workers) {
  return {(std::int64_t)((__int128)n * id / workers), (std::int64_t)((__int128)n * (id + 1) / workers)};
}

/// Ticket schedule: tasks per ticket of a call with `n` tasks of which `width` may run at the same time. Small enough
/// that the last tickets balance, large enough that taking one costs little beside the tasks. Tasks that form a chain
/// (width 1) gain nothing from being spread: they are one ticket.
inline std::int64_t tasks_per_ticket(std::int64_t n, std::int64_t width, std::uint32_t workers) {
  if (width <= 1)
    return most(n, 1);
  return least(most(width / ((std::int64_t)workers * 8), 1), 64);
}

} // namespace evt
