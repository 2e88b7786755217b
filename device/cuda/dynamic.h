// The dynamic schedule: tasks are handed out when the last event they wait for completes, so a task never blocks.
//
// Ready tasks are ranges in one list that all blocks share and that only grows during a launch. The thread that
// completed an event reserves places at its end, cuts the range so that every block can have a part, and publishes the
// parts. The control warp of a block takes a number and waits until the entry of that number is published; then it
// hands its tasks over. Taking and pushing are one addition each, whoever else is at it.
//
// An entry holds at least one task and no task is in two, so there are never more entries than tasks: the list has a
// place for each task of the launch and cannot overflow. The launch is over when as many tasks have finished as there
// are.
#pragma once

#include "device/cuda/worker.h"

namespace evt {

/// A ready range of tasks of one call, by linear index.
struct Entry {
  std::int64_t begin;
  std::uint32_t call;
  std::uint32_t count;
};

/// A place of the list; `published` turns 1 when the entry may be read.
struct Slot {
  std::uint64_t published;
  Entry entry;
};
static_assert(sizeof(Slot) == 24);

class DynamicWorker : public Worker {
public:
  __device__ DynamicWorker(const evt_cuda_launch *launch, Control *control, BlockState *block, char *tiles,
                           Notification *room, Slot *slots, std::int64_t total)
      : Worker(launch, control, block, tiles, room), slots(slots), capacity((std::uint64_t)most(total, 1)),
        total((std::uint64_t)total) {}

  /// Makes tasks ready; neighbours become one entry. `flush` publishes the last one.
  __device__ void push(std::uint32_t call, std::int64_t begin, std::int64_t count = 1) {
    while (count > 0) {
      std::uint32_t part = (std::uint32_t)least(count, 1 << 30);
      if (pending.count && pending.call == call && pending.begin + pending.count == begin &&
          pending.count + part <= 1u << 30) {
        pending.count += part;
      } else {
        flush();
        pending = {begin, call, part};
      }
      begin += part;
      count -= part;
    }
  }
  __device__ void flush() {
    if (pending.count)
      publish(pending);
    pending.count = 0;
  }

  /// Counts tasks as finished: one that ran, or those of a ragged grid that turned out not to exist.
  __device__ void absent(std::int64_t tasks) {
    if (threadIdx.x % 32 == 0) // control is a warp, and others count with their first lane
      ptx::reduce_relaxed(&control->finished, (std::uint64_t)tasks);
  }
  __device__ void finished() { absent(1); }

  /// By one thread, when everything a task stored is there for all: its notifies, and the account of it.
  template <bool Dynamic, class Notifies>
  __device__ __forceinline__ void close(std::uint32_t call, std::int64_t task, std::int64_t number, std::uint64_t from,
                                        std::uint64_t ready, Notifies notifies) {
    const bool notified = !injected(call, task);
    if (notified)
      notifies();
    end(call, task, number, notified, from, ready);
    if constexpr (Dynamic) {
      flush();
      finished();
    }
  }

  /// Control: hands tasks out until the launch is over. `run(call, task)` hands over one.
  template <class Run> __device__ void work(Run &&run) {
    flush();
    while (true) {
      std::uint64_t number = 0;
      if (threadIdx.x % 32 == 0)
        number = ptx::add_relaxed(&control->head, 1);
      number = __shfl_sync(~0u, number, 0);
      if (number >= capacity)
        return; // more numbers than there can be entries
      Slot &slot = slots[number];
      for (std::uint32_t spin = 1; !ptx::load_acquire(&slot.published); ++spin)
        if (spin % 16 == 0 && (ptx::load_relaxed(&control->finished) == total || aborted()))
          return;
      const Entry entry = slot.entry;
      for (std::uint32_t i = 0; i < entry.count; ++i)
        run(entry.call, entry.begin + i);
    }
  }

  /// After the launch, by the threads of compute of the last block to leave: the places that were used.
  __device__ void reset_queue() {
    const std::uint64_t used = control->tail;
    for (std::uint64_t i = threadIdx.x; i < used && i < capacity; i += compute_threads)
      slots[i].published = 0;
  }

private:
  __device__ void publish(const Entry &range) {
    if (threadIdx.x % 32)
      return;
    const std::uint32_t each = (range.count + workers - 1) / workers, parts = (range.count + each - 1) / each;
    const std::uint64_t first = ptx::add_relaxed(&control->tail, parts);
    for (std::uint32_t p = 0; p < parts; ++p) {
      const std::uint32_t begin = p * each;
      slots[first + p].entry = {range.begin + begin, range.call,
                                range.count - begin < each ? range.count - begin : each};
    }
    __threadfence(); // one fence for all parts
    for (std::uint32_t p = 0; p < parts; ++p)
      ptx::store_relaxed(&slots[first + p].published, 1);
  }

  Slot *const slots;
  const std::uint64_t capacity, total;
  Entry pending{0, 0, 0};
};

} // namespace evt
