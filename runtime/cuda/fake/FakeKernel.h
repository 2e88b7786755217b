// A hand-written kernel of the CPU as a kernel of the fake GPU: one thread is a block. It unpacks the parameter on its
// own, from device/cuda/abi.h alone.
//
//   #include "runtime/testdata/row_sum.cpp"
//   #include "runtime/cuda/fake/FakeKernel.h"
//   FAKE_CUDA_KERNEL(3, 1, 2)                  // memories, symbols, regions
#ifndef EVT_RUNTIME_CUDA_FAKE_FAKEKERNEL_H
#define EVT_RUNTIME_CUDA_FAKE_FAKEKERNEL_H

#include "device/common/pack.h"
#include "device/cuda/abi.h"
#include "runtime/cuda/fake/FakeCuda.h"
#include "runtime/testdata/HandWritten.h"

#include <chrono>
#include <cstring>
#include <vector>

namespace fakecuda {

template <typename T> T *onHost(T *device) {
  uintptr_t address = reinterpret_cast<uintptr_t>(device);
  return reinterpret_cast<T *>(address & ~uintptr_t(deviceBit));
}

inline uint64_t nanoseconds() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1));
}

// Writes the records of one block while its worker reports to it.
struct Tracer {
  evt_cuda_record *records;
  uint32_t room, block, used = 0;
  evt_cuda_record current{};

  static Tracer &self(void *user) { return *static_cast<Tracer *>(user); }
  evt_hooks hooks() {
    evt_hooks table{};
    table.user = this;
    table.task_begin = [](void *user, uint32_t, uint32_t call, int64_t task, const int64_t *, uint32_t) {
      uint64_t now = nanoseconds();
      self(user).current = {call, self(user).block, task, now, now, 0};
    };
    table.wait_end = [](void *user, uint32_t) { self(user).current.started = nanoseconds(); };
    table.task_end = [](void *user, uint32_t) {
      self(user).current.finished = nanoseconds();
      if (self(user).used < self(user).room)
        self(user).records[self(user).used++] = self(user).current;
    };
    table.wait_begin = [](void *, uint32_t, uint32_t, int64_t, int64_t) {};
    table.notify = [](void *, uint32_t, uint32_t, int64_t) {};
    table.access = [](void *, uint32_t, uint32_t, uint32_t, const int64_t *, const int64_t *, uint32_t) {};
    return table;
  }
};

inline void runBlock(const void *parameters, uint32_t block, size_t memories, size_t symbols, size_t regions,
                     void (*worker)(const evt_launch *, uint32_t)) {
  evt_cuda_launch header;
  std::memcpy(&header, parameters, sizeof header);
  std::vector<uint64_t> words(memories + symbols + regions);
  std::memcpy(words.data(), static_cast<const char *>(parameters) + sizeof header, words.size() * sizeof(uint64_t));
  auto pointers = [&](size_t first, size_t count) {
    std::vector<void *> list;
    for (size_t i = first; i < first + count; ++i)
      list.push_back(onHost(reinterpret_cast<void *>(words[i])));
    return list;
  };
  std::vector<void *> memoryList = pointers(0, memories), regionList = pointers(memories + symbols, regions);
  std::vector<int64_t> symbolList(words.begin() + static_cast<long>(memories),
                                  words.begin() + static_cast<long>(memories + symbols));
  Tracer tracer{onHost(header.trace) + size_t(block) * header.trace_records, header.trace_records, block};
  evt_hooks hooks = tracer.hooks();
  evt_launch launch{};
  launch.abi_version = header.abi_version;
  launch.schedule = header.schedule;
  launch.workers = header.workers;
  launch.memories = memoryList.data();
  launch.symbols = symbolList.data();
  launch.regions = regionList.data();
  launch.status = onHost(header.status);
  launch.abort = onHost(header.abort);
  launch.fault = onHost(header.fault);
  launch.done = header.done ? onHost(header.done) : nullptr;
  launch.hooks = header.trace ? &hooks : nullptr;
  launch.inject_call = header.inject_call;
  launch.inject_task = header.inject_task;
  handwritten::waitLimit = {header.limit_ns, EVT_ABORT_LIMIT};
  worker(&launch, block);
}

// The same code as on a GPU, a block being one thread.
inline void packRows(const void *parameters, uint32_t block) {
  evt_cuda_pack pack;
  std::memcpy(&pack, parameters, sizeof pack);
  pack.from = onHost(pack.from);
  pack.to = onHost(pack.to);
  evt::pack(pack, block, pack.blocks);
}

} // namespace fakecuda

#define FAKE_CUDA_ENTRY(name, memories, symbols, regions)                                                              \
  extern "C" void name(const void *parameters, uint32_t block) {                                                       \
    fakecuda::runBlock(parameters, block, memories, symbols, regions, evt_kernel_worker);                              \
  }                                                                                                                    \
  extern "C" {                                                                                                         \
  extern const uint32_t name##_parameter_bytes;                                                                        \
  const uint32_t name##_parameter_bytes = sizeof(evt_cuda_launch) + 8 * ((memories) + (symbols) + (regions));          \
  }
#define FAKE_CUDA_KERNEL(memories, symbols, regions)                                                                   \
  FAKE_CUDA_ENTRY(evt_kernel_static, memories, symbols, regions)                                                       \
  FAKE_CUDA_ENTRY(evt_kernel_ticket, memories, symbols, regions)                                                       \
  FAKE_CUDA_ENTRY(evt_kernel_dynamic, memories, symbols, regions)                                                      \
  extern "C" void evt_kernel_pack(const void *parameters, uint32_t block) { fakecuda::packRows(parameters, block); }   \
  extern "C" {                                                                                                         \
  extern const uint32_t evt_kernel_pack_parameter_bytes;                                                               \
  const uint32_t evt_kernel_pack_parameter_bytes = sizeof(evt_cuda_pack);                                              \
  }

#endif
