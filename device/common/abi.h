// The border between the kernel inside an artifact and the runtime that launches it.
//
// A CPU artifact's kernel is a shared object with three C entry points:
//
//   uint32_t evt_kernel_abi(void)                                  // returns EVT_ABI_VERSION
//   void evt_kernel_worker(const evt_launch*, uint32_t worker)     // run by `workers` threads at once, returns when
//                                                                  // the whole graph is done or `abort` was set
//   void evt_kernel_explain(const evt_launch*, const evt_hooks*)   // calls the hooks for every task in program
//                                                                  // order with its waits and notifies, without
//                                                                  // running bodies (used by the watchdog's report)
//
// Everything the kernel needs is reached through evt_launch; the kernel allocates nothing, keeps no state between
// launches and leaves every counter region zeroed for the next launch (an aborted launch does not: the runtime
// zeroes the regions again then). Plain C, so that any language can launch a kernel.
#ifndef EVT_DEVICE_COMMON_ABI_H
#define EVT_DEVICE_COMMON_ABI_H

#include <stdint.h>

#define EVT_ABI_VERSION 3u

#ifdef __cplusplus
extern "C" {
#endif

typedef enum evt_schedule { EVT_STATIC = 0, EVT_TICKET = 1, EVT_DYNAMIC = 2 } evt_schedule;

// What a task does to a box of a memory. EVT_READ_SETTLED is a read of elements that the program promises nobody writes
// while the graph runs. On a GPU it may come before the waits of its task, so no event orders it with a write.
typedef enum evt_access_kind { EVT_READ = 0, EVT_WRITE = 1, EVT_READ_SETTLED = 2 } evt_access_kind;

// What the kernel tells an observer (the checker, the tracer). One table for a launch; null in production runs, so
// the cost there is one predictable branch. `call`, `event` and `memory` index the manifest's `calls`, `events` and
// `memories`; elements are row-major linear indices into the event's shape. Hooks of one worker are called from that
// worker's thread only. For one task the sequence is
//   task_begin, (wait_begin wait_end | access)*, body accesses, notify*, task_end
// under every schedule: under `dynamic` the waits are reported although they do not block.
typedef struct evt_hooks {
  void *user;
  void (*task_begin)(void *user, uint32_t worker, uint32_t call, int64_t task, const int64_t *coord, uint32_t rank);
  void (*task_end)(void *user, uint32_t worker);
  void (*wait_begin)(void *user, uint32_t worker, uint32_t event, int64_t element, int64_t count);
  void (*wait_end)(void *user, uint32_t worker);
  void (*notify)(void *user, uint32_t worker, uint32_t event, int64_t element);
  // A box of a memory: offset and size have `rank` entries and lie inside the memory's shape. Empty boxes are skipped.
  // `kind` is an evt_access_kind.
  void (*access)(void *user, uint32_t worker, uint32_t memory, uint32_t kind, const int64_t *offset,
                 const int64_t *size, uint32_t rank);
} evt_hooks;

// What a worker is doing, written by the worker before it blocks, read by the watchdog. One cache line each.
typedef enum evt_state { EVT_RUNNING = 0, EVT_WAITING = 1, EVT_IDLE = 2, EVT_LEFT = 3 } evt_state;
typedef struct evt_status {
  uint32_t state; // an evt_state
  uint32_t call;  // of the current task
  int64_t task;   // linear index of the current task in its call (iterations outermost)
  uint32_t event; // while EVT_WAITING
  uint32_t reserved;
  int64_t element;   // while EVT_WAITING
  int64_t count;     // while EVT_WAITING: what the element must reach
  uint64_t finished; // tasks this worker has finished: the watchdog's sign of life
  uint64_t padding[2];
} evt_status;

// Faults the kernel itself reports by setting *abort and filling evt_launch::fault.
typedef enum evt_abort {
  EVT_ABORT_NONE = 0,
  EVT_ABORT_HOST = 1,    // the runtime (watchdog, user) asked every worker to leave
  EVT_ABORT_BOUND = 2,   // a ragged grid is larger than its declared bound: a = call, b = needed, c = bound
  EVT_ABORT_OVERRUN = 3, // an element received more notifications than its count: a = event, b = element, c = count
  EVT_ABORT_INDEX = 4,   // a notify outside its event's shape: a = event, b = dimension, c = the index
  EVT_ABORT_DIVISION = 5 // an integer divided by 0, on a CPU: a = call, b = the task as in evt_status, -1: not known
} evt_abort;
typedef struct evt_fault {
  int64_t a, b, c;
} evt_fault;

typedef struct evt_launch {
  uint32_t abi_version; // EVT_ABI_VERSION
  uint32_t schedule;    // an evt_schedule
  uint32_t workers;     // how many threads call evt_kernel_worker
  uint32_t reserved;
  void *const *memories;  // base address of each memory: tensor arguments in order, then planned buffers
  const int64_t *symbols; // value of each symbol of the manifest, in order
  void *const *regions;   // base address of each workspace region of the manifest, in order
  evt_status *status;     // `workers` entries
  uint32_t *abort;        // evt_abort; written at most once from 0 by whoever fails first
  evt_fault *fault;       // filled by the kernel before it sets *abort
  uint8_t *done;          // null, or one byte per task, call by call: set to 1 when its notifies are issued
  const evt_hooks *hooks; // null, or an observer
  uint64_t perturb;       // 0, or a seed: workers stall at random points (schedule fuzzing)
  int64_t inject_call;    // -1, or the call of the task whose notifies are dropped (fault injection)
  int64_t inject_task;    // ... and its linear index
} evt_launch;

#ifdef __cplusplus
}
#endif
#endif
