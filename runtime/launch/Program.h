// A loaded artifact that can be launched: the runtime's main class, behind the C interface and the command line.
//
//   Program program(loadArtifact("row_sum.evt"));
//   program.launch(values, LaunchOptions{.schedule = "ticket", .workers = 4});
//
// A launch binds the arguments, makes room in the workspace, runs the kernel on the target's workers under a watchdog's
// eye, and turns faults and stalls into errors. Workers and workspace are kept for the next launch.
#ifndef EVT_RUNTIME_LAUNCH_PROGRAM_H
#define EVT_RUNTIME_LAUNCH_PROGRAM_H

#include "evt/evt.h"
#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Backend.h"
#include "runtime/launch/Binding.h"
#include "runtime/launch/LaunchOptions.h"
#include "runtime/launch/ScheduleChoice.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

class Program {
public:
  // On the artifact's target, or on what the factory makes. Throws Error (incompatible) if this machine has no such
  // device.
  explicit Program(Artifact artifact, const BackendFactory &factory = makeBackend);
  Program(const Program &) = delete;
  Program &operator=(const Program &) = delete;

  const Manifest &manifest() const { return artifact_.manifest; }
  const std::string &directory() const { return artifact_.directory; }

  // Checks arguments and makes room for a launch without running anything. Throws like launch.
  Binding prepare(std::span<const evt_value> values, const LaunchOptions &options = {});

  // Waits for the launches on a stream. Throws Error: fault or stuck if one of them went wrong.
  void finish(void *stream);

  // The device it runs on. Its functions but these may be called while another thread launches.
  Device &device() { return backend_->device(); }
  evt_memory_use memoryUsed();
  void destroyStream(void *stream);

  // The schedule that a launch with the schedule "auto" takes, and why. Throws like launch.
  ScheduleChoice choose(std::span<const evt_value> values, const LaunchOptions &options = {});

  // Throws Error: argument, option, memory before anything ran; fault or stuck after.
  LaunchStats launch(std::span<const evt_value> values, const LaunchOptions &options = {});

  // Calls the hooks for every task in program order with its waits and notifies, running no bodies. Throws Error:
  // argument, memory; incompatible if the kernel cannot enumerate its tasks.
  void explain(std::span<const evt_value> values, const evt_hooks &hooks);

private:
  ScheduleChoice choiceFor(const Binding &binding, const LaunchOptions &options);

  Artifact artifact_;
  std::mutex mutex_; // one launch at a time
  std::unique_ptr<Backend> backend_;
  // The last choice, which launches with the same sizes share.
  struct Chosen {
    std::vector<int64_t> symbols;
    unsigned workers;
    ScheduleChoice choice;
  };
  std::optional<Chosen> chosen_;
};

} // namespace evt::runtime

#endif
