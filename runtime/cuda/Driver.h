// The CUDA driver's interface, as much of it as launching needs, found when it is first needed: the runtime builds
// without CUDA's headers and runs without a driver until somebody asks for a GPU.
//
// Each member is one function of libcuda.so.1 under its own name without the `cu`. Calling it checks the result:
// anything but success becomes an Error that names the function, the error and its text. `raw` returns the result
// instead.
//
//   std::shared_ptr<const Driver> driver = openDriver();
//   Address memory;
//   driver->MemAlloc(&memory, bytes);                       // throws
//   if (driver->EventQuery.raw(event) == Result::notReady)  // does not
#ifndef EVT_RUNTIME_CUDA_DRIVER_H
#define EVT_RUNTIME_CUDA_DRIVER_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace evt::runtime::cuda {

// The driver's types, with its sizes.
using Ordinal = int;      // CUdevice
using Address = uint64_t; // CUdeviceptr
using Context = struct CUctx_st *;
using Module = struct CUmod_st *;
using Function = struct CUfunc_st *;
using Stream = struct CUstream_st *;
using Event = struct CUevent_st *;
using Graph = struct CUgraph_st *;
using GraphExec = struct CUgraphExec_st *;

// CUtensorMap
struct alignas(64) TensorMap {
  uint64_t words[16];
};

// CUresult; those that are told apart.
enum class Result : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  noDevice = 100,
  invalidContext = 201,
  noBinaryForGpu = 209,
  unsupportedPtxVersion = 222,
  notReady = 600,
  illegalAddress = 700,
  launchTimeout = 702,
  hardwareStackError = 714,
  illegalInstruction = 715,
  misalignedAddress = 716,
  invalidAddressSpace = 717,
  invalidPc = 718,
  launchFailed = 719,
};

// CUdevice_attribute
enum class DeviceAttribute : int {
  multiprocessorCount = 16,
  l2Bytes = 38,
  capabilityMajor = 75,
  capabilityMinor = 76,
  sharedBytesPerBlock = 97, // with opt-in
};

// CUfunction_attribute
enum class FunctionAttribute : int {
  threadsPerBlock = 0,
  staticSharedBytes = 1,
  registers = 4,
  dynamicSharedBytes = 8
};

// CUpointer_attribute
enum class PointerAttribute : int { memoryType = 2, ordinal = 9 };

// CUtensorMapDataType
enum class TensorMapType : int { float16 = 6, bfloat16 = 9 };
inline constexpr int tensorMapInterleaveNone = 0; // CU_TENSOR_MAP_INTERLEAVE_NONE
inline constexpr int tensorMapSwizzleNone = 0;    // CU_TENSOR_MAP_SWIZZLE_NONE
inline constexpr int tensorMapSwizzle128 = 3;     // CU_TENSOR_MAP_SWIZZLE_128B
inline constexpr int tensorMapPromotion256 = 3;   // CU_TENSOR_MAP_L2_PROMOTION_L2_256B
inline constexpr int tensorMapFillZero = 0;       // CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE

inline constexpr unsigned memoryTypeDevice = 2;  // CU_MEMORYTYPE_DEVICE
inline constexpr unsigned streamNonBlocking = 1; // CU_STREAM_NON_BLOCKING
inline constexpr int captureModeRelaxed = 2;     // CU_STREAM_CAPTURE_MODE_RELAXED
inline constexpr unsigned captureStatusNone = 0; // CU_STREAM_CAPTURE_STATUS_NONE

class Driver {
public:
  // Loads the library and initializes it. Throws Error (incompatible) saying what was looked for.
  explicit Driver(const std::string &library);
  Driver(const Driver &) = delete;
  Driver &operator=(const Driver &) = delete;

  // One function, with the name that messages give it.
  template <typename... Parameters> class Entry {
  public:
    template <typename... Arguments> void operator()(Arguments... arguments) const {
      driver_->check(name_, function_(arguments...));
    }
    template <typename... Arguments> Result raw(Arguments... arguments) const { return function_(arguments...); }

  private:
    friend class Driver;
    const Driver *driver_ = nullptr;
    const char *name_ = nullptr;
    Result (*function_)(Parameters...) = nullptr;
  };

  Entry<int *> DriverGetVersion;
  Entry<int *> DeviceGetCount;
  Entry<Ordinal *, int> DeviceGet;
  Entry<char *, int, Ordinal> DeviceGetName;
  Entry<int *, DeviceAttribute, Ordinal> DeviceGetAttribute;
  Entry<Context *, Ordinal> DevicePrimaryCtxRetain;
  Entry<Ordinal> DevicePrimaryCtxRelease;
  Entry<Context *> CtxGetCurrent; // null if the thread has none
  Entry<Ordinal *> CtxGetDevice;
  Entry<Context> CtxPushCurrent;
  Entry<Context *> CtxPopCurrent;
  Entry<> CtxSynchronize;
  Entry<Module *, const void *> ModuleLoadData;
  Entry<Module> ModuleUnload;
  Entry<Function *, Module, const char *> ModuleGetFunction;
  Entry<int *, FunctionAttribute, Function> FuncGetAttribute;
  Entry<Function, FunctionAttribute, int> FuncSetAttribute;
  Entry<int *, Function, int, size_t> OccupancyMaxActiveBlocksPerMultiprocessor;
  Entry<Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void **, void **>
      LaunchKernel;
  Entry<TensorMap *, TensorMapType, uint32_t, void *, const uint64_t *, const uint64_t *, const uint32_t *,
        const uint32_t *, int, int, int, int>
      TensorMapEncodeTiled;
  Entry<Address *, size_t> MemAlloc;
  Entry<Address> MemFree;
  Entry<size_t *, size_t *> MemGetInfo;
  Entry<void **, size_t, unsigned> MemHostAlloc;
  Entry<void *> MemFreeHost;
  Entry<Address, const void *, size_t, Stream> MemcpyHtoDAsync;
  Entry<void *, Address, size_t, Stream> MemcpyDtoHAsync;
  Entry<Address, Address, size_t, Stream> MemcpyDtoDAsync;
  Entry<Address, unsigned char, size_t, Stream> MemsetD8Async;
  Entry<void *, PointerAttribute, Address> PointerGetAttribute;
  Entry<Stream *, unsigned> StreamCreate;
  Entry<Stream> StreamDestroy;
  Entry<Stream> StreamSynchronize;
  Entry<Stream, Event, unsigned> StreamWaitEvent;
  Entry<Stream, unsigned *> StreamIsCapturing;
  Entry<Stream, int> StreamBeginCapture;
  Entry<Stream, Graph *> StreamEndCapture;
  Entry<GraphExec *, Graph, unsigned long long> GraphInstantiateWithFlags;
  Entry<GraphExec, Stream> GraphLaunch;
  Entry<GraphExec> GraphExecDestroy;
  Entry<Graph> GraphDestroy;
  Entry<int *> ThreadExchangeStreamCaptureMode;
  Entry<Event *, unsigned> EventCreate;
  Entry<Event> EventDestroy;
  Entry<Event, Stream> EventRecord;
  Entry<Event> EventQuery;
  Entry<Event> EventSynchronize;
  Entry<float *, Event, Event> EventElapsedTime;

  // "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
  std::string describe(const char *function, Result result) const;
  // Throws Error unless the result is success.
  void check(const char *function, Result result) const;
  // Whether the result came from a kernel that did something impossible, after which the process cannot use the GPU.
  static bool isKernelFault(Result result);

private:
  template <typename... Parameters>
  void find(Entry<Parameters...> &entry, const char *name, const char *symbol, void *handle,
            const std::string &library);

  Result (*getErrorName_)(Result, const char **) = nullptr;
  Result (*getErrorString_)(Result, const char **) = nullptr;
};

inline constexpr const char *driverLibrary = "libcuda.so.1";

// One driver for all who ask; it is never unloaded, since it cannot be initialized twice in a process.
std::shared_ptr<const Driver> openDriver(const std::string &library = driverLibrary);

} // namespace evt::runtime::cuda

#endif
