// The task graph at given symbol values, task by task. For small shapes only: to show a graph, to explain a
// counterexample, to check the symbolic answers in tests.
#ifndef EVT_COMPILER_ANALYSIS_ENUMERATE_H
#define EVT_COMPILER_ANALYSIS_ENUMERATE_H

#include "compiler/analysis/Counterexample.h"
#include "compiler/analysis/TaskGraph.h"

#include <optional>
#include <vector>

namespace evt {

/// One element of an event: who notifies it and who waits for it, as indices into ConcreteGraph::tasks.
struct ConcreteElement {
  int event = -1;
  std::vector<int64_t> element;
  std::optional<int64_t> count; // absent: read from memory
  std::vector<int> notifiers;   // a task that notifies it through two uses is there twice
  std::vector<int> waiters;
};

struct ConcreteGraph {
  std::vector<Task> tasks;               // in program order
  std::vector<ConcreteElement> elements; // by event, then lexicographically; only those notified or waited for
  /// Pairs (notifier, waiter) as indices into `tasks`, sorted, each once. Uses that are not exact give every pair
  /// they could.
  std::vector<std::pair<int, int>> edges;
  size_t points = 0; // tasks, notifications and waits together
};

/// Lists the graph at `symbols`; none if it has more than `maxPoints` tasks, notifications and waits together.
std::optional<ConcreteGraph> enumerate(const TaskGraph &graph, const SymbolValues &symbols, size_t maxPoints = 100000);

} // namespace evt

#endif
