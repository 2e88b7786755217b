// A step that was compiled for the CPU, as a kernel of the fake GPU.
#include "StepCounts.h"

#include "runtime/cuda/fake/FakeKernel.h"

#include <dlfcn.h>

namespace {

using Worker = void (*)(const evt_launch *, uint32_t);

void evt_kernel_worker(const evt_launch *launch, uint32_t id) {
  static const auto worker =
      reinterpret_cast<Worker>(dlsym(dlopen(EVT_STEP_KERNEL, RTLD_NOW | RTLD_LOCAL), "evt_kernel_worker"));
  worker(launch, id);
}

} // namespace

FAKE_CUDA_KERNEL(STEP_MEMORIES, STEP_SYMBOLS, STEP_REGIONS)
