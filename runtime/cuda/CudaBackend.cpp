#include "runtime/cuda/CudaBackend.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/cuda/Driver.h"
#include "runtime/cuda/Session.h"

#include <mutex>
#include <vector>

namespace evt::runtime {
namespace cuda {
namespace {

// Sessions whose kernel never left. Freeing their memory would wait for the kernel, which is what nobody wants.
void keepForever(std::unique_ptr<Session> session) {
  static std::mutex mutex;
  static auto *kept = new std::vector<std::unique_ptr<Session>>();
  std::lock_guard lock(mutex);
  kept->push_back(std::move(session));
}

class CudaBackend : public Backend {
public:
  CudaBackend(const Artifact &artifact, const std::string &library)
      : session_(std::make_unique<Session>(artifact, library)), device_(*session_) {}
  ~CudaBackend() override {
    if (session_->abandoned())
      keepForever(std::move(session_));
  }

  Binding prepare(std::span<const evt_value> values, const LaunchOptions &options) override {
    return session_->prepare(values, options);
  }
  unsigned workersOf(const LaunchOptions &options) const override { return session_->workersOf(options); }
  LaunchStats launch(Binding binding, const LaunchOptions &options, evt_schedule schedule) override {
    return session_->launch(binding, options, schedule);
  }
  void finish(void *stream) override { session_->finish(static_cast<Stream>(stream)); }
  Device &device() override { return device_; }

private:
  std::unique_ptr<Session> session_;
  CudaDevice device_;
};

} // namespace

std::unique_ptr<Backend> makeBackendOn(const Artifact &artifact, const std::string &library) {
  return std::make_unique<CudaBackend>(artifact, library);
}

} // namespace cuda

std::unique_ptr<Backend> makeCudaBackend(const Artifact &artifact) {
  return cuda::makeBackendOn(artifact, cuda::driverLibrary);
}

} // namespace evt::runtime
