// The CPU target: a worker is a thread of a pool that stays between launches.
#include "runtime/Error.h"
#include "runtime/launch/Backend.h"
#include "runtime/launch/Fault.h"
#include "runtime/launch/HostLaunch.h"
#include "runtime/launch/StallReport.h"
#include "runtime/launch/Watchdog.h"
#include "runtime/launch/WorkerPool.h"
#include "runtime/launch/Workspace.h"

#include <algorithm>
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

// Everything the workers reach during one launch. They share its ownership, so that a worker that cannot be stopped
// never touches freed memory of ours.
struct Run {
  std::shared_ptr<const Kernel> kernel;
  std::shared_ptr<Workspace> workspace;
  HostLaunch host;
};

class CpuBackend : public Backend {
public:
  explicit CpuBackend(const Artifact &artifact) : manifest_(artifact.manifest), kernel_(artifact.kernel) {}

  Binding prepare(std::span<const evt_value> values, const LaunchOptions &options) override {
    if (options.stream)
      refuseOption("stream is not null, required null: the cpu target has no streams");
    if (options.trace)
      refuseOption("a trace is asked for, required hooks: the cpu target reports to an observer");
    if (abandoned_)
      throw Error(EVT_ERROR_STUCK,
                  "graph '" + manifest_.graph + "' has workers of an earlier launch that never left; load it again");
    Binding binding = bindArguments(manifest_, values);
    workspace_->prepare(manifest_, binding.shapes);
    return binding;
  }

  void finish(void *) override {} // a launch has ended when it returns
  Device &device() override { return *device_; }

  unsigned workersOf(const LaunchOptions &options) const override {
    if (options.workers > mostWorkers)
      refuseOption("workers is " + std::to_string(options.workers) + ", required at most " +
                   std::to_string(mostWorkers));
    return options.workers ? options.workers : availableCpus();
  }

  LaunchStats launch(Binding binding, const LaunchOptions &options, evt_schedule schedule) override {
    unsigned workers = workersOf(options);
    std::vector<void *> memories = binding.tensors;
    memories.insert(memories.end(), workspace_->buffers().begin(), workspace_->buffers().end());
    std::shared_ptr<Run> run(new Run{
        kernel_, workspace_, {std::move(binding), std::move(memories), workspace_->regions(), schedule, workers}});
    run->host.launch.hooks = options.hooks;
    run->host.launch.perturb = options.perturb;
    run->host.launch.inject_call = options.injectCall;
    run->host.launch.inject_task = options.injectCall == -1 ? -1 : options.injectTask;

    auto begin = std::chrono::steady_clock::now();
    pool_.start(workers, [run](unsigned worker) { run->kernel->worker(run->host.launch, worker); });
    watch(*run, options);
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;

    const Shapes &shapes = run->host.binding.shapes;
    uint32_t code = run->host.abort;
    if (code != EVT_ABORT_NONE) {
      workspace_->zeroRegions(manifest_);
      throw Error(EVT_ERROR_FAULT, describeFault(manifest_, shapes, code, run->host.fault));
    }
    LaunchStats stats{schedule, workers, elapsed.count(), shapes.tasks, {}, {}};
    for (const HostLaunch::StatusLine &line : run->host.status)
      stats.finished.push_back(line.status.finished);
    return stats;
  }

private:
  // Returns when every worker has returned; throws Error (stuck) when the watchdog had to stop them.
  void watch(Run &run, const LaunchOptions &options) {
    using Clock = Watchdog::Clock;
    HostLaunch &host = run.host;
    const Shapes &shapes = host.binding.shapes;
    Watchdog watchdog({host.launch.status, host.launch.workers}, options.watchdogSeconds, Clock::now());
    double leaveSeconds = std::max(options.watchdogSeconds, leastLeaveSeconds);
    while (!pool_.wait(watchdog.interval())) {
      if (!watchdog.expired(Clock::now()))
        continue;
      StallEvidence evidence = captureStall(manifest_, shapes, host.launch);
      uint32_t expected = EVT_ABORT_NONE;
      bool ours = __atomic_compare_exchange_n(&host.abort, &expected, static_cast<uint32_t>(EVT_ABORT_HOST), false,
                                              __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
      bool left =
          pool_.wait(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(leaveSeconds)));
      if (!left) {
        pool_.abandon();
        abandoned_ = true;
      }
      if (!ours && left)
        return; // the kernel stopped by itself at the same moment: the caller reports its fault
      std::string report = ours ? describeStall(manifest_, *run.kernel, shapes, host.launch, evidence,
                                                {StallSign::noTaskFinished, options.watchdogSeconds})
                                : describeFault(manifest_, shapes, expected, host.fault);
      if (!left)
        throw Error(EVT_ERROR_STUCK, report + "\n  workers did not leave when told to: they still use the arguments, "
                                              "and the graph cannot be launched again");
      workspace_->zeroRegions(manifest_);
      throw Error(EVT_ERROR_STUCK, report);
    }
  }

  std::unique_ptr<Device> device_ = makeHostDevice();
  const Manifest &manifest_; // the program's
  std::shared_ptr<const Kernel> kernel_;
  std::shared_ptr<Workspace> workspace_ = std::make_shared<Workspace>();
  WorkerPool pool_;
  bool abandoned_ = false; // workers of an earlier launch are still running
};

} // namespace

std::unique_ptr<Backend> makeCpuBackend(const Artifact &artifact) { return std::make_unique<CpuBackend>(artifact); }

} // namespace evt::runtime
