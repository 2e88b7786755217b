// A loaded artifact that can be launched: the runtime's main class, behind the C interface and the command line.
//
//   Program program(loadArtifact("row_sum.evt"));
//   program.launch(values, LaunchOptions{.schedule = "ticket", .workers = 4});
//
// A launch binds the arguments, makes room in the workspace, runs the kernel on the worker pool under the watchdog's
// eye, and turns faults and stalls into errors. Workers and workspace are kept for the next launch.
#ifndef EVT_RUNTIME_LAUNCH_PROGRAM_H
#define EVT_RUNTIME_LAUNCH_PROGRAM_H

#include "evt/evt.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Binding.h"
#include "runtime/launch/WorkerPool.h"
#include "runtime/launch/Workspace.h"

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

// The fields mean what those of evt_launch_options mean.
struct LaunchOptions {
  std::string schedule{}; // empty: the first supported
  unsigned workers = 0;   // 0: one for each CPU this process may use
  double watchdogSeconds = EVT_DEFAULT_WATCHDOG_SECONDS;
  uint64_t perturb = 0;
  int64_t injectCall = -1;
  int64_t injectTask = -1;
  const evt_hooks *hooks = nullptr;
};

struct LaunchStats {
  evt_schedule schedule;
  unsigned workers;
  double seconds;                 // from starting the workers until the last one left
  int64_t tasks;                  // of the graph, with unused ones of ragged bounds
  std::vector<uint64_t> finished; // tasks by worker
};

class Program {
public:
  explicit Program(Artifact artifact);

  const Manifest &manifest() const { return artifact_.manifest; }
  const std::string &directory() const { return artifact_.directory; }

  // Checks arguments and makes room for a launch without running anything. Throws like launch.
  Binding prepare(std::span<const evt_value> values);

  // Throws Error: argument, option, memory before anything ran; fault or stuck after.
  LaunchStats launch(std::span<const evt_value> values, const LaunchOptions &options = {});

  // Calls the hooks for every task in program order with its waits and notifies, running no bodies. Throws Error:
  // argument, memory; incompatible if the kernel cannot enumerate its tasks.
  void explain(std::span<const evt_value> values, const evt_hooks &hooks);

private:
  struct Run;

  std::shared_ptr<Run> makeRun(Binding binding, const LaunchOptions &options, evt_schedule schedule, unsigned workers);
  void watch(Run &run, const LaunchOptions &options);
  Binding prepareLocked(std::span<const evt_value> values);

  Artifact artifact_;
  std::mutex mutex_; // one launch at a time
  std::shared_ptr<Workspace> workspace_;
  WorkerPool pool_;
  bool abandoned_ = false; // workers of an earlier launch are still running
};

} // namespace evt::runtime

#endif
