// The dynamic schedule: tasks are handed out when the last event they wait for completes, so a task never blocks.
//
// Each worker keeps what it made ready in a private stack (last in, first out: its operands are still in cache). Only
// when another worker is hungry, or the stack is full, does work move to the queue all workers share, oldest first. An
// entry is a range of tasks of one call, so a call without waits is one entry however many tasks it has.
//
// Bounds. An entry holds at least one task that is ready and not yet run, and no task is in two entries, so the shared
// queue never holds more entries than the launch has tasks: with that capacity it cannot overflow, whatever the shape.
//
// The end. Workers count the tasks they finish privately and add the sum to a shared counter when they run out of
// work; the launch is over when the counter has reached the number of tasks. A task is counted after its notifies, and
// so after whatever it made ready was pushed.
#pragma once

#include "device/cpu/worker.h"

namespace evt {

/// A ready range of tasks of one call, by linear index.
struct Entry {
  std::int64_t begin;
  std::uint32_t call;
  std::uint32_t count;
};

/// A slot of the shared queue. `turn` tells whose turn it is: 2 * lap for a writer, 2 * lap + 1 for a reader.
struct Slot {
  std::atomic<std::uint64_t> turn;
  Entry entry;
};
static_assert(sizeof(Slot) == 24);

class DynamicWorker : public Worker {
public:
  DynamicWorker(const evt_launch *launch, std::uint32_t id, Control *control, Slot *slots, std::int64_t capacity,
                std::int64_t total)
      : Worker(launch, id, control), slots(slots), capacity((std::uint64_t)most(capacity, 1)), total(total) {}

  /// Makes tasks ready. Called by whoever completed the last event they wait for.
  void push(std::uint32_t call, std::int64_t begin, std::int64_t count = 1) {
    while (count > 0) {
      std::uint32_t part = (std::uint32_t)least(count, 1 << 30);
      Entry &top = stack[depth ? depth - 1 : 0];
      if (depth > 0 && top.call == call && top.begin + top.count == begin && top.count + part <= 1u << 30) {
        top.count += part; // neighbours made ready one after the other are one entry
      } else {
        if (depth == stack_capacity)
          spill(stack_capacity / 2);
        stack[depth++] = {begin, call, part};
      }
      begin += part;
      count -= part;
    }
    if (depth > 1 && control->hungry.load(std::memory_order_relaxed)) [[unlikely]]
      share_work();
  }

  /// After the launch, by the last worker to leave: the slots that were used, ready for the next launch.
  void reset_queue() {
    std::uint64_t used = control->tail.load(std::memory_order_relaxed);
    for (std::uint64_t i = 0; i < used && i < capacity; ++i)
      slots[i].turn.store(0, std::memory_order_relaxed);
  }

  /// Counts tasks of a ragged grid that turned out not to exist.
  void absent(std::int64_t tasks) { finished += tasks; }

  /// Runs until the launch is over. `run(call, task)` executes one task.
  template <class Run> void work(Run &&run) {
    while (!aborted()) {
      if (depth == 0 && !refill())
        return;
      Entry &top = stack[depth - 1];
      std::uint32_t call = top.call;
      std::int64_t task = top.begin;
      if (top.count == 1) {
        --depth;
      } else {
        ++top.begin;
        --top.count;
        if (control->hungry.load(std::memory_order_relaxed)) [[unlikely]]
          share_work();
      }
      run(call, task);
      ++finished;
    }
  }

private:
  static constexpr int stack_capacity = 256;
  /// Pauses, a microsecond or two, before a worker asks for others' work: handing over costs as much as dozens of
  /// small tasks, so it must not happen at every gap; beside tasks that are worth sharing the delay is nothing.
  static constexpr int patience = 100;

  void enqueue(const Entry &entry) {
    std::uint64_t at = control->tail.fetch_add(1, std::memory_order_relaxed);
    Slot &slot = slots[at % capacity];
    std::uint64_t turn = at / capacity * 2;
    while (slot.turn.load(std::memory_order_acquire) != turn) // its last reader is still copying
      pause();
    slot.entry = entry;
    slot.turn.store(turn + 1, std::memory_order_release);
  }

  bool dequeue(Entry &entry) {
    std::uint64_t at = control->head.load(std::memory_order_relaxed);
    while (true) {
      Slot &slot = slots[at % capacity];
      std::uint64_t turn = at / capacity * 2;
      if (slot.turn.load(std::memory_order_acquire) != turn + 1) {
        std::uint64_t now = control->head.load(std::memory_order_relaxed);
        if (now == at)
          return false;
        at = now;
        continue;
      }
      if (control->head.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
        entry = slot.entry;
        slot.turn.store(turn + 2, std::memory_order_release);
        return true;
      }
    }
  }

  /// Moves the `n` oldest entries to the shared queue.
  void spill(int n) {
    for (int i = 0; i < n; ++i)
      enqueue(stack[i]);
    std::memmove(stack, stack + n, (depth - n) * sizeof(Entry));
    depth -= n;
  }

  /// Gives a hungry worker half of what is here.
  [[gnu::noinline]] void share_work() {
    if (control->head.load(std::memory_order_relaxed) != control->tail.load(std::memory_order_relaxed))
      return; // there is something to take already
    if (depth > 1) {
      spill(depth / 2);
    } else if (stack[0].count > 1) {
      Entry &e = stack[0];
      std::uint32_t half = e.count / 2;
      enqueue({e.begin + (e.count - half), e.call, half});
      e.count -= half;
    }
  }

  /// Takes an entry from the shared queue; false when the launch is over.
  [[gnu::noinline]] bool refill() {
    Entry entry;
    if (aborted())
      return false;
    if (!dequeue(entry)) {
      control->finished.fetch_add(finished, std::memory_order_acq_rel);
      finished = 0;
      __atomic_store_n(&status->state, (std::uint32_t)EVT_IDLE, __ATOMIC_RELEASE);
      bool found = false, over = false;
      for (int spin = 0; !found && !over; ++spin) {
        if (spin == patience)
          control->hungry.fetch_add(1, std::memory_order_relaxed);
        if (spin < 2 * patience)
          pause();
        else
          sched_yield();
        found = dequeue(entry);
        over = !found && (control->finished.load(std::memory_order_acquire) == total || aborted());
        if (spin >= patience && (found || over))
          control->hungry.fetch_sub(1, std::memory_order_relaxed);
      }
      __atomic_store_n(&status->state, (std::uint32_t)EVT_RUNNING, __ATOMIC_RELEASE);
      if (over)
        return false;
    }
    stack[depth++] = entry;
    return true;
  }

  Slot *const slots;
  const std::uint64_t capacity;
  const std::int64_t total;
  std::int64_t finished = 0;
  int depth = 0;
  Entry stack[stack_capacity + 1];
};

} // namespace evt
