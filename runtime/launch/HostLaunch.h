// An evt_launch in host memory with everything it points to: what CPU workers run on, and what evt_kernel_explain is
// given on every target.
#ifndef EVT_RUNTIME_LAUNCH_HOSTLAUNCH_H
#define EVT_RUNTIME_LAUNCH_HOSTLAUNCH_H

#include "device/common/abi.h"
#include "runtime/launch/Binding.h"

#include <vector>

namespace evt::runtime {

struct HostLaunch {
  // `memories` and `regions` are addresses in the manifest's order, which must outlive this object. Throws Error
  // (memory) if the tasks are too many for a byte each.
  HostLaunch(Binding binding, std::vector<void *> memories, std::vector<void *> regions, evt_schedule schedule,
             unsigned workers);
  HostLaunch(const HostLaunch &) = delete;
  HostLaunch &operator=(const HostLaunch &) = delete;

  Binding binding;
  std::vector<void *> memories, regions;
  struct alignas(64) StatusLine {
    evt_status status{};
  };
  static_assert(sizeof(StatusLine) == sizeof(evt_status), "the kernel indexes an array of evt_status");
  std::vector<StatusLine> status; // all without a task
  std::vector<uint8_t> done;
  alignas(64) uint32_t abort = EVT_ABORT_NONE;
  evt_fault fault{};
  evt_launch launch{}; // without hooks, perturbation and injection
};

} // namespace evt::runtime

#endif
