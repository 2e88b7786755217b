#include "runtime/launch/Program.h"

#include "runtime/Error.h"
#include "runtime/launch/Explain.h"

namespace evt::runtime {
namespace {

constexpr const char *chosenForLaunch = "auto";

evt_schedule scheduleNamed(const Manifest &manifest, const std::string &wanted) {
  for (size_t s = 0; s < scheduleNames.size(); ++s) {
    const ScheduleSupport &support = manifest.schedules[s];
    if (wanted.empty() ? support.supported : wanted == scheduleNames[s]) {
      if (!support.supported)
        refuseOption("schedule '" + wanted + "' is not supported by graph '" + manifest.graph + "': " + support.why);
      return static_cast<evt_schedule>(s);
    }
  }
  if (wanted.empty())
    refuseOption("graph '" + manifest.graph + "' supports no schedule");
  refuseOption("schedule is '" + wanted + "', required one of static ticket dynamic auto");
}

void checkOptions(const Manifest &manifest, const Shapes &shapes, const LaunchOptions &options) {
  // A year: beyond it the clock's arithmetic would overflow, and nobody waits that long.
  if (!(options.watchdogSeconds >= 0 && options.watchdogSeconds <= 31536000))
    refuseOption("watchdog is " + std::to_string(options.watchdogSeconds) + " s, required 0..31536000");
  const int64_t calls = static_cast<int64_t>(manifest.calls.size());
  if (options.firstCall != -1 || options.lastCall != -1 || options.iteration != -1) {
    if (manifest.target != "cuda" || !manifest.schedules[EVT_STATIC].supported ||
        (!options.schedule.empty() && options.schedule != "static"))
      refuseOption("a part of the graph is asked for, required the cuda target and schedule static");
    if (options.firstCall < 0 || options.lastCall < options.firstCall || options.lastCall >= calls)
      refuseOption("calls to run are " + std::to_string(options.firstCall) + ".." + std::to_string(options.lastCall) +
                   ", required a range of 0.." + std::to_string(calls - 1));
    if (options.iteration < -1)
      refuseOption("iteration to run is " + std::to_string(options.iteration) + ", required -1 or more");
  }
  if (options.injectCall == -1)
    return;
  if (options.injectCall < 0 || options.injectCall >= static_cast<int64_t>(manifest.calls.size()))
    refuseOption("call to inject a fault into is " + std::to_string(options.injectCall) + ", required -1.." +
                 std::to_string(static_cast<int64_t>(manifest.calls.size()) - 1));
  size_t call = static_cast<size_t>(options.injectCall);
  if (options.injectTask < 0 || options.injectTask >= shapes.calls[call].tasks)
    refuseOption("task to inject a fault into is " + std::to_string(options.injectTask) + ", required 0.." +
                 std::to_string(shapes.calls[call].tasks - 1) + " for call '" + manifest.calls[call].name + "'");
}

} // namespace

std::unique_ptr<Backend> makeBackend(const Artifact &artifact) {
  return artifact.manifest.target == "cuda" ? makeCudaBackend(artifact) : makeCpuBackend(artifact);
}

Program::Program(Artifact artifact, const BackendFactory &factory)
    : artifact_(std::move(artifact)), backend_(factory(artifact_)) {}

Binding Program::prepare(std::span<const evt_value> values, const LaunchOptions &options) {
  std::lock_guard lock(mutex_);
  return backend_->prepare(values, options);
}

void Program::finish(void *stream) {
  std::lock_guard lock(mutex_);
  backend_->finish(stream);
}

evt_memory_use Program::memoryUsed() {
  std::lock_guard lock(mutex_);
  return device().used();
}

void Program::destroyStream(void *stream) {
  std::lock_guard lock(mutex_);
  device().destroyStream(stream);
}

ScheduleChoice Program::choiceFor(const Binding &binding, const LaunchOptions &options) {
  unsigned workers = backend_->workersOf(options);
  if (!chosen_ || chosen_->workers != workers || chosen_->symbols != binding.symbols) {
    scheduleNamed(manifest(), ""); // there is one
    chosen_ = {binding.symbols, workers, chooseSchedule(manifest(), binding.symbols, binding.shapes, workers)};
  }
  return chosen_->choice;
}

ScheduleChoice Program::choose(std::span<const evt_value> values, const LaunchOptions &options) {
  std::lock_guard lock(mutex_);
  return choiceFor(backend_->prepare(values, options), options);
}

LaunchStats Program::launch(std::span<const evt_value> values, const LaunchOptions &options) {
  std::lock_guard lock(mutex_);
  bool chosen = options.schedule == chosenForLaunch;
  ScheduleChoice choice;
  if (!chosen)
    choice.schedule = scheduleNamed(manifest(), options.schedule);
  Binding binding = backend_->prepare(values, options);
  checkOptions(manifest(), binding.shapes, options);
  if (chosen)
    choice = choiceFor(binding, options);
  LaunchStats stats = backend_->launch(std::move(binding), options, choice.schedule);
  stats.why = choice.why;
  return stats;
}

void Program::explain(std::span<const evt_value> values, const evt_hooks &hooks) {
  std::lock_guard lock(mutex_);
  explainGraph(artifact_, values, hooks);
}

} // namespace evt::runtime
