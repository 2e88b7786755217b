// What the launches on one stream share: the workspace and the memory in which the kernel reports.
//
// Launches on one stream follow each other; launches on two may overlap, so each stream has a lane of its own.
#ifndef EVT_RUNTIME_CUDA_LANE_H
#define EVT_RUNTIME_CUDA_LANE_H

#include "device/cuda/abi.h"
#include "runtime/cuda/DeviceMemory.h"

#include <vector>

namespace evt::runtime::cuda {

// Streams, events and pinned memory of a session. The *side* stream reads and writes the lanes' reports while kernels
// run: its copies must not need an SM, since a kernel may hold them all, so they go between device and pinned memory.
class Signals {
public:
  // The GPU's context must be current, also at the end.
  explicit Signals(const Gpu &gpu);
  ~Signals();
  Signals(const Signals &) = delete;
  Signals &operator=(const Signals &) = delete;

  const Driver &driver;
  Stream main = nullptr, side = nullptr;
  Event begin = nullptr, end = nullptr;
  void *pinned = nullptr;
  static constexpr size_t pinnedBytes = size_t(1) << 16;

private:
  void release();
};

// What a kernel has said.
struct KernelReport {
  uint32_t abort = EVT_ABORT_NONE;
  evt_fault fault{};
  std::vector<evt_status> status; // of each worker
};

class Lane {
public:
  // Room for the reports of at most `workers`, zeroed in the stream.
  Lane(const Gpu &gpu, unsigned workers, Stream stream);

  DeviceWorkspace workspace;

  Address abort() const { return control_.address(); }
  Address fault() const { return control_.address() + faultOffset; }
  Address status() const { return control_.address() + statusOffset; }

  size_t reportBytes() const { return control_.capacity(); }
  // In the stream.
  void zeroReport(Stream stream);
  // By the side stream, whatever runs on the others.
  uint32_t readAbort(const Signals &signals) const;
  void writeAbort(uint32_t code, const Signals &signals) const;
  KernelReport readReport(unsigned workers, const Signals &signals) const;

private:
  // abort, fault and the workers' status, each on lines of its own.
  static constexpr size_t faultOffset = 64, statusOffset = 128;
  DeviceBlock control_;
};

} // namespace evt::runtime::cuda

#endif
