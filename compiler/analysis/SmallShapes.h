// The program at its smallest shapes, task by task. A mistake in the events nearly always shows there, where following
// the events takes no integer sets and so no time; a proof for all shapes of a program that is wrong searches long for
// what it cannot find.
#ifndef EVT_COMPILER_ANALYSIS_SMALLSHAPES_H
#define EVT_COMPILER_ANALYSIS_SMALLSHAPES_H

#include "compiler/analysis/Counterexample.h"
#include "compiler/analysis/Enumerate.h"

#include <map>
#include <optional>
#include <vector>

namespace evt {

/// Two tasks at fixed symbol values.
struct TaskPair {
  SymbolValues symbols;
  Task first, second;
};

class SmallShapes {
public:
  explicit SmallShapes(const TaskGraph &graph) : graph(graph) {}

  /// Among `pairs` (tasks of one call -> tasks of another) the first, at the shape with the least sum of symbols, that
  /// no chain of events orders whatever the data. None: there is none at the shapes that were tried.
  std::optional<TaskPair> unordered(const isl::map &pairs, int from, int to);

private:
  struct Shape {
    SymbolValues symbols;
    std::map<std::pair<int, std::vector<int64_t>>, size_t> indexOf; // of a task, in program order
    std::vector<std::vector<bool>> before;                          // of each task, the tasks ordered before it
  };

  void list();
  bool add(const SymbolValues &symbols);

  const TaskGraph &graph;
  bool listed = false;
  size_t pointsLeft = 100'000; // tasks, notifications and waits of all shapes together
  std::vector<Shape> shapes;
};

} // namespace evt

#endif
