// What outputs are compared with: the options --expect and --tol, and the files they name.
#ifndef EVT_TOOLS_EVT_EXPECTATIONS_H
#define EVT_TOOLS_EVT_EXPECTATIONS_H

#include "tools/evt/Arguments.h"
#include "tools/evt/RunReport.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace evt::tool {

struct ExpectOptions {
  std::vector<std::string> files; // NAME=FILE
  double tolerance = 1e-5;
};
void addExpectOptions(CLI::App *command, ExpectOptions &options);
/// Throws Failure if the tolerance is none.
void requireTolerance(const ExpectOptions &options);

class Expectations {
public:
  /// Reads the files. Before anything runs, so that a wrong name or file costs nothing.
  void read(const ExpectOptions &options, Arguments &arguments);
  /// How an output compares with what is expected of it, if anything is.
  std::optional<Expectation> of(const std::string &name, const runtime::HostTensor &found) const;

private:
  std::map<std::string, std::pair<std::string, runtime::HostTensor>> files_;
  double tolerance_ = 0;
};

} // namespace evt::tool

#endif
