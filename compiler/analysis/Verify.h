// The proof that a program is well formed, for all values of its symbols:
//
//   1. every notify is inside its event's shape, and every element receives exactly its count    (Counts.h)
//   2. every wait is for tasks that come before in program order, so nothing waits for itself     (Order.h)
//   3. every direct dependence is inside the order that events give                               (Dependences.h)
//
// The row sum passes. With count(5) it does not, and the answer is
//
//   done[0] has count 5 but receives 4 notifications from partial
//     note: for example with n = 1
//
// and without the wait of @total
//
//   no event orders total(i=0) after partial(i=0, j=0), which writes p[0, 0]
//     note: for example with n = 1
//
// A violation is reported only if the case was confirmed by following all events at those symbol values. What is
// neither proved nor refuted, or rests on data, is an obligation with a name.
#ifndef EVT_COMPILER_ANALYSIS_VERIFY_H
#define EVT_COMPILER_ANALYSIS_VERIFY_H

#include "compiler/analysis/Findings.h"
#include "compiler/analysis/TaskGraph.h"

namespace evt {

/// Proves, refutes or leaves open. Throws std::invalid_argument if two tasks have the same place in program order,
/// which is a mistake of whoever built the graph, not of the program.
Findings verify(const TaskGraph &graph, const ProofLimits &limits = {});

} // namespace evt

#endif
