#include "tools/evt/BenchRegistry.h"

// Benches.inc holds one EVT_BENCH(NAME) for each registered benchmark; CMake writes it.
#define EVT_BENCH(name)                                                                                                \
  extern "C" const char *const evt_bench_##name##_summary;                                                             \
  extern "C" int evt_bench_##name(int argc, char **argv);
#include "tools/evt/Benches.inc"
#undef EVT_BENCH

namespace evt::tool {

const std::vector<RegisteredBench> &registeredBenches() {
#define EVT_BENCH(name) {#name, evt_bench_##name##_summary, evt_bench_##name},
  static const std::vector<RegisteredBench> benches{
#include "tools/evt/Benches.inc"
  };
#undef EVT_BENCH
  return benches;
}

} // namespace evt::tool
