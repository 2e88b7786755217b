#include "runtime/cuda/Driver.h"

#include "runtime/Error.h"

#include <dlfcn.h>
#include <map>
#include <mutex>

namespace evt::runtime::cuda {
namespace {

[[noreturn]] void refuseDriver(const std::string &what) {
  throw Error(EVT_ERROR_INCOMPATIBLE, "graph needs a CUDA driver: " + what);
}

evt_code codeOf(Result result) {
  switch (result) {
  case Result::outOfMemory:
    return EVT_ERROR_MEMORY;
  case Result::noDevice:
  case Result::noBinaryForGpu:
  case Result::unsupportedPtxVersion:
    return EVT_ERROR_INCOMPATIBLE;
  default:
    return Driver::isKernelFault(result) ? EVT_ERROR_FAULT : EVT_ERROR_INTERNAL;
  }
}

} // namespace

template <typename... Parameters>
void Driver::find(Entry<Parameters...> &entry, const char *name, const char *symbol, void *handle,
                  const std::string &library) {
  entry.driver_ = this;
  entry.name_ = name;
  entry.function_ = reinterpret_cast<decltype(entry.function_)>(dlsym(handle, symbol));
  if (!entry.function_)
    refuseDriver(library + " has no function '" + symbol + "', required a driver for CUDA 12 or later");
}

Driver::Driver(const std::string &library) {
  void *handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    refuseDriver(library + " cannot be loaded: " + dlerror());
  getErrorName_ = reinterpret_cast<decltype(getErrorName_)>(dlsym(handle, "cuGetErrorName"));
  getErrorString_ = reinterpret_cast<decltype(getErrorString_)>(dlsym(handle, "cuGetErrorString"));
  // A symbol's suffix is the version of its signature: without it, addresses are 32 bits or contexts count otherwise.
  auto plain = [&](auto &entry, const char *name) { find(entry, name, name, handle, library); };
  auto second = [&](auto &entry, const char *name) {
    find(entry, name, (std::string(name) + "_v2").c_str(), handle, library);
  };
  plain(DriverGetVersion, "cuDriverGetVersion");
  plain(DeviceGetCount, "cuDeviceGetCount");
  plain(DeviceGet, "cuDeviceGet");
  plain(DeviceGetName, "cuDeviceGetName");
  plain(DeviceGetAttribute, "cuDeviceGetAttribute");
  plain(DevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  second(DevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease");
  plain(CtxGetCurrent, "cuCtxGetCurrent");
  plain(CtxGetDevice, "cuCtxGetDevice");
  second(CtxPushCurrent, "cuCtxPushCurrent");
  second(CtxPopCurrent, "cuCtxPopCurrent");
  plain(CtxSynchronize, "cuCtxSynchronize");
  plain(ModuleLoadData, "cuModuleLoadData");
  plain(ModuleUnload, "cuModuleUnload");
  plain(ModuleGetFunction, "cuModuleGetFunction");
  plain(FuncGetAttribute, "cuFuncGetAttribute");
  plain(FuncSetAttribute, "cuFuncSetAttribute");
  plain(OccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
  plain(LaunchKernel, "cuLaunchKernel");
  plain(TensorMapEncodeTiled, "cuTensorMapEncodeTiled");
  second(MemAlloc, "cuMemAlloc");
  second(MemFree, "cuMemFree");
  second(MemGetInfo, "cuMemGetInfo");
  plain(MemHostAlloc, "cuMemHostAlloc");
  plain(MemFreeHost, "cuMemFreeHost");
  second(MemcpyHtoDAsync, "cuMemcpyHtoDAsync");
  second(MemcpyDtoHAsync, "cuMemcpyDtoHAsync");
  second(MemcpyDtoDAsync, "cuMemcpyDtoDAsync");
  plain(MemsetD8Async, "cuMemsetD8Async");
  plain(PointerGetAttribute, "cuPointerGetAttribute");
  plain(StreamCreate, "cuStreamCreate");
  second(StreamDestroy, "cuStreamDestroy");
  plain(StreamSynchronize, "cuStreamSynchronize");
  plain(StreamWaitEvent, "cuStreamWaitEvent");
  plain(StreamIsCapturing, "cuStreamIsCapturing");
  second(StreamBeginCapture, "cuStreamBeginCapture");
  plain(StreamEndCapture, "cuStreamEndCapture");
  plain(GraphInstantiateWithFlags, "cuGraphInstantiateWithFlags");
  plain(GraphLaunch, "cuGraphLaunch");
  plain(GraphExecDestroy, "cuGraphExecDestroy");
  plain(GraphDestroy, "cuGraphDestroy");
  plain(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode");
  plain(EventCreate, "cuEventCreate");
  second(EventDestroy, "cuEventDestroy");
  plain(EventRecord, "cuEventRecord");
  plain(EventQuery, "cuEventQuery");
  plain(EventSynchronize, "cuEventSynchronize");
  plain(EventElapsedTime, "cuEventElapsedTime");

  auto init = reinterpret_cast<Result (*)(unsigned)>(dlsym(handle, "cuInit"));
  if (!init)
    refuseDriver(library + " has no function 'cuInit', required a driver for CUDA 12 or later");
  if (Result result = init(0); result != Result::success)
    refuseDriver(library + " was loaded, but finds no GPU: " + describe("cuInit", result));
}

std::string Driver::describe(const char *function, Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (getErrorName_)
    getErrorName_(result, &name);
  if (getErrorString_)
    getErrorString_(result, &text);
  return std::string(function) + ": " + (name ? name : "error " + std::to_string(static_cast<int>(result))) +
         (text ? std::string(": ") + text : "");
}

void Driver::check(const char *function, Result result) const {
  if (result != Result::success)
    throw Error(codeOf(result), describe(function, result));
}

bool Driver::isKernelFault(Result result) {
  switch (result) {
  case Result::illegalAddress:
  case Result::launchTimeout:
  case Result::hardwareStackError:
  case Result::illegalInstruction:
  case Result::misalignedAddress:
  case Result::invalidAddressSpace:
  case Result::invalidPc:
  case Result::launchFailed:
    return true;
  default:
    return false;
  }
}

std::shared_ptr<const Driver> openDriver(const std::string &library) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Driver>> drivers;
  std::lock_guard lock(mutex);
  std::shared_ptr<const Driver> &driver = drivers[library];
  if (!driver)
    driver = std::make_shared<const Driver>(library);
  return driver;
}

} // namespace evt::runtime::cuda
