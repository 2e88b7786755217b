// Which tasks must be ordered, from what they read and write.
//
// Two tasks conflict if both touch an element of a memory and one of them writes it. In a correct program every such
// pair is ordered. It is enough to look at the *direct* dependences, taken from the program run in its written order:
//
//   last writer -> reader        reader -> next writer        writer -> next writer
//
// Every other conflicting pair is a chain of these: between two writes of one element there are only the writes in
// between. An access that is only possible (an index read from memory, a task of a ragged call) is a source like any
// other but never hides an earlier one, so a direct dependence is never missed.
#ifndef EVT_COMPILER_ANALYSIS_DEPENDENCES_H
#define EVT_COMPILER_ANALYSIS_DEPENDENCES_H

#include "compiler/analysis/TaskGraph.h"

#include <vector>

namespace evt {

/// Tasks of `source` that must be complete before tasks of `sink` touch `memory`. `relation` is from source to sink
/// tasks, all of it forward in program order, and may hold pairs that do not conflict when accesses are inexact.
struct Dependence {
  int memory = -1;
  int source = -1;
  int sink = -1;
  bool sinkWrites = false;
  /// How many of the sink's waits come before its access: only these can order it.
  unsigned sinkWaits = 0;
  isl::map relation;
};

/// All direct dependences, in a fixed order (by memory, sink, source). Work beyond `operationLimit` for one access
/// falls back to all conflicting pairs of it, which are more but never fewer.
std::vector<Dependence> directDependences(const TaskGraph &graph, unsigned long operationLimit);

/// The pairs of a dependence that certainly conflict: both accesses exact, both tasks certain to exist.
isl::map certainConflicts(const TaskGraph &graph, const Dependence &dependence);

} // namespace evt

#endif
