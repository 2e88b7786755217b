#include "runtime/Error.h"
#include "runtime/launch/Device.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace evt::runtime {
namespace {

constexpr uint64_t alignment = 256; // as on a GPU

class HostDevice : public Device {
public:
  DLDevice place() const override { return {kDLCPU, 0}; }
  void *allocate(uint64_t bytes) override {
    const uint64_t whole = std::max<uint64_t>((bytes + alignment - 1) / alignment, 1) * alignment;
    void *memory = whole < bytes ? nullptr : std::aligned_alloc(alignment, whole);
    if (!memory)
      throw Error(EVT_ERROR_MEMORY, "cannot allocate " + std::to_string(bytes) + " bytes");
    return memory;
  }
  void *allocateHost(uint64_t bytes) override { return allocate(bytes); }
  void free(void *memory) override { std::free(memory); }
  void freeHost(void *memory) override { std::free(memory); }
  void copy(void *to, const void *from, uint64_t bytes, evt_copy, void *) override {
    if (bytes)
      std::memmove(to, from, bytes);
  }
  void fill(void *to, uint8_t value, uint64_t bytes, void *) override {
    if (bytes)
      std::memset(to, value, bytes);
  }
  evt_memory_use used() override { return {}; }

  void *createStream() override { return nullptr; }
  void destroyStream(void *) override {}
  void synchronize(void *) override {}
  void *createEvent() override { return nullptr; }
  void destroyEvent(void *) override {}
  void record(void *, void *) override {}
  void wait(void *) override {}
  void streamWait(void *, void *) override {}
  double elapsed(void *, void *) override { return 0; }

  void pack(const RowsToPack &rows, void *) override {
    throw Error(EVT_ERROR_INCOMPATIBLE, "argument '" + rows.argument.name +
                                            "' cannot be packed: the target cpu reads tensors as they are, row-major");
  }
};

} // namespace

std::unique_ptr<Device> makeHostDevice() { return std::make_unique<HostDevice>(); }

} // namespace evt::runtime
