// What `evt bench` found, as tables for people or JSON for programs.
#ifndef EVT_TOOLS_EVT_BENCHREPORT_H
#define EVT_TOOLS_EVT_BENCHREPORT_H

#include "tools/evt/RunReport.h"
#include "tools/evt/SpeedOfLight.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace evt::tool {

struct Timing {
  std::string schedule;
  unsigned workers = 0;
  double median = 0, least = 0; // seconds
};

/// One call beside its bound, from a launch that was watched.
struct CallShare {
  std::string name;
  int64_t tasks = 0;
  Bound bound;
  Occupation occupation;
  std::vector<std::string> assumptions;
};

struct SpeedOfLightReport {
  Limits limits;
  std::string measured; // when the limits were
  Bound bound;          // of the graph
  std::string schedule; // of the watched launch
  unsigned workers = 0;
  std::vector<CallShare> calls;
  double nobody = 0; // seconds of the watched launch in which no worker was busy
};

struct BenchReport {
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> symbols;
  int64_t tasks = 0, repeat = 0;
  std::vector<Timing> timings;
  std::string automatic; // what auto picks with the last number of workers, and why
  std::optional<SpeedOfLightReport> sol;
  std::vector<OutputReport> outputs; // the same bits in all launches that were looked at, or a failure says so
  std::vector<std::string> failures;
};

std::string toText(const BenchReport &report);
std::string toJson(const BenchReport &report);

} // namespace evt::tool

#endif
