#include "runtime/cuda/Gpu.h"

namespace evt::runtime::cuda {

Gpu::Gpu(std::shared_ptr<const Driver> driver) : driver_(std::move(driver)) {
  int count = 0;
  driver_->DeviceGetCount(&count);
  if (count == 0)
    throw Error(EVT_ERROR_INCOMPATIBLE, "graph needs a GPU: the CUDA driver finds none");
  Context current =
      nullptr; // asking a thread without one for its device is an error, and reported by tools that look on
  driver_->CtxGetCurrent(&current);
  if (current)
    driver_->CtxGetDevice(&ordinal_);
  else
    driver_->DeviceGet(&ordinal_, 0);
  char name[256] = "";
  driver_->DeviceGetName(name, static_cast<int>(sizeof name), ordinal_);
  name_ = name;
  auto attribute = [&](DeviceAttribute which) {
    int value = 0;
    driver_->DeviceGetAttribute(&value, which, ordinal_);
    return value;
  };
  major_ = attribute(DeviceAttribute::capabilityMajor);
  minor_ = attribute(DeviceAttribute::capabilityMinor);
  multiprocessors_ = static_cast<unsigned>(attribute(DeviceAttribute::multiprocessorCount));
  mostSharedBytes_ = static_cast<unsigned>(attribute(DeviceAttribute::sharedBytesPerBlock));
  cacheBytes_ = static_cast<size_t>(attribute(DeviceAttribute::l2Bytes));
  driver_->DevicePrimaryCtxRetain(&context_, ordinal_);
}

Gpu::~Gpu() { driver_->DevicePrimaryCtxRelease.raw(ordinal_); }

Gpu::Scope::Scope(const Gpu &gpu) : driver_(gpu.driver()), captureMode_(captureModeRelaxed) {
  driver_.CtxPushCurrent(gpu.context_);
  driver_.ThreadExchangeStreamCaptureMode.raw(&captureMode_); // it cannot fail with a mode that exists
}

Gpu::Scope::~Scope() {
  driver_.ThreadExchangeStreamCaptureMode.raw(&captureMode_);
  Context popped;
  driver_.CtxPopCurrent.raw(&popped);
}

std::string describeGpu(const std::string &library) {
  try {
    std::shared_ptr<const Driver> driver = openDriver(library);
    int version = 0;
    driver->DriverGetVersion(&version);
    std::string text = "driver for CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
    Gpu gpu(driver);
    return text + ", " + gpu.name() + " (compute capability " + std::to_string(gpu.major()) + "." +
           std::to_string(gpu.minor()) + ", " + std::to_string(gpu.multiprocessors()) + " SMs)";
  } catch (const Error &error) {
    return "none: " + whyNoGpu(error);
  }
}

std::string whyNoGpu(const Error &error) {
  std::string text = error.what(), prefix = "graph needs a ";
  size_t colon = text.find(": ");
  return text.starts_with(prefix) && colon != std::string::npos ? text.substr(colon + 2) : text;
}

} // namespace evt::runtime::cuda
