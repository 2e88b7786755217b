// Benchmarks that `evt bench NAME` runs.
//
// A folder bench/NAME registers one with
//
//   evt_library(evt_bench_NAME SOURCES …)
//   set_property(GLOBAL APPEND PROPERTY EVT_BENCHES NAME)
//
// and defines, with C linkage,
//
//   extern "C" const char *const evt_bench_NAME_summary = "what it measures";
//   extern "C" int evt_bench_NAME(int argc, char **argv);      // argv[0] is the name; returns an exit code
//
// The tool links every registered library (tools/evt/CMakeLists.txt); nothing is included either way, so the folders
// stay apart.
#ifndef EVT_TOOLS_EVT_BENCHREGISTRY_H
#define EVT_TOOLS_EVT_BENCHREGISTRY_H

#include <string>
#include <vector>

namespace evt::tool {

struct RegisteredBench {
  std::string name;
  std::string summary;
  int (*run)(int argc, char **argv);
};

const std::vector<RegisteredBench> &registeredBenches();

} // namespace evt::tool

#endif
