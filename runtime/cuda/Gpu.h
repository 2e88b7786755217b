// One GPU of this machine, with its primary context retained as long as this object lives: the context that other
// libraries of the process use too, so that their tensors and streams can be passed to a launch.
#ifndef EVT_RUNTIME_CUDA_GPU_H
#define EVT_RUNTIME_CUDA_GPU_H

#include "runtime/Error.h"
#include "runtime/cuda/Driver.h"

#include <memory>
#include <string>

namespace evt::runtime::cuda {

class Gpu {
public:
  // The GPU of the calling thread's current context, or the first one. Throws Error (incompatible) if there is none.
  explicit Gpu(std::shared_ptr<const Driver> driver);
  ~Gpu();
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;

  const Driver &driver() const { return *driver_; }
  int number() const { return ordinal_; } // as in "cuda:0"
  const std::string &name() const { return name_; }
  int major() const { return major_; }
  int minor() const { return minor_; }
  unsigned multiprocessors() const { return multiprocessors_; }
  unsigned mostSharedBytes() const { return mostSharedBytes_; } // of one block
  size_t cacheBytes() const { return cacheBytes_; }             // of the L2 cache that all SMs share

  // The GPU's context is current on this thread as long as this lives, and what the thread does is no part of a capture
  // of another stream, nor forbidden by one.
  class Scope {
  public:
    explicit Scope(const Gpu &gpu);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    const Driver &driver_;
    int captureMode_;
  };

private:
  std::shared_ptr<const Driver> driver_;
  Ordinal ordinal_ = 0;
  Context context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0;
  unsigned multiprocessors_ = 0, mostSharedBytes_ = 0;
  size_t cacheBytes_ = 0;
};

// For people: "driver for CUDA 13.0, NVIDIA H200 (compute capability 9.0, 132 SMs)", or why there is no GPU.
std::string describeGpu(const std::string &library = driverLibrary);

// What an error of openDriver or Gpu says, for somebody who has no graph: "the CUDA driver finds none".
std::string whyNoGpu(const Error &error);

} // namespace evt::runtime::cuda

#endif
