// A task graph as text: to look at, and to compare in tests.
#ifndef EVT_COMPILER_ANALYSIS_EXTRACT_PRINTTASKGRAPH_H
#define EVT_COMPILER_ANALYSIS_EXTRACT_PRINTTASKGRAPH_H

#include "compiler/analysis/TaskGraph.h"

#include <string>

namespace evt {

/// One line for each symbol, memory, event and call, and one for each use of a call below it. Conditions that the
/// symbols' ranges and the call's domain already imply are left out. For @total of the row sum:
///
///   call C1 total [n] -> { C1[i] : 0 <= i < n }
///     order { C1[i] -> [1, i, 0] }
///     wait done { C1[i] -> E0[i] }
///     read p { C1[i] -> M2[i, i1] : 0 <= i1 <= 3 }
///     write y { C1[i] -> M1[i] }
std::string printTaskGraph(const TaskGraph &graph);

} // namespace evt

#endif
