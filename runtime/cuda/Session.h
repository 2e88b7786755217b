// A program on a GPU: its kernel, its memory there, and the launches.
//
// A launch without a stream is synchronous, on a stream of the session's own (SynchronousLaunch.h). A launch on a
// stream of the caller is only put into that stream: nothing is copied, zeroed or waited for, so that launches follow
// each other without the host and can be captured in a graph. What goes wrong there is found by a later launch on the
// same stream, which looks at most every `lookInterval`.
#ifndef EVT_RUNTIME_CUDA_SESSION_H
#define EVT_RUNTIME_CUDA_SESSION_H

#include "evt/memory.h"
#include "runtime/cuda/KernelImage.h"
#include "runtime/cuda/Lane.h"
#include "runtime/launch/Backend.h"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace evt::runtime::cuda {

// A launch with everything decided but the stream.
struct Request {
  const Binding &binding;
  const LaunchOptions &options;
  evt_schedule schedule;
  unsigned workers;
};

class Session {
public:
  // Reading an abort word takes some 10 us, which must not show between launches.
  static constexpr std::chrono::milliseconds lookInterval{10};

  // `artifact` must outlive it. Throws Error (incompatible, file, memory).
  Session(const Artifact &artifact, const std::string &library);
  ~Session(); // waits for what runs on the callers' streams
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  Binding prepare(std::span<const evt_value> values, const LaunchOptions &options);
  unsigned workersOf(const LaunchOptions &options) const { return on_->image.checkedWorkers(options.workers); }
  LaunchStats launch(const Binding &binding, const LaunchOptions &options, evt_schedule schedule);

  // Waits for the launches on a caller's stream. Throws Error: fault or stuck if one of them went wrong.
  void finish(Stream stream);
  // The stream is about to be destroyed: what its launches shared is freed, after them.
  void forget(Stream stream);
  // Adds what the workspaces take.
  void addUse(evt_memory_use &use) const;

  const Gpu &gpu() const { return gpu_; }
  const KernelImage &image() const { return on_->image; }

  // A kernel did not leave when told to: it still uses the session's memory, which must never be freed.
  bool abandoned() const { return abandoned_; }

private:
  // A caller's stream, and what was launched on it last.
  struct Caller {
    std::unique_ptr<Lane> lane;
    std::optional<Binding> binding;
    evt_schedule schedule = EVT_STATIC;
    unsigned workers = 0;
    double watchdogSeconds = 0;
    std::chrono::steady_clock::time_point looked{};
    bool captured = false; // a graph may launch on this lane's memory at any time
    bool inParts = false;  // the last launch was a part of the graph that others are to follow
  };
  // Destroyed with the GPU's context current.
  struct OnGpu {
    OnGpu(const Gpu &gpu, const Artifact &artifact);
    ~OnGpu(); // waits for all that uses it
    KernelImage image;
    Signals signals;
    Lane lane;                       // of the session's own stream
    std::vector<DeviceBlock> copies; // of host tensors, one for each tensor argument
    DeviceBlock done, records;
    std::map<Stream, Caller> callers;
    std::vector<Caller> orphans; // whose stream is gone, but which a graph may launch on
  };
  friend class SynchronousLaunch;

  void checkUsable() const;
  void checkOnDevice(const Binding &binding) const;
  bool isCapturing(Stream stream) const;
  Caller &callerOf(Stream stream);
  void makeRoom(Caller &caller, const Shapes &shapes, Stream stream);
  LaunchStats launchOn(Stream stream, const Request &request);
  void reportEarlier(Caller &caller, Stream stream);
  void report(Caller &caller, Stream stream);

  const Manifest &manifest_;
  std::shared_ptr<const Kernel> kernel_; // describes the graph
  Gpu gpu_;
  std::unique_ptr<OnGpu> on_;
  std::string broken_; // why no launch is possible any more; empty while it is
  bool abandoned_ = false;
};

// Throws Error (argument) if a memory has an extent, or a call tasks, that the kernels' 32-bit indices do not reach.
void checkExtents(const Manifest &manifest, const Shapes &shapes);

// The kernel's header for a launch on a lane, with neither an account of tasks nor a trace.
evt_cuda_launch launchHeader(const Lane &lane, const Request &request);

} // namespace evt::runtime::cuda

#endif
