// Is every element's count the number of notifications it receives, and is every notify inside the event's shape?
//
// The tasks that notify one element are a fibre of the notify relation. For done[i] in the row sum it is
// { partial[i, j] : 0 <= j < 4 }, a box of 1 x 4 tasks. A fibre that is a product of intervals (dense or strided, their
// ends affine) has the product of their lengths as its size: a polynomial in the symbols and the element's
// coordinates. The sizes are added over all notifies and compared with the count, for all elements and symbol values
// at once.
#ifndef EVT_COMPILER_ANALYSIS_COUNTS_H
#define EVT_COMPILER_ANALYSIS_COUNTS_H

#include "compiler/analysis/Findings.h"
#include "compiler/analysis/TaskGraph.h"

#include <optional>
#include <vector>

namespace evt {

enum class CountStatus {
  Proved,
  Violated,      // a violation was reported
  DataDependent, // rests on values in memory
  Unproved       // out of reach: a product of symbols, an odd shape, or the operation limit
};

/// For each point of the range of `relation`, how many points of the domain are related to it. None if a fibre is
/// neither a product of intervals nor a disjoint union of a few of them.
std::optional<Polynomial> fibreSizes(const isl::map &relation);

/// For each point of the domain, the number of values of each coordinate of its image; their product is the size of the
/// image. None if an image is no product of intervals.
std::optional<std::vector<isl::pw_aff>> imageSides(const isl::map &relation);

/// Checks every event's counts. The result has one status per event; findings receive a violation or the obligation
/// `count:<event>` for each that is not proved.
std::vector<CountStatus> checkCounts(const TaskGraph &graph, const ProofLimits &limits, Findings &findings);

/// Checks that no task notifies outside an event's shape; `bound:<call>:<event>` where that rests on data.
void checkNotifiesInside(const TaskGraph &graph, const ProofLimits &limits, Findings &findings);

/// The elements that a call's tasks notify (wait for), inside the event's shape and for symbols in range.
isl::map eventElements(const TaskGraph &graph, const Call &call, const EventUse &use);

} // namespace evt

#endif
