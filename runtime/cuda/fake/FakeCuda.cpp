#include "runtime/cuda/fake/FakeCuda.h"

#include "device/cuda/simulated/tensor_map.h"
#include "runtime/cuda/fake/Streams.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

using namespace fakecuda;

namespace {

enum : int {
  success = 0,
  invalidValue = 1,
  outOfMemory = 2,
  notInitialized = 3,
  noDevice = 100,
  invalidImage = 200,
  invalidContext = 201,
  notFound = 500,
  notReady = 600,
  captureUnsupported = 900,
};

struct Error {
  int code;
  const char *name, *text;
};
constexpr Error errors[] = {
    {invalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {outOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {notInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {noDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {notFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {notReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {captureUnsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "operation not permitted when stream is capturing"},
};

// A kernel is one function for a block, or, where it is simulated, one for all blocks of a launch.
struct Function {
  void (*run)(const void *parameters, uint32_t block);
  void (*launch)(const void *parameters, uint32_t blocks, uint32_t threads, uint32_t sharedBytes);
  uint32_t parameterBytes;
};
struct Module {
  void *handle;
  int file;
  std::map<std::string, Function> functions;
};

// A simulated GPU has as many SMs as EVT_SIMULATED_SMS says (8), each with room for one block.
State initialState() {
  State made;
#ifdef EVT_SIMULATED_DRIVER
  const char *given = std::getenv("EVT_SIMULATED_SMS");
  made.multiprocessors = given && std::atoi(given) > 0 ? std::atoi(given) : 8;
  made.blocksPerMultiprocessor = 1;
  made.memoryBytes = uint64_t(64) << 30;
#endif
  return made;
}

State state = initialState();
std::mutex mutex;                    // guards all of the following, and the state's counts
std::map<uint64_t, uint64_t> blocks; // device address -> bytes
uint64_t used = 0;
std::set<FakeStream *> streams;
bool initialized = false;
int primaryContext; // its address is the context
thread_local int contextDepth = 0;
thread_local int captureMode = 0; // CU_STREAM_CAPTURE_MODE_GLOBAL

// What every function asks first: 0 to go on.
int enter(const char *name, bool needsContext = true) {
  std::lock_guard lock(mutex);
  if (state.failing == name && state.failingCalls++ >= state.failingFrom)
    return state.failingResult;
  if (!initialized)
    return notInitialized;
  return needsContext && contextDepth == 0 ? invalidContext : success;
}

// Nothing can wait for a stream that is captured (null: for all of them).
int waitsForCapture(void *stream) {
  std::lock_guard lock(mutex);
  return state.capturing && (!stream || state.capturing == stream) ? captureUnsupported : success;
}

// A thread that has not asked for the relaxed mode can neither allocate nor wait while anybody captures.
int refusedWhileCapturing() {
  std::lock_guard lock(mutex);
  return state.capturing && captureMode != 2 ? captureUnsupported : success;
}

// The host address of a range of device memory; null if it is not inside one allocation.
char *inside(uint64_t address, size_t bytes) {
  std::lock_guard lock(mutex);
  auto next = blocks.upper_bound(address);
  if (next == blocks.begin())
    return nullptr;
  auto [begin, size] = *std::prev(next);
  if (address - begin > size || bytes > size - (address - begin))
    return nullptr;
  return reinterpret_cast<char *>(address & ~deviceBit);
}

void count(int64_t State::*what, int64_t change = 1) {
  std::lock_guard lock(mutex);
  state.*what += change;
}

FakeStream *streamOf(void *stream) { return static_cast<FakeStream *>(stream); }

size_t sizeOfImage(const char *image) {
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof header);
  return header.e_shoff + size_t(header.e_shnum) * header.e_shentsize;
}

// Parameters may hold tensor maps, which lie at multiples of 64 bytes.
std::shared_ptr<void> aligned(const std::vector<unsigned char> &parameters) {
  void *memory = std::aligned_alloc(64, (parameters.size() + 63) / 64 * 64);
  std::memcpy(memory, parameters.data(), parameters.size());
  return {memory, std::free};
}

void put(const State::Launch &launch, const Function &kernel) {
  streamOf(launch.stream)->add([launch, kernel] {
    std::shared_ptr<void> parameters = aligned(launch.parameters);
    if (kernel.launch)
      return kernel.launch(parameters.get(), launch.grid, launch.block, launch.sharedBytes);
    std::vector<std::thread> threads;
    for (unsigned b = 0; b < launch.grid; ++b)
      threads.emplace_back([&parameters, &kernel, b] { kernel.run(parameters.get(), b); });
    for (std::thread &thread : threads)
      thread.join();
  });
}

std::vector<Function> capturedKernels;

struct Graph {
  std::vector<State::Launch> launches;
  std::vector<Function> kernels;
};

} // namespace

#define ENTER(...)                                                                                                     \
  if (int failed = enter(__VA_ARGS__))                                                                                 \
  return failed

extern "C" {

State *fakeCuda() { return &state; }

void fakeCudaReplay() {
  for (size_t i = 0; i < state.captured.size(); ++i)
    put(state.captured[i], capturedKernels[i]);
}

int cuInit(unsigned) {
  std::lock_guard lock(mutex);
  if (state.failing == "cuInit")
    return state.failingResult;
  initialized = true;
  return state.devices ? success : noDevice;
}
int cuGetErrorName(int code, const char **name) {
  for (const Error &error : errors)
    if (error.code == code)
      *name = error.name;
  return success;
}
int cuGetErrorString(int code, const char **text) {
  for (const Error &error : errors)
    if (error.code == code)
      *text = error.text;
  return success;
}
int cuDriverGetVersion(int *version) {
  *version = 12080;
  return success;
}
int cuDeviceGetCount(int *devices) {
  ENTER("cuDeviceGetCount", false);
  *devices = state.devices;
  return success;
}
int cuDeviceGet(int *device, int ordinal) {
  ENTER("cuDeviceGet", false);
  *device = ordinal;
  return ordinal < state.devices ? success : invalidValue;
}
int cuDeviceGetName(char *name, int length, int) {
  ENTER("cuDeviceGetName", false);
  std::strncpy(name, deviceBit ? "Fake GPU" : "Simulated GPU", static_cast<size_t>(length));
  return success;
}
int cuDeviceGetAttribute(int *value, int attribute, int) {
  ENTER("cuDeviceGetAttribute", false);
  switch (attribute) {
  case 16:
    *value = state.multiprocessors;
    return success;
  case 38:
    *value = state.cacheBytes;
    return success;
  case 75:
    *value = state.major;
    return success;
  case 76:
    *value = state.minor;
    return success;
  case 97:
    *value = state.sharedBytesPerBlock;
    return success;
  default:
    return invalidValue;
  }
}
int cuDevicePrimaryCtxRetain(void **context, int) {
  ENTER("cuDevicePrimaryCtxRetain", false);
  *context = &primaryContext;
  count(&State::contexts);
  return success;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  count(&State::contexts, -1);
  return success;
}
int cuCtxGetCurrent(void **context) {
  *context = contextDepth ? &primaryContext : nullptr;
  return success;
}
int cuCtxGetDevice(int *device) {
  *device = 0;
  return contextDepth ? success : invalidContext;
}
int cuCtxPushCurrent_v2(void *context) {
  ENTER("cuCtxPushCurrent", false);
  ++contextDepth;
  return context == &primaryContext ? success : invalidContext;
}
int cuCtxPopCurrent_v2(void **context) {
  *context = &primaryContext;
  --contextDepth;
  return success;
}
int cuCtxSynchronize() {
  ENTER("cuCtxSynchronize");
  if (int failed = waitsForCapture(nullptr))
    return failed;
  count(&State::synchronizations);
  std::unique_lock lock(mutex);
  std::set<FakeStream *> all = streams;
  lock.unlock();
  for (FakeStream *stream : all)
    stream->synchronize();
  return success;
}

int cuModuleLoadData(void **module, const void *image) {
  ENTER("cuModuleLoadData");
  const char *bytes = static_cast<const char *>(image);
  if (std::memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return invalidImage;
  int file = memfd_create("cubin", 0);
  size_t size = sizeOfImage(bytes);
  if (file < 0 || write(file, bytes, size) != static_cast<ssize_t>(size))
    return invalidImage;
  void *handle = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    close(file);
    return invalidImage;
  }
  *module = new Module{handle, file, {}};
  count(&State::modules);
  return success;
}
int cuModuleUnload(void *module) {
  ENTER("cuModuleUnload");
  Module *loaded = static_cast<Module *>(module);
  dlclose(loaded->handle);
  close(loaded->file);
  delete loaded;
  count(&State::modules, -1);
  return success;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  ENTER("cuModuleGetFunction");
  Module *loaded = static_cast<Module *>(module);
  auto find = [&](const char *suffix) { return dlsym(loaded->handle, (std::string(name) + suffix).c_str()); };
  void *run = find(""), *launch = find("_launch"), *bytes = find("_parameter_bytes");
  if ((!run && !launch) || !bytes)
    return notFound;
  state.foundIn.push_back(module);
  loaded->functions[name] = {reinterpret_cast<decltype(Function::run)>(run),
                             reinterpret_cast<decltype(Function::launch)>(launch),
                             *static_cast<const uint32_t *>(bytes)};
  *function = &loaded->functions[name];
  return success;
}
int cuFuncGetAttribute(int *value, int attribute, void *) {
  ENTER("cuFuncGetAttribute");
  *value = attribute == 1 ? 76 : attribute == 4 ? 40 : 0; // static shared bytes, registers
  return success;
}
int cuFuncSetAttribute(void *, int attribute, int value) {
  ENTER("cuFuncSetAttribute");
  return attribute == 8 && value <= state.sharedBytesPerBlock ? success : invalidValue;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocksEach, void *, int, size_t) {
  ENTER("cuOccupancyMaxActiveBlocksPerMultiprocessor");
  *blocksEach = state.blocksPerMultiprocessor;
  return success;
}
int cuLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY,
                   unsigned blockZ, unsigned sharedBytes, void *stream, void **arguments, void **extra) {
  ENTER("cuLaunchKernel");
  if (!arguments || extra || gridY * gridZ * blockY * blockZ != 1)
    return invalidValue;
  const unsigned char *bytes = static_cast<const unsigned char *>(arguments[0]);
  const Function &kernel = *static_cast<const Function *>(function);
  size_t size = kernel.parameterBytes; // a driver knows it from the kernel
  State::Launch launch{gridX, blockX, sharedBytes, stream, {bytes, bytes + size}};
  std::unique_lock lock(mutex);
  if (state.capturing == stream && stream) {
    state.captured.push_back(launch);
    capturedKernels.push_back(kernel);
    return success;
  }
  ++state.launches;
  state.launched.push_back(launch);
  lock.unlock();
  put(launch, kernel);
  return success;
}

int cuTensorMapEncodeTiled(void *map, int type, uint32_t rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                           int swizzle, int, int fill) {
  ENTER("cuTensorMapEncodeTiled", false);
  evt::simulated::TensorMap made{reinterpret_cast<uint64_t>(address), static_cast<uint64_t>(type), rank, {}, {}, {}};
  if (reinterpret_cast<uintptr_t>(map) % 64 || made.address % 16 || rank < 2 || rank > 5 || interleave ||
      swizzle != (box[0] == 64 ? 3 : 0) || fill)
    return invalidValue;
  for (uint32_t d = 0; d < rank; ++d) {
    if (dims[d] == 0 || box[d] == 0 || box[d] > 256 || (d == 4 && box[d] != 1) || steps[d] != 1 ||
        (d + 1 < rank && strides[d] % 16))
      return invalidValue;
    made.extents[d] = dims[d];
    if (d + 1 < rank)
      made.strides[d] = strides[d];
    if (d < 4)
      made.box[d] = box[d];
  }
  std::memcpy(map, &made, sizeof made);
  return success;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes) {
  ENTER("cuMemAlloc");
  if (int failed = refusedWhileCapturing())
    return failed;
  std::lock_guard lock(mutex);
  if (bytes == 0)
    return invalidValue;
  if (used + bytes > state.memoryBytes)
    return outOfMemory;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0xcd, bytes); // new memory is not zero
  *address = reinterpret_cast<uint64_t>(memory) | deviceBit;
  blocks[*address] = bytes;
  used += bytes;
  ++state.allocations;
  return success;
}
int cuMemFree_v2(uint64_t address) {
  ENTER("cuMemFree");
  if (int failed = refusedWhileCapturing())
    return failed;
  std::lock_guard lock(mutex);
  auto found = blocks.find(address);
  if (found == blocks.end())
    return invalidValue;
  used -= found->second;
  blocks.erase(found);
  std::free(reinterpret_cast<void *>(address & ~deviceBit));
  --state.allocations;
  return success;
}
int cuMemGetInfo_v2(size_t *free, size_t *total) {
  ENTER("cuMemGetInfo");
  std::lock_guard lock(mutex);
  *free = state.memoryBytes - used;
  *total = state.memoryBytes;
  return success;
}
int cuMemHostAlloc(void **memory, size_t bytes, unsigned) {
  ENTER("cuMemHostAlloc");
  *memory = std::malloc(bytes);
  count(&State::pinned);
  return success;
}
int cuMemFreeHost(void *memory) {
  ENTER("cuMemFreeHost");
  std::free(memory);
  count(&State::pinned, -1);
  return success;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *stream) {
  ENTER("cuMemcpyHtoDAsync");
  char *target = inside(to, bytes);
  if (!target)
    return invalidValue;
  count(&State::hostCopies);
  streamOf(stream)->add([=] { std::memcpy(target, from, bytes); });
  return success;
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *stream) {
  ENTER("cuMemcpyDtoHAsync");
  char *source = inside(from, bytes);
  if (!source)
    return invalidValue;
  count(&State::hostCopies);
  streamOf(stream)->add([=] { std::memcpy(to, source, bytes); });
  return success;
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  ENTER("cuMemcpyDtoDAsync");
  char *target = inside(to, bytes), *source = inside(from, bytes);
  if (!target || !source)
    return invalidValue;
  streamOf(stream)->add([=] { std::memcpy(target, source, bytes); });
  return success;
}
int cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *stream) {
  ENTER("cuMemsetD8Async");
  char *target = inside(to, bytes);
  if (!target)
    return invalidValue;
  count(&State::memsets);
  streamOf(stream)->add([=] { std::memset(target, value, bytes); });
  return success;
}
int cuPointerGetAttribute(void *value, int attribute, uint64_t address) {
  ENTER("cuPointerGetAttribute");
  if (attribute != 9 || !inside(address, 1))
    return invalidValue;
  *static_cast<int *>(value) = 0;
  return success;
}

int cuStreamCreate(void **stream, unsigned) {
  ENTER("cuStreamCreate");
  FakeStream *made = new FakeStream();
  *stream = made;
  std::lock_guard lock(mutex);
  streams.insert(made);
  ++state.streams;
  return success;
}
int cuStreamDestroy_v2(void *stream) {
  ENTER("cuStreamDestroy");
  {
    std::lock_guard lock(mutex);
    streams.erase(streamOf(stream));
    --state.streams;
  }
  delete streamOf(stream);
  return success;
}
int cuStreamSynchronize(void *stream) {
  if (int failed = waitsForCapture(stream))
    return failed;
  if (int failed = refusedWhileCapturing())
    return failed;
  count(&State::synchronizations);
  streamOf(stream)->synchronize(); // a failure is that of the work, which is over then
  ENTER("cuStreamSynchronize");
  return success;
}
int cuStreamIsCapturing(void *stream, unsigned *status) {
  ENTER("cuStreamIsCapturing");
  *status = state.capturing == stream ? 1 : 0;
  return success;
}
int cuStreamBeginCapture_v2(void *stream, int) {
  ENTER("cuStreamBeginCapture");
  std::lock_guard lock(mutex);
  if (state.capturing)
    return invalidValue;
  state.capturing = stream;
  state.captured.clear();
  capturedKernels.clear();
  return success;
}
int cuStreamEndCapture(void *stream, void **graph) {
  ENTER("cuStreamEndCapture");
  std::lock_guard lock(mutex);
  if (state.capturing != stream)
    return invalidValue;
  state.capturing = nullptr;
  *graph = new Graph{state.captured, capturedKernels};
  ++state.graphs;
  return success;
}
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags");
  *exec = new Graph(*static_cast<Graph *>(graph));
  count(&State::graphs);
  return success;
}
int cuGraphLaunch(void *exec, void *stream) {
  ENTER("cuGraphLaunch");
  Graph *graph = static_cast<Graph *>(exec);
  for (size_t i = 0; i < graph->launches.size(); ++i) {
    State::Launch launch = graph->launches[i];
    launch.stream = stream;
    put(launch, graph->kernels[i]);
  }
  return success;
}
int cuGraphExecDestroy(void *exec) {
  ENTER("cuGraphExecDestroy");
  delete static_cast<Graph *>(exec);
  count(&State::graphs, -1);
  return success;
}
int cuGraphDestroy(void *graph) {
  ENTER("cuGraphDestroy");
  delete static_cast<Graph *>(graph);
  count(&State::graphs, -1);
  return success;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
  std::swap(*mode, captureMode);
  return success;
}
int cuEventCreate(void **event, unsigned) {
  ENTER("cuEventCreate");
  *event = new FakeEvent();
  count(&State::events);
  return success;
}
int cuEventDestroy_v2(void *event) {
  ENTER("cuEventDestroy");
  delete static_cast<FakeEvent *>(event);
  count(&State::events, -1);
  return success;
}
int cuEventRecord(void *event, void *stream) {
  ENTER("cuEventRecord");
  FakeEvent *recorded = static_cast<FakeEvent *>(event);
  streamOf(stream)->add([recorded, record = recorded->begin()] {
    recorded->complete(record, static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                                     std::chrono::nanoseconds(1)));
  });
  return success;
}
int cuStreamWaitEvent(void *stream, void *event, unsigned) {
  ENTER("cuStreamWaitEvent");
  FakeEvent *awaited = static_cast<FakeEvent *>(event);
  streamOf(stream)->add([awaited, record = awaited->last()] { awaited->wait(record); });
  return success;
}
int cuEventQuery(void *event) {
  ENTER("cuEventQuery");
  return static_cast<FakeEvent *>(event)->isOver() ? success : notReady;
}
int cuEventSynchronize(void *event) {
  ENTER("cuEventSynchronize");
  FakeEvent *awaited = static_cast<FakeEvent *>(event);
  awaited->wait(awaited->last());
  return success;
}
int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
  ENTER("cuEventElapsedTime");
  *milliseconds = static_cast<float>(
      static_cast<double>(static_cast<FakeEvent *>(end)->time() - static_cast<FakeEvent *>(begin)->time()) / 1e6);
  return success;
}

} // extern "C"
