// Measures the ceilings of the CPU: a stream of reads and a chain of multiply-adds on every thread this process has.
#ifndef EVT_TOOLS_EVT_CEILINGS_CPUMEASUREMENT_H
#define EVT_TOOLS_EVT_CEILINGS_CPUMEASUREMENT_H

#include "tools/evt/ceilings/Ceilings.h"

#include <cstddef>
#include <functional>

namespace evt::tool {

using Progress = std::function<void(const std::string &)>;

struct CpuMeasurement {
  unsigned threads = 0;   // 0: one for each CPU this process may use
  size_t bytes = 0;       // read in all; 0: four times the last cache, at least 512 MB
  double seconds = 0.02;  // of one run of multiply-adds, about
  unsigned repeats = 9;   // the median counts, after a run that does not
  Progress progress = {}; // told what is measured
};

CpuCeilings measureCpu(const CpuMeasurement &how);

} // namespace evt::tool

#endif
