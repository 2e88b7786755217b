#include "CheckGraph.h"

#include "InternalErrors.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace evt {

namespace {

const char *nameOf(ViolationKind kind) {
  switch (kind) {
  case ViolationKind::Order:
    return "order";
  case ViolationKind::Count:
    return "count";
  case ViolationKind::Bound:
    return "bound";
  case ViolationKind::Progress:
    return "progress";
  }
  return "";
}

/// The event declared at a location, or the call that does something there.
std::string subjectAt(const TaskGraph &graph, const std::string &location) {
  for (const Event &event : graph.events)
    if (event.location == location)
      return event.name;
  auto isHere = [&](const auto &use) { return use.location == location; };
  for (const Call &call : graph.calls)
    if (isHere(call) || llvm::any_of(call.accesses, isHere) || llvm::any_of(call.waits, isHere) ||
        llvm::any_of(call.notifies, isHere))
      return call.name;
  return location;
}

/// A ragged call reads its table to find out which tasks exist, before any task could wait: only a guard orders that.
/// The proofs see a task that may not exist and leave it open; but the table is read in any case. And by every worker,
/// also by one that has no task of the call and that nobody waits for, so it must not be written again.
void requireGuards(const Extraction &extraction, CheckResult &result) {
  const TaskGraph &graph = extraction.graph;
  for (auto [index, call] : llvm::enumerate(graph.calls)) {
    ir::CallOp op = extraction.signature.calls[index];
    if (!op.isRagged())
      continue;
    const bool isGuarded = static_cast<bool>(op.getRaggedGuard());
    int table = extraction.signature.memoryOf(op.getRaggedTable());
    for (auto [number, other] : llvm::enumerate(graph.calls))
      for (const Access &access : other.accesses) {
        // Of one that comes before, the guard's event orders the writing. In a repeat, it comes after, too.
        auto around = ir::enclosingRepeats(op), aroundOther = ir::enclosingRepeats(extraction.signature.calls[number]);
        bool isBefore = number < index && (around.empty() || aroundOther.empty() || around[0] != aroundOther[0]);
        if (!access.write || access.memory != table || (isGuarded && isBefore))
          continue;
        const std::string &name = graph.memories[table].name;
        result.violations.push_back({ViolationKind::Order,
                                     "the ragged grid of " + call.name + " is read from " + name + ", which " +
                                         other.name +
                                         (isGuarded ? " writes again while workers may still read it"
                                                    : " writes, but has no guard that orders the reading"),
                                     call.location,
                                     {{other.name + " writes " + name + " here", access.location}},
                                     {}});
        return;
      }
  }
}

/// Counts in memory are read for every element of an event.
void requireCountTables(const Extraction &extraction, CheckResult &result) {
  const TaskGraph &graph = extraction.graph;
  for (auto [index, event] : llvm::enumerate(graph.events)) {
    ir::EventOp op = extraction.signature.events[index];
    if (!op.getTable())
      continue;
    int table = extraction.signature.memoryOf(op.getTable());
    const Memory &memory = graph.memories[table];
    auto unnamed = [](const isl::set &set) { return isl::manage(isl_set_reset_tuple_id(isl::set(set).release())); };
    if (!unnamed(event.shape).intersect_params(graph.context).is_subset(unnamed(memory.shape)))
      result.violations.push_back(
          {ViolationKind::Bound,
           "the counts of " + event.name + " are read from " + memory.name + ", which may have fewer elements",
           event.location,
           {},
           {}});
  }
}

} // namespace

CheckResult checkExtraction(const Extraction &extraction, const ProofLimits &limits) {
  Findings findings = verify(extraction.graph, limits);
  CheckResult result{{}, std::move(findings.obligations)};
  requireGuards(extraction, result);
  requireCountTables(extraction, result);
  for (Violation &violation : findings.violations) {
    if (extraction.derived.consistent(extraction.graph, violation.symbols)) {
      result.violations.push_back(std::move(violation));
      continue;
    }
    Findings open{{}, std::move(result.obligations)};
    open.oblige({std::string(nameOf(violation.kind)) + ":" + subjectAt(extraction.graph, violation.location),
                 "it was not excluded that " + violation.message + ", because that rests on a product of symbols",
                 violation.location});
    result.obligations = std::move(open.obligations);
  }
  return result;
}

FailureOr<CheckResult> checkGraph(ir::GraphOp graph, const ProofLimits &limits) {
  return reportInternalErrors(graph, [&]() -> FailureOr<CheckResult> {
    FailureOr<Extraction> extraction = extractTaskGraph(graph);
    if (failed(extraction))
      return failure();
    return checkExtraction(*extraction, limits);
  });
}

void report(const CheckResult &result, const SourceLocations &locations, ir::GraphOp graph) {
  for (const Violation &violation : result.violations) {
    Location at = locations.find(violation.location, graph.getLoc());
    InFlightDiagnostic error = mlir::emitError(at) << violation.message;
    for (const Note &note : violation.notes)
      error.attachNote(locations.find(note.location, at)) << note.message;
  }
  for (const Obligation &obligation : result.obligations)
    mlir::emitRemark(locations.find(obligation.location, graph.getLoc()))
        << "obligation " << obligation.name << ": " << obligation.text;
}

} // namespace evt
