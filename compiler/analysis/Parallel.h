// Which coordinates of a call carry an order among its own tasks, and which are free.
//
// For step(t, i, j) of a stencil, whose tasks wait for step(t - 1, …), coordinate t is carried: tasks that differ in t
// are ordered. Tasks that agree in t and differ in i or j are not, so i and j are free: a schedule may spread them
// over workers in any way.
#ifndef EVT_COMPILER_ANALYSIS_PARALLEL_H
#define EVT_COMPILER_ANALYSIS_PARALLEL_H

#include "compiler/analysis/TaskGraph.h"

#include <vector>

namespace evt {

/// For each coordinate of every call: whether some edge connects two of its tasks that agree in all coordinates before
/// it and differ in it. An iteration also counts as carried if a chain of edges through other calls leads from one
/// iteration to another. Edges that only some data gives count.
std::vector<std::vector<bool>> carriedCoordinates(const TaskGraph &graph);

/// Whether some task of the call might have nothing to wait for: no wait, or waits for elements whose count is 0. False
/// only if that is known.
bool mayStartReady(const TaskGraph &graph, int call);

} // namespace evt

#endif
