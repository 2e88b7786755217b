// What a run came to, as text for people or JSON for programs.
#ifndef EVT_TOOLS_EVT_RUNREPORT_H
#define EVT_TOOLS_EVT_RUNREPORT_H

#include "runtime/launch/Program.h"
#include "runtime/observe/HappensBefore.h"
#include "runtime/tensor/Compare.h"
#include "runtime/tensor/HostTensor.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace evt::tool {

/// A result beside its reference.
struct Expectation {
  std::string file;
  runtime::Comparison comparison;
  double tolerance = 0;

  /// NaN agrees with NaN only.
  bool met() const { return comparison.mismatchedNaN == 0 && comparison.relativeError <= tolerance; }
};

/// Compares, floats of different types as f32. Throws runtime::Error (argument) if types or shapes do not fit.
Expectation compareWith(const std::string &file, const runtime::HostTensor &found, const runtime::HostTensor &expected,
                        double tolerance);

struct OutputReport {
  std::string name;
  runtime::DataType type;
  std::vector<int64_t> shape;
  uint64_t fingerprint = 0; // fnv1a64 of its bytes
  std::optional<Expectation> expectation;
};

struct RunReport {
  std::string graph;
  std::vector<std::pair<std::string, int64_t>> symbols;
  std::string schedule;
  std::string why;      // it was picked, if it was
  bool verbose = false; // the text says so
  unsigned workers = 0;
  int64_t tasks = 0;
  std::vector<double> seconds; // of each launch without an observer
  std::optional<double> observedSeconds;
  std::vector<OutputReport> outputs;
  std::optional<observe::CheckReport> check;
  std::vector<std::string> obligations; // that a clean check has held
  std::vector<std::string> failures;    // why the exit code is 1

  bool ok() const { return failures.empty(); }
};

uint64_t fingerprintOf(const runtime::HostTensor &tensor);

/// "  y agrees with 'y.npy': relative error 0, required at most 0"
std::string expectationText(const OutputReport &output);
nlohmann::ordered_json outputJson(const OutputReport &output);

std::string toText(const RunReport &report);
std::string toJson(const RunReport &report);

} // namespace evt::tool

#endif
