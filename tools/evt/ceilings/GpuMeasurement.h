// Measures the ceilings of a GPU with the kernels of ceilings.cu, through the driver that the runtime loads.
#ifndef EVT_TOOLS_EVT_CEILINGS_GPUMEASUREMENT_H
#define EVT_TOOLS_EVT_CEILINGS_GPUMEASUREMENT_H

#include "runtime/cuda/Gpu.h"
#include "tools/evt/ceilings/Ceilings.h"
#include "tools/evt/ceilings/CpuMeasurement.h"

#include <string_view>

namespace evt::tool {

struct GpuMeasurement {
  size_t bytes = 0;       // that a stream reads; 0: 128 times the L2 cache, at most a quarter of the memory
  unsigned rounds = 2000; // of an exchange of events
  unsigned repeats = 15;  // the median counts, after two runs that do not
  Progress progress = {}; // told what is measured
};

// Throws Failure (missing) if the GPU is older than the kernels' instructions or does not run all blocks at once, and
// runtime::Error as the driver fails; Failure (defect) if a stream did not read what it should.
GpuCeilings measureGpu(const runtime::cuda::Gpu &gpu, const std::string &cubin, const GpuMeasurement &how);

// What the kernels must be compiled for: "sm_90a". Throws Failure (missing) if the GPU is too old for them.
std::string ceilingsArchitecture(const runtime::cuda::Gpu &gpu);

// The text of ceilings.cu, which the tool carries.
extern const std::string_view ceilingsSource;

} // namespace evt::tool

#endif
