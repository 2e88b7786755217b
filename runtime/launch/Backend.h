// What runs a program: the CPU's threads, or a GPU. A Program owns one, calls it from one thread at a time, and knows
// nothing else about its target.
//
// A new target is a function below, defined in the target's folder, and a line in makeBackend.
#ifndef EVT_RUNTIME_LAUNCH_BACKEND_H
#define EVT_RUNTIME_LAUNCH_BACKEND_H

#include "runtime/artifact/Artifact.h"
#include "runtime/launch/Binding.h"
#include "runtime/launch/Device.h"
#include "runtime/launch/LaunchOptions.h"

#include <functional>
#include <memory>
#include <span>

namespace evt::runtime {

class Backend {
public:
  virtual ~Backend() = default;

  // Checks the arguments and makes room for a launch with these options, running nothing. Throws Error: argument,
  // memory, option; stuck if an earlier launch makes another one impossible.
  virtual Binding prepare(std::span<const evt_value> values, const LaunchOptions &options) = 0;

  // How many workers a launch with these options has. Throws Error (option).
  virtual unsigned workersOf(const LaunchOptions &options) const = 0;

  // Launches what prepare has just returned for the same options; the options' general part was checked. Throws Error:
  // option before anything ran, fault or stuck after.
  virtual LaunchStats launch(Binding binding, const LaunchOptions &options, evt_schedule schedule) = 0;

  // Waits for the launches on a stream. Throws Error: fault or stuck if one of them went wrong.
  virtual void finish(void *stream) = 0;

  virtual Device &device() = 0;
};

// Makes the backend of a program, which outlives it and whose artifact this is.
using BackendFactory = std::function<std::unique_ptr<Backend>(const Artifact &)>;

// By the manifest's target. Throws Error (incompatible) if this machine has no such device.
std::unique_ptr<Backend> makeBackend(const Artifact &artifact);

std::unique_ptr<Backend> makeCpuBackend(const Artifact &artifact);
std::unique_ptr<Backend> makeCudaBackend(const Artifact &artifact);

} // namespace evt::runtime

#endif
