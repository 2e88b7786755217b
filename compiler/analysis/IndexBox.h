// Relations as boxes of indices: for each task, a range lo..hi on every dimension. This is the form in which a program
// writes its waits, `evt.wait %e[lo to hi, …]`, the range being clipped to the event's shape.
//
//   { step[t, i] -> E0[t - 1, a] : i - 1 <= a <= i + 1 and 0 <= a < n and t > 0 }
//
// is the box  [t - 1 .. t - 1, i - 1 .. i + 1]  : clipping to the shape gives the rest, the condition t > 0 included. A
// cross of five points is no box but the union of two.
#ifndef EVT_COMPILER_ANALYSIS_INDEXBOX_H
#define EVT_COMPILER_ANALYSIS_INDEXBOX_H

#include "compiler/analysis/IntegerSet.h"

#include <optional>
#include <vector>

namespace evt {

/// Inclusive bounds per dimension, as expressions of the task's coordinates, defined for every task.
struct IndexBox {
  std::vector<isl::pw_aff> lo, hi;
};

/// { task -> index : lo <= index <= hi }, for the tasks of `domain`, clipped to `shape`.
isl::map boxRelation(const IndexBox &box, const isl::set &domain, const isl::set &shape);

/// Boxes whose union contains `relation` (from `domain` into `shape`). They are equal to it where a few boxes with
/// simple bounds can be; whoever asks compares.
std::vector<IndexBox> coverByBoxes(const isl::map &relation, const isl::set &domain, const isl::set &shape);
/// Boxes at the same constant offsets from coordinates of every task, which contain `relation`: for { t[2] -> E[1] }
/// alone, [t - 1 .. t - 1]. None if the offsets are not constant or too many.
std::optional<std::vector<IndexBox>> coverByOffsets(const isl::map &relation, const isl::set &domain);

isl::map boxesRelation(const std::vector<IndexBox> &boxes, const isl::set &domain, const isl::set &shape);

} // namespace evt

#endif
