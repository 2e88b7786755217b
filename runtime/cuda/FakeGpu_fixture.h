// What the tests of the CUDA target share: the fake driver, programs on it, and tensors in its memory.
#ifndef EVT_RUNTIME_CUDA_FAKEGPU_FIXTURE_H
#define EVT_RUNTIME_CUDA_FAKEGPU_FIXTURE_H

#include "runtime/cuda/CudaBackend.h"
#include "runtime/cuda/Gpu.h"
#include "runtime/cuda/fake/FakeCuda.h"
#include "runtime/launch/RowSum_fixture.h"

#include <cstring>
#include <dlfcn.h>
#include <thread>

namespace evt::runtime::cuda {

class FakeGpu : public testing::Test {
protected:
  FakeGpu() : driver(openDriver(EVT_FAKE_CUDA)) {
    void *library = dlopen(EVT_FAKE_CUDA, RTLD_NOW);
    fake = reinterpret_cast<fakecuda::State *(*)()>(dlsym(library, "fakeCuda"))();
    replay = reinterpret_cast<void (*)()>(dlsym(library, "fakeCudaReplay"));
    *fake = {};
  }
  void TearDown() override {
    EXPECT_TRUE(fake->nothingLeft()) << fake->allocations << " allocations, " << fake->pinned << " pinned, "
                                     << fake->streams << " streams, " << fake->events << " events, " << fake->modules
                                     << " modules, " << fake->contexts << " contexts are left";
    *fake = {};
  }

  static Artifact artifact(const std::string &name) {
    return loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/" + name + "_cuda");
  }
  static std::unique_ptr<Program> onGpu(Artifact artifact) {
    return std::make_unique<Program>(std::move(artifact),
                                     [](const Artifact &a) { return makeBackendOn(a, EVT_FAKE_CUDA); });
  }
  static std::unique_ptr<Program> onGpu(const std::string &name) { return onGpu(artifact(name)); }

  std::shared_ptr<const Driver> driver;
  fakecuda::State *fake;
  void (*replay)();
};

// Memory, copies and a stream as a caller of the runtime has them.
class Caller {
public:
  explicit Caller(std::shared_ptr<const Driver> driver) : gpu(std::move(driver)) {
    Gpu::Scope scope(gpu);
    gpu.driver().StreamCreate(&stream, streamNonBlocking);
  }
  ~Caller() {
    Gpu::Scope scope(gpu);
    gpu.driver().StreamSynchronize.raw(stream);
    for (Address address : addresses)
      gpu.driver().MemFree(address);
    gpu.driver().StreamDestroy(stream);
  }

  // The same tensor on the GPU.
  DLTensor onDevice(HostTensor &tensor) {
    Gpu::Scope scope(gpu);
    Address address;
    gpu.driver().MemAlloc(&address, tensor.bytes() + 16);
    addresses.push_back(address);
    gpu.driver().MemcpyHtoDAsync(address, static_cast<const void *>(tensor.data()), tensor.bytes(), stream);
    gpu.driver().StreamSynchronize(stream);
    DLTensor view = tensor.dlpack();
    view.device = {kDLCUDA, 0};
    view.data = reinterpret_cast<void *>(address);
    return view;
  }
  void fetch(HostTensor &tensor, const DLTensor &from) {
    Gpu::Scope scope(gpu);
    gpu.driver().MemcpyDtoHAsync(tensor.data(), reinterpret_cast<Address>(from.data), tensor.bytes(), stream);
    gpu.driver().StreamSynchronize(stream);
  }
  void synchronize() {
    Gpu::Scope scope(gpu);
    gpu.driver().StreamSynchronize(stream);
  }

  Gpu gpu;
  Stream stream = nullptr;
  std::vector<Address> addresses;
};

// row_sum's arguments on the GPU, with the reference on the host.
struct DeviceRowSum {
  DeviceRowSum(Caller &caller, int64_t n)
      : caller(caller), host(n), x(caller.onDevice(host.x)), y(caller.onDevice(host.y)) {}
  std::vector<evt_value> values() const { return {{&x, 0}, {&y, 0}}; }
  bool correct() {
    caller.fetch(host.y, y);
    return host.correct();
  }
  void spoil() { // what a launch must overwrite
    for (int64_t i = 0; i < host.y.elements(); ++i)
      host.y.set(i, -1);
    Gpu::Scope scope(caller.gpu);
    caller.gpu.driver().MemcpyHtoDAsync(reinterpret_cast<Address>(y.data), static_cast<const void *>(host.y.data()),
                                        host.y.bytes(), caller.stream);
    caller.gpu.driver().StreamSynchronize(caller.stream);
  }

  Caller &caller;
  RowSumArguments host;
  DLTensor x, y;
};

} // namespace evt::runtime::cuda

#endif
