#include "runtime/launch/HostLaunch.h"

#include "runtime/Error.h"

#include <utility>

namespace evt::runtime {

HostLaunch::HostLaunch(Binding given, std::vector<void *> memoryList, std::vector<void *> regionList,
                       evt_schedule schedule, unsigned workers)
    : binding(std::move(given)), memories(std::move(memoryList)), regions(std::move(regionList)), status(workers) {
  for (StatusLine &line : status)
    line.status.task = -1; // no task yet: 0 would be the first one
  try {
    done.resize(static_cast<size_t>(binding.shapes.tasks));
  } catch (const std::exception &) {
    throw Error(EVT_ERROR_MEMORY,
                "cannot allocate a byte for each of " + std::to_string(binding.shapes.tasks) + " tasks");
  }
  launch.abi_version = EVT_ABI_VERSION;
  launch.schedule = schedule;
  launch.workers = workers;
  launch.memories = memories.data();
  launch.symbols = binding.symbols.data();
  launch.regions = regions.data();
  launch.status = &status.data()->status;
  launch.abort = &abort;
  launch.fault = &fault;
  launch.done = done.data();
  launch.inject_call = launch.inject_task = -1;
}

} // namespace evt::runtime
