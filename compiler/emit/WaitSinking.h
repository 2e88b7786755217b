// Waits that move down to the loads they are for: a product of tiles fetches the columns of K that are there while the
// others are still being written.
//
// Of the second product of a causal mixing, which task i waits for elements 0 to 2 i + 2 of `projected`,
//
//   project(j)   writes columns 64 j … 64 j + 63 of v, notifies projected[j]
//   mix(i)       waits for projected[0 to 2 i + 2]; multiplies columns 0 … 128 i + 127 of v
//
// column c of v needs the elements up to c / 64 and no others. So the loader of v passes the wait as it comes to the
// columns:
//
//   64 columns    projected[0]   projected[1]   …
//   fetched             |              |
//
// It is done where the prover has all of it. A column is ordered behind its writers by the task's other waits and the
// elements up to its own; other operands, of that loader or of the other one, by the other waits; and what compute
// reads, which begins with the first columns, by the other waits and the elements of these. What the task writes
// follows all columns, and so all waits, and so do its notifies. A loader that waits in the middle of a task owes
// nothing to smaller ones, whose stages it has all issued: the argument for progress stands.
//
// Rows that are read early (EarlyRows.h) are proved with tasks that wait for all at once, so a launch has one or the
// other.
#pragma once

#include "GraphCode.h"

#include "compiler/roles/TiledProduct.h"

#include <optional>
#include <vector>

namespace evt::emit {

struct SunkWait {
  unsigned wait = 0;   // its number among the call's waits
  unsigned dim = 0;    // of the event: the one that is a range
  int64_t columns = 0; // of K that an element is for
  /// What a loader passes before its first copy: the call's other waits, or all of them; or the others, and this one
  /// `along` its columns.
  enum Passing { others, all, along };
  Passing rows = others, weights = others;
};

/// The wait of a call with a product of tiles that may be passed column by column, if there is one, and if none of the
/// `early` calls has tasks in the same launch.
std::optional<SunkWait> findSunkWait(const GraphCode &graph, unsigned call, const roles::TiledProduct &product,
                                     llvm::ArrayRef<unsigned> early);

} // namespace evt::emit
