// How to launch, and what came of it: what every backend understands.
#ifndef EVT_RUNTIME_LAUNCH_LAUNCHOPTIONS_H
#define EVT_RUNTIME_LAUNCH_LAUNCHOPTIONS_H

#include "device/common/abi.h"
#include "evt/evt.h"

#include <cstdint>
#include <string>
#include <vector>

namespace evt::runtime {

// One task of a traced launch. Times are nanoseconds of one clock, the same for all workers.
struct TracedTask {
  uint32_t call;
  int64_t task;               // linear index
  std::vector<int64_t> coord; // empty where the kernel cannot enumerate its tasks
  uint64_t taken;             // the worker began with the task: it waits from here
  uint64_t started;           // its waits were over
  uint64_t finished;          // its notifies were issued
  uint32_t waits = 0;         // elements it waits for
  uint32_t event = 0;         // of the first of them
  int64_t element = 0;
};

// What the workers of a launch did, each in order of time.
struct LaunchTrace {
  std::vector<std::vector<TracedTask>> workers;
  bool truncated = false; // there was no room for every task
};

// The fields mean what those of evt_launch_options mean.
struct LaunchOptions {
  std::string schedule{}; // empty: the first supported; "auto": chosen for this launch (ScheduleChoice.h)
  unsigned workers = 0;   // 0: one for each CPU this process may use, or for each SM of the GPU
  double watchdogSeconds = EVT_DEFAULT_WATCHDOG_SECONDS;
  uint64_t perturb = 0;
  int64_t injectCall = -1;
  int64_t injectTask = -1;
  const evt_hooks *hooks = nullptr;
  void *stream = nullptr;
  int64_t firstCall = -1, lastCall = -1, iteration = -1;
  LaunchTrace *trace = nullptr; // null, or filled by a launch of a target without hooks, also when it throws
};

struct LaunchStats {
  evt_schedule schedule;
  unsigned workers;
  double seconds;                 // from the start of the workers until the last one left; 0 if nobody waited for that
  int64_t tasks;                  // of the graph, with unused ones of ragged bounds
  std::vector<uint64_t> finished; // tasks by worker; empty if nobody waited for them
  std::string why{};              // ... this schedule, if it was chosen for this launch
};

} // namespace evt::runtime

#endif
