// Expressions that a program can write: an affine expression, or the smallest or the largest of a few.
//
//   [n] -> { E0[e] -> [(7)] : 7e < n - 7; [(n - 7e)] : 7e >= n - 7 }        the smallest of 7 and n - 7e
//
// An expression by pieces has this form if the same comparison of all its pieces' expressions gives the right one
// everywhere. Others have none.
#ifndef EVT_COMPILER_ANALYSIS_AFFINEFOLD_H
#define EVT_COMPILER_ANALYSIS_AFFINEFOLD_H

#include "compiler/analysis/IntegerSet.h"

#include <optional>
#include <vector>

namespace evt {

/// The smallest (largest) of `terms`; no terms: nothing is asked of it.
struct AffineFold {
  bool largest = false;
  std::vector<isl::aff> terms;
};

/// The form of an expression that is needed only on `where`, and must be defined there; none if it has none.
std::optional<AffineFold> foldOf(const isl::pw_aff &value, const isl::set &where);

/// The extreme values of an expression, infinite or NaN (no value at all) included. isl finds them for an expression
/// itself only if no piece of it has fractions, which (n + (n mod 2)) / 2 has although its values are integers.
isl::val leastValue(const isl::pw_aff &value);
isl::val largestValue(const isl::pw_aff &value);

} // namespace evt

#endif
