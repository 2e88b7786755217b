// A step that was compiled for the CPU, as a kernel of the fake GPU. Where FAKE_STEP_STUCK is a number, the launch of
// that number gives up as a kernel does whose wait lasts too long, and those behind it leave at once.
#include "StepCounts.h"

#include "runtime/cuda/fake/FakeKernel.h"

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>

namespace {

using Worker = void (*)(const evt_launch *, uint32_t);

void evt_kernel_worker(const evt_launch *launch, uint32_t id) {
  static const auto worker =
      reinterpret_cast<Worker>(dlsym(dlopen(EVT_STEP_KERNEL, RTLD_NOW | RTLD_LOCAL), "evt_kernel_worker"));
  const char *stuck = std::getenv("FAKE_STEP_STUCK");
  static std::atomic<int> launches = 0;
  if (stuck && id == 0 && launches++ == std::atoi(stuck))
    __atomic_store_n(launch->abort, EVT_ABORT_LIMIT, __ATOMIC_RELEASE);
  worker(launch, id);
}

} // namespace

FAKE_CUDA_KERNEL(STEP_MEMORIES, STEP_SYMBOLS, STEP_REGIONS)
