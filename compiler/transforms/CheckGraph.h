// Is a graph well formed, for all values of its symbols? What the driver and --evt-verify ask.
#ifndef EVT_COMPILER_TRANSFORMS_CHECKGRAPH_H
#define EVT_COMPILER_TRANSFORMS_CHECKGRAPH_H

#include "compiler/analysis/Verify.h"
#include "compiler/analysis/extract/Extract.h"

namespace evt {

/// What the proof left, with locations as text ("file:line:col"). Free of isl and of the IR: it may outlive both.
struct CheckResult {
  std::vector<Violation> violations;
  std::vector<Obligation> obligations;

  bool ok() const { return violations.empty(); }
};

/// Proves the graph, or says what is wrong or left open. Fails, after an error at the line, if the graph has no model
/// (it writes an immutable argument).
mlir::FailureOr<CheckResult> checkGraph(ir::GraphOp graph, const ProofLimits &limits = {});

/// The same for a model that is at hand already. A counterexample with values of derived symbols (products of symbols)
/// that the program's symbols do not give is none: the question stays open, as an obligation.
CheckResult checkExtraction(const Extraction &extraction, const ProofLimits &limits = {});

/// Emits every violation as an error at its line, with notes that give the counterexample, and every obligation as a
/// remark.
void report(const CheckResult &result, const SourceLocations &locations, ir::GraphOp graph);

} // namespace evt

#endif
