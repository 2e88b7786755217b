#include "tools/evt/BenchRegistry.h"

// EVT_BENCH_LIST names a file with one EVT_BENCH(NAME) for each registered benchmark; CMake writes it.
#ifdef EVT_BENCH_LIST
#define EVT_BENCH(name)                                                                                                \
  extern "C" const char *const evt_bench_##name##_summary;                                                             \
  extern "C" int evt_bench_##name(int argc, char **argv);
#include EVT_BENCH_LIST
#undef EVT_BENCH
#endif

namespace evt::tool {

const std::vector<RegisteredBench> &registeredBenches() {
  static const std::vector<RegisteredBench> benches{
#ifdef EVT_BENCH_LIST
#define EVT_BENCH(name) {#name, evt_bench_##name##_summary, evt_bench_##name},
#include EVT_BENCH_LIST
#undef EVT_BENCH
#endif
  };
  return benches;
}

} // namespace evt::tool
