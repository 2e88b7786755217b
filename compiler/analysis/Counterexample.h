// The smallest values of the symbols at which something goes wrong, and how tasks and elements are written in messages.
//
// A failed proof leaves a set of parameters for which it fails. What a person wants to read is one case, as small as
// possible: the symbol values with the least sum, ties broken in the order the symbols are declared.
#ifndef EVT_COMPILER_ANALYSIS_COUNTEREXAMPLE_H
#define EVT_COMPILER_ANALYSIS_COUNTEREXAMPLE_H

#include "compiler/analysis/TaskGraph.h"

#include <optional>
#include <string>
#include <vector>

namespace evt {

/// One value per symbol of the graph, in order.
using SymbolValues = std::vector<int64_t>;

/// One task: a call and the task's coordinates.
struct Task {
  int call = -1;
  std::vector<int64_t> coord;
  bool operator==(const Task &other) const = default;
};

/// The symbol values with the least sum in `parameters` (a parameter set) and the graph's context; none if empty.
/// With `above`, only values whose sum is larger than that are considered.
std::optional<SymbolValues> smallestSymbols(const TaskGraph &graph, const isl::set &parameters,
                                            std::optional<int64_t> above = std::nullopt);
int64_t sumOf(const SymbolValues &values);

/// The set or relation at fixed symbol values.
isl::set atSymbols(const TaskGraph &graph, const isl::set &set, const SymbolValues &values);
isl::map atSymbols(const TaskGraph &graph, const isl::map &map, const SymbolValues &values);

/// The lexicographically first point of a set at fixed symbols, as coordinates; none if it is empty.
std::optional<std::vector<int64_t>> firstPoint(const isl::set &concrete);
/// The set that holds exactly one task of a call.
isl::set singleTask(const TaskGraph &graph, const Task &task);

std::string describeTask(const TaskGraph &graph, const Task &task);                        // partial(i=0, j=3)
std::string describeElement(const std::string &name, const std::vector<int64_t> &element); // p[0, 3]
std::string describeSymbols(const TaskGraph &graph, const SymbolValues &values);           // n = 1, m = 2
std::string joinNames(const std::vector<std::string> &names);                              // a, b and c

} // namespace evt

#endif
