// Everything an emitted kernel for CUDA includes, and the frame that runs it.
#pragma once

#include "device/common/math.h"
#include "device/common/scalar.h"
#include "device/common/types.h"
#include "device/cuda/dynamic.h"
#include "device/cuda/memory.h"
#include "device/cuda/tile/matmul.h"
#include "device/cuda/tile/reduce.h"
#include "device/cuda/tile/topk.h"

#include "device/common/protocol.h"

#include <new>

namespace evt {

/// Runs one block of a launch. `Kernel` is emitted:
///   Program                                   a launch, unpacked: constructed from it, one a block, in shared memory
///   Program::reset(dynamic)                   by every thread of the last block: zeroes the counters
///   Kernel::schedule(worker, program)         by the control thread: hands over every task of this block
///   Kernel::execute(worker, program, task)    by all compute threads: runs one; false when the launch was aborted
///   Kernel::collected                         how many notifies read from tables one task may have
template <class Kernel, class Program, class Launch> __device__ inline void run_block(const Launch &launch) {
  extern __shared__ __align__(128) char shared[];
  __shared__ BlockState block;
  __shared__ alignas(Program) char storage[sizeof(Program)];
  __shared__ Notification room[Kernel::collected ? Kernel::collected : 1];
  if (threadIdx.x == 0) {
    new (storage) Program(launch);
    for (int s = 0; s < BlockState::slots; ++s) {
      ptx::barrier_init(&block.full[s], 1);
      ptx::barrier_init(&block.empty[s], compute_warps);
    }
    ptx::barrier_init_fence();
  }
  __syncthreads();
  const Program &P = *reinterpret_cast<const Program *>(storage);
  DynamicWorker w(&launch, P.control, &block, shared, room, P.slots, P.tasks);
  if (threadIdx.x < compute_threads) {
    bool alive = true;
    while (true) {
      const Task task = w.take();
      if (task.call == Task::none)
        break;
      if (alive)
        alive = Kernel::execute(w, P, task);
    }
  } else if (threadIdx.x == control_thread) {
    Kernel::schedule(w, P);
    w.end_of_tasks();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::store_release(&launch.status[w.id].state, w.aborted() ? launch.status[w.id].state : (std::uint32_t)EVT_LEFT);
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
__device__ inline bool run_task(DynamicWorker &w, const Task &task, std::int64_t number, Waits waits, Body body,
                                Notifies notifies) {
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

} // namespace evt
