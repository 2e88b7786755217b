// C++ for protocols: what each task waits for and notifies, and what completing an event element makes ready.
#pragma once

#include "CodeWriter.h"
#include "GraphCode.h"
#include "WaitSinking.h"

namespace evt::emit {

/// Where the waiters of an element are found, for the dynamic schedule. One per (call, wait of the call).
struct Trigger {
  /// C++ that calls `ready(l0, c0, ...)` for every task waiting for element (e0, e1, ...), over the symbols by name;
  /// for tasks that wait for the same, which differ in their last coordinates, once and without those.
  std::string code;
  /// Why there is none; the program cannot run under the dynamic schedule then.
  std::string refusal;
};
using Triggers = std::vector<std::vector<Trigger>>;

/// `count_E(P, a0, ...)` for events whose count does not come from memory.
void emitCounts(const GraphCode &graph, CodeWriter &out);
/// Declares `complete_E(w, P, a0, ...)`, which emitTriggers defines; members of a class need no declaration before.
void declareCompletions(const GraphCode &graph, CodeWriter &out);
/// `notify_E<Use>(use, P, a0, ...)`. Events whose count is `proved` are notified without looking at the sum; those
/// that are `hinted` tell early readers first (EarlyRows.h).
void emitNotifies(const GraphCode &graph, const std::vector<bool> &proved, const std::vector<bool> &hinted,
                  CodeWriter &out);
/// `hints_K<Use>(use, P, coords)`: the waits of a call, for the hints of events that have them.
void emitHints(const GraphCode &graph, unsigned call, const std::vector<bool> &hinted, CodeWriter &out);
/// `waits_K<Use>(use, P, coords)` and `notifies_K<Use>(use, P, coords)` of every call.
void emitProtocols(const GraphCode &graph, CodeWriter &out);
/// `waits_beside_K<Use>(use, P, coords)`: all waits of a call but the sunk one; `waits_along_K<Use>(use, P, from, to,
/// coords)`: of that one, those for elements from … to - 1.
void emitSunkWaits(const GraphCode &graph, unsigned call, const SunkWait &sunk, CodeWriter &out);
/// `ready_K(w, P, coords)` of every call and `complete_E(w, P, a0, ...)` of every event.
void emitTriggers(const GraphCode &graph, const Triggers &triggers, const std::vector<unsigned> &sharedTail,
                  CodeWriter &out);

} // namespace evt::emit
