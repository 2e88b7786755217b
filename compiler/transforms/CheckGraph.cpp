#include "CheckGraph.h"

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

} // namespace

CheckResult checkExtraction(const Extraction &extraction, const ProofLimits &limits) {
  Findings findings = verify(extraction.graph, limits);
  CheckResult result{{}, std::move(findings.obligations)};
  for (Violation &violation : findings.violations) {
    if (extraction.derived.consistent(extraction.graph, violation.symbols)) {
      result.violations.push_back(std::move(violation));
      continue;
    }
    result.obligations.push_back(
        {std::string(nameOf(violation.kind)) + ":" + violation.location,
         "it was not excluded that " + violation.message + ", because that rests on a product of symbols",
         violation.location});
  }
  return result;
}

FailureOr<CheckResult> checkGraph(ir::GraphOp graph, const ProofLimits &limits) {
  FailureOr<Extraction> extraction = extractTaskGraph(graph);
  if (failed(extraction))
    return failure();
  return checkExtraction(*extraction, limits);
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
