// What the hand-written kernels of the runtime's tests share: one worker of a static schedule, against abi.h alone.
//
// A task is written once, as a function over a Worker; the worker either runs it or, to explain the graph, only reports
// its waits and notifies. Event k counts in region k; the region after the events counts the workers that have left,
// so that the last one zeroes all of them.
#ifndef EVT_RUNTIME_TESTDATA_HANDWRITTEN_H
#define EVT_RUNTIME_TESTDATA_HANDWRITTEN_H

#include "device/common/abi.h"

#include <chrono>
#include <cstring>
#include <sched.h>
#include <unistd.h>

namespace handwritten {

// A wait that lasts longer stops the launch with this code; 0 is never, which leaves stalls to the runtime's watchdog.
struct WaitLimit {
  uint64_t nanoseconds = 0;
  uint32_t code = 0;
};
static thread_local WaitLimit waitLimit; // static: an inline variable would keep the library from being unloaded

class Worker {
public:
  // With `explain`, hooks are its hooks and no body runs.
  Worker(const evt_launch &launch, uint32_t id, const evt_hooks *explain = nullptr)
      : launch_(launch), id_(id), explain_(explain), hooks_(explain ? explain : launch.hooks) {}

  bool runs() const { return !explain_; }
  bool aborted() const { return __atomic_load_n(launch_.abort, __ATOMIC_ACQUIRE) != EVT_ABORT_NONE; }

  // `flat` is the task's number call by call, the index of its done byte.
  void begin(uint32_t call, int64_t task, int64_t flat, const int64_t *coord, uint32_t rank) {
    call_ = call, task_ = task, flat_ = flat;
    if (hooks_)
      hooks_->task_begin(hooks_->user, id_, call, task, coord, rank);
    if (explain_)
      return;
    evt_status &status = launch_.status[id_];
    __atomic_store_n(&status.call, call, __ATOMIC_RELAXED);
    __atomic_store_n(&status.task, task, __ATOMIC_RELAXED);
    __atomic_store_n(&status.state, uint32_t(EVT_RUNNING), __ATOMIC_RELEASE);
    stall();
  }

  // False if the launch was aborted meanwhile.
  bool wait(uint32_t event, int64_t element, int64_t count) {
    if (hooks_)
      hooks_->wait_begin(hooks_->user, id_, event, element, count);
    if (!explain_ && !poll(event, element, count))
      return false;
    if (hooks_)
      hooks_->wait_end(hooks_->user, id_);
    return true;
  }

  void access(uint32_t memory, bool write, const int64_t *offset, const int64_t *size, uint32_t rank) {
    if (hooks_)
      hooks_->access(hooks_->user, id_, memory, write ? EVT_WRITE : EVT_READ, offset, size, rank);
  }

  void notify(uint32_t event, int64_t element) {
    if (hooks_)
      hooks_->notify(hooks_->user, id_, event, element);
    if (explain_ || injected())
      return;
    __atomic_fetch_add(counter(event, element), 1u, __ATOMIC_ACQ_REL);
  }

  void end() {
    if (hooks_)
      hooks_->task_end(hooks_->user, id_);
    if (explain_)
      return;
    if (launch_.done && !injected())
      __atomic_store_n(launch_.done + flat_, uint8_t(1), __ATOMIC_RELEASE);
    evt_status &status = launch_.status[id_];
    __atomic_store_n(&status.finished, status.finished + 1, __ATOMIC_RELAXED);
  }

  // `bytes[r]` is the size of region r, the last of which counts leavers.
  void leave(uint32_t regions, const int64_t *bytes) {
    if (aborted())
      return; // the status keeps telling what it was doing
    __atomic_store_n(&launch_.status[id_].state, uint32_t(EVT_LEFT), __ATOMIC_RELEASE);
    if (__atomic_add_fetch(counter(regions - 1, 0), 1u, __ATOMIC_ACQ_REL) == launch_.workers)
      for (uint32_t r = 0; r < regions; ++r)
        std::memset(launch_.regions[r], 0, static_cast<size_t>(bytes[r]));
  }

private:
  uint32_t *counter(uint32_t region, int64_t element) const {
    return static_cast<uint32_t *>(launch_.regions[region]) + element;
  }
  bool injected() const { return launch_.inject_call == int64_t(call_) && launch_.inject_task == task_; }

  bool poll(uint32_t event, int64_t element, int64_t count) {
    auto complete = [&] { return __atomic_load_n(counter(event, element), __ATOMIC_ACQUIRE) >= uint64_t(count); };
    if (complete())
      return true;
    evt_status &status = launch_.status[id_];
    __atomic_store_n(&status.event, event, __ATOMIC_RELAXED);
    __atomic_store_n(&status.element, element, __ATOMIC_RELAXED);
    __atomic_store_n(&status.count, count, __ATOMIC_RELAXED);
    __atomic_store_n(&status.state, uint32_t(EVT_WAITING), __ATOMIC_RELEASE);
    auto begin = std::chrono::steady_clock::now();
    for (int tries = 0; !complete(); ++tries) {
      if (aborted())
        return false;
      if (waitLimit.nanoseconds &&
          std::chrono::steady_clock::now() - begin > std::chrono::nanoseconds(waitLimit.nanoseconds)) {
        uint32_t none = EVT_ABORT_NONE;
        __atomic_compare_exchange_n(launch_.abort, &none, waitLimit.code, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        return false;
      }
      if (tries < 100)
        sched_yield();
      else
        usleep(50); // on a loaded machine a spinning waiter would keep the notifier from running
    }
    __atomic_store_n(&status.state, uint32_t(EVT_RUNNING), __ATOMIC_RELEASE);
    return true;
  }

  void stall() {
    if (launch_.perturb == 0)
      return;
    uint64_t mixed = (launch_.perturb ^ uint64_t(flat_)) * 0x9e3779b97f4a7c15u;
    for (uint64_t i = 0; i < mixed >> 60; ++i)
      sched_yield();
  }

  const evt_launch &launch_;
  uint32_t id_;
  const evt_hooks *explain_;
  const evt_hooks *hooks_;
  uint32_t call_ = 0;
  int64_t task_ = 0, flat_ = 0;
};

} // namespace handwritten

#endif
