// C++ for `Program`: a launch, unpacked. Symbols and sizes, memories with their extents, counters of events, tasks of
// calls; how they are found from what a launch says, and how counters are cleared behind it.
#pragma once

#include "CodeWriter.h"
#include "EarlyRows.h"
#include "GraphCode.h"

namespace evt::emit {

/// Regions of the workspace, in the order of the manifest and of `launch->regions`.
struct Regions {
  explicit Regions(const ir::Signature &s) : events(s.events.size()), calls(s.calls.size()) {}
  unsigned control() const { return 0; }
  unsigned queue() const { return 1; }
  unsigned event(unsigned e) const { return 2 + e; }
  unsigned join(unsigned k) const { return 2 + events + k; }
  unsigned early() const { return join(calls); } // places of tensors, three each, then hints of events
  unsigned count(const EarlyRows &rows) const {
    return early() + 3 * rows.tensors.size() + llvm::count(rows.hinted, true);
  }
  unsigned events, calls;
};

/// `struct Program`, for both targets.
void emitProgram(const GraphCode &graph, const EarlyRows &early, CodeWriter &out);

} // namespace evt::emit
