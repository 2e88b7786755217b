#include "runtime/launch/Program.h"

#include "runtime/Error.h"
#include "runtime/launch/Fault.h"
#include "runtime/launch/StallReport.h"
#include "runtime/launch/Watchdog.h"

#include <algorithm>
#include <cmath>
#include <sched.h>

namespace evt::runtime {
namespace {

constexpr unsigned mostWorkers = 4096;
// Workers that were told to leave get at least this long to finish the task they are in.
constexpr double leastLeaveSeconds = 1.0;

unsigned availableCpus() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

[[noreturn]] void refuse(const std::string &what) { throw Error(EVT_ERROR_OPTION, what); }

evt_schedule chooseSchedule(const Manifest &manifest, const std::string &wanted) {
  for (size_t s = 0; s < scheduleNames.size(); ++s) {
    const ScheduleSupport &support = manifest.schedules[s];
    if (wanted.empty() ? support.supported : wanted == scheduleNames[s]) {
      if (!support.supported)
        refuse("schedule '" + wanted + "' is not supported by graph '" + manifest.graph + "': " + support.why);
      return static_cast<evt_schedule>(s);
    }
  }
  if (wanted.empty())
    refuse("graph '" + manifest.graph + "' supports no schedule");
  refuse("schedule is '" + wanted + "', required one of static ticket dynamic");
}

void checkOptions(const Manifest &manifest, const Shapes &shapes, const LaunchOptions &options) {
  if (options.workers > mostWorkers)
    refuse("workers is " + std::to_string(options.workers) + ", required at most " + std::to_string(mostWorkers));
  // A year: beyond it the clock's arithmetic would overflow, and nobody waits that long.
  if (!(options.watchdogSeconds >= 0 && options.watchdogSeconds <= 31536000))
    refuse("watchdog is " + std::to_string(options.watchdogSeconds) + " s, required 0..31536000");
  if (options.injectCall == -1)
    return;
  if (options.injectCall < 0 || options.injectCall >= static_cast<int64_t>(manifest.calls.size()))
    refuse("call to inject a fault into is " + std::to_string(options.injectCall) + ", required -1.." +
           std::to_string(static_cast<int64_t>(manifest.calls.size()) - 1));
  size_t call = static_cast<size_t>(options.injectCall);
  if (options.injectTask < 0 || options.injectTask >= shapes.calls[call].tasks)
    refuse("task to inject a fault into is " + std::to_string(options.injectTask) + ", required 0.." +
           std::to_string(shapes.calls[call].tasks - 1) + " for call '" + manifest.calls[call].name + "'");
}

} // namespace

// Everything the workers reach during one launch. They share its ownership, so that a worker that cannot be stopped
// never touches freed memory of ours.
struct Program::Run {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<Workspace> workspace;
  Binding binding;
  std::vector<void *> memories;
  std::vector<void *> regions;
  struct alignas(64) StatusLine {
    evt_status status{};
  };
  static_assert(sizeof(StatusLine) == sizeof(evt_status), "the kernel indexes an array of evt_status");
  std::vector<StatusLine> status;
  std::vector<uint8_t> done;
  alignas(64) uint32_t abort = EVT_ABORT_NONE;
  evt_fault fault{};
  evt_launch launch{};
};

Program::Program(Artifact artifact) : artifact_(std::move(artifact)), workspace_(std::make_shared<Workspace>()) {}

Binding Program::prepareLocked(std::span<const evt_value> values) {
  if (abandoned_)
    throw Error(EVT_ERROR_STUCK,
                "graph '" + manifest().graph + "' has workers of an earlier launch that never left; load it again");
  Binding binding = bindArguments(manifest(), values);
  workspace_->prepare(manifest(), binding.shapes);
  return binding;
}

Binding Program::prepare(std::span<const evt_value> values) {
  std::lock_guard lock(mutex_);
  return prepareLocked(values);
}

std::shared_ptr<Program::Run> Program::makeRun(Binding binding, const LaunchOptions &options, evt_schedule schedule,
                                               unsigned workers) {
  auto run = std::make_shared<Run>();
  run->kernel = artifact_.kernel;
  run->workspace = workspace_;
  run->binding = std::move(binding);
  run->memories = run->binding.tensors;
  run->memories.insert(run->memories.end(), workspace_->buffers().begin(), workspace_->buffers().end());
  run->regions = workspace_->regions();
  run->status.resize(workers);
  for (Run::StatusLine &line : run->status)
    line.status.task = -1; // no task yet: 0 would be the first one
  try {
    run->done.resize(static_cast<size_t>(run->binding.shapes.tasks));
  } catch (const std::exception &) {
    throw Error(EVT_ERROR_MEMORY,
                "cannot allocate a byte for each of " + std::to_string(run->binding.shapes.tasks) + " tasks");
  }
  evt_launch &launch = run->launch;
  launch.abi_version = EVT_ABI_VERSION;
  launch.schedule = schedule;
  launch.workers = workers;
  launch.memories = run->memories.data();
  launch.symbols = run->binding.symbols.data();
  launch.regions = run->regions.data();
  launch.status = &run->status.data()->status;
  launch.abort = &run->abort;
  launch.fault = &run->fault;
  launch.done = run->done.data();
  launch.hooks = options.hooks;
  launch.perturb = options.perturb;
  launch.inject_call = options.injectCall;
  launch.inject_task = options.injectCall == -1 ? -1 : options.injectTask;
  return run;
}

LaunchStats Program::launch(std::span<const evt_value> values, const LaunchOptions &options) {
  std::lock_guard lock(mutex_);
  evt_schedule schedule = chooseSchedule(manifest(), options.schedule);
  Binding binding = prepareLocked(values);
  checkOptions(manifest(), binding.shapes, options);
  unsigned workers = options.workers ? options.workers : availableCpus();
  std::shared_ptr<Run> run = makeRun(std::move(binding), options, schedule, workers);

  auto begin = std::chrono::steady_clock::now();
  pool_.start(workers, [run](unsigned worker) { run->kernel->worker(run->launch, worker); });
  watch(*run, options);
  std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;

  uint32_t code = run->abort;
  if (code != EVT_ABORT_NONE) {
    workspace_->zeroRegions(manifest());
    throw Error(EVT_ERROR_FAULT, describeFault(manifest(), run->binding.shapes, code, run->fault));
  }
  LaunchStats stats{schedule, workers, elapsed.count(), run->binding.shapes.tasks, {}};
  for (const Run::StatusLine &line : run->status)
    stats.finished.push_back(line.status.finished);
  return stats;
}

// Returns when every worker has returned; throws Error (stuck) when the watchdog had to stop them.
void Program::watch(Run &run, const LaunchOptions &options) {
  using Clock = Watchdog::Clock;
  Watchdog watchdog({run.launch.status, run.launch.workers}, options.watchdogSeconds, Clock::now());
  double leaveSeconds = std::max(options.watchdogSeconds, leastLeaveSeconds);
  while (!pool_.wait(watchdog.interval())) {
    if (!watchdog.expired(Clock::now()))
      continue;
    StallEvidence evidence = captureStall(manifest(), run.binding.shapes, run.launch);
    uint32_t expected = EVT_ABORT_NONE;
    bool ours = __atomic_compare_exchange_n(&run.abort, &expected, static_cast<uint32_t>(EVT_ABORT_HOST), false,
                                            __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    bool left =
        pool_.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(leaveSeconds)));
    if (!left) {
      pool_.abandon();
      abandoned_ = true;
    }
    if (!ours && left)
      return; // the kernel stopped by itself at the same moment: the caller reports its fault
    std::string report =
        ours ? describeStall(manifest(), *run.kernel, run.binding.shapes, run.launch, evidence, options.watchdogSeconds)
             : describeFault(manifest(), run.binding.shapes, expected, run.fault);
    if (!left)
      throw Error(EVT_ERROR_STUCK, report + "\n  workers did not leave when told to: they still use the arguments, and "
                                            "the graph cannot be launched again");
    workspace_->zeroRegions(manifest());
    throw Error(EVT_ERROR_STUCK, report);
  }
}

void Program::explain(std::span<const evt_value> values, const evt_hooks &hooks) {
  std::lock_guard lock(mutex_);
  if (!artifact_.kernel->canExplain())
    throw Error(EVT_ERROR_INCOMPATIBLE, "kernel of graph '" + manifest().graph + "' cannot enumerate its tasks");
  std::shared_ptr<Run> run = makeRun(prepareLocked(values), LaunchOptions{}, EVT_STATIC, 1);
  run->kernel->explain(run->launch, hooks);
}

} // namespace evt::runtime
