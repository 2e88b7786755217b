// The dynamic schedule: tasks are handed out when the last event they wait for completes, so a task never blocks.
//
// Ready tasks are ranges in one queue that all blocks share. The thread that completed an event pushes; the control
// thread of whichever block is free pops, takes a part of the range that leaves enough for the others, and pushes the
// rest back. The queue has a slot for each task of the launch: an entry holds at least one task that is ready and not
// yet handed out, and no task is in two entries, so it cannot overflow. The launch is over when as many tasks have
// finished as there are.
#pragma once

#include "device/cuda/worker.h"

namespace evt {

/// A ready range of tasks of one call, by linear index.
struct Entry {
  std::int64_t begin;
  std::uint32_t call;
  std::uint32_t count;
};

/// A slot of the queue. `turn` tells whose turn it is: 2 * lap for a writer, 2 * lap + 1 for a reader.
struct Slot {
  std::uint64_t turn;
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
      enqueue(pending);
    pending.count = 0;
  }

  /// Counts tasks as finished: one that ran, or those of a ragged grid that turned out not to exist.
  __device__ void absent(std::int64_t tasks) { ptx::add_acq_rel(&control->finished, (std::uint64_t)tasks); }
  __device__ void finished() { ptx::add_acq_rel(&control->finished, 1ull); }

  /// Control: hands tasks out until the launch is over. `run(call, task)` hands over one.
  template <class Run> __device__ void work(Run &&run) {
    flush();
    for (std::uint32_t spin = 1;; ++spin) {
      Entry entry;
      if (!dequeue(entry)) {
        if (ptx::load_acquire(&control->finished) == total || (spin % 64 == 0 && aborted()))
          return;
        __nanosleep(50);
        continue;
      }
      std::uint32_t mine = entry.count / (2 * workers);
      mine = mine ? mine : 1;
      if (entry.count > mine)
        enqueue({entry.begin + mine, entry.call, entry.count - mine});
      for (std::uint32_t i = 0; i < mine; ++i)
        run(entry.call, entry.begin + i);
    }
  }

  /// After the launch, by every thread of the last block to leave: the slots that were used.
  __device__ void reset_queue() {
    std::uint64_t used = control->tail;
    for (std::uint64_t i = threadIdx.x; i < used && i < capacity; i += blockDim.x)
      slots[i].turn = 0;
  }

private:
  __device__ void enqueue(const Entry &entry) {
    std::uint64_t at = ptx::add_relaxed(&control->tail, 1);
    Slot &slot = slots[at % capacity];
    std::uint64_t turn = at / capacity * 2;
    while (ptx::load_acquire(&slot.turn) != turn) // its last reader is still copying
      ;
    slot.entry = entry;
    ptx::store_release(&slot.turn, turn + 1);
  }

  __device__ bool dequeue(Entry &entry) {
    std::uint64_t at = ptx::load_relaxed(&control->head);
    while (true) {
      Slot &slot = slots[at % capacity];
      std::uint64_t turn = at / capacity * 2;
      if (ptx::load_acquire(&slot.turn) != turn + 1) {
        std::uint64_t now = ptx::load_relaxed(&control->head);
        if (now == at)
          return false;
        at = now;
        continue;
      }
      std::uint64_t seen = atomicCAS((unsigned long long *)&control->head, (unsigned long long)at, at + 1);
      if (seen == at) {
        entry = slot.entry;
        ptx::store_release(&slot.turn, turn + 2);
        return true;
      }
      at = seen;
    }
  }

  Slot *const slots;
  const std::uint64_t capacity, total;
  Entry pending{0, 0, 0};
};

} // namespace evt
