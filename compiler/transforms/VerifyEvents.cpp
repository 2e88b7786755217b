#include "VerifyEvents.h"

#include "CheckGraph.h"
#include "InternalErrors.h"

using namespace mlir;

namespace evt {

namespace {

class VerifyEvents : public PassWrapper<VerifyEvents, OperationPass<ir::GraphOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VerifyEvents)

  VerifyEvents() = default;
  explicit VerifyEvents(const ProofLimits &limits) { operations = limits.operations; }
  VerifyEvents(const VerifyEvents &other) : PassWrapper(other) {}

  StringRef getArgument() const override { return "evt-verify"; }
  StringRef getDescription() const override { return "prove order and counts of a graph for all its symbols"; }

  void runOnOperation() override {
    if (failed(reportInternalErrors(getOperation(), [&] { return prove(getOperation()); })))
      signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult prove(ir::GraphOp graph) {
    FailureOr<Extraction> extraction = extractTaskGraph(graph);
    if (failed(extraction))
      return failure();
    CheckResult result = checkExtraction(*extraction, {operations});
    report(result, extraction->locations, graph);
    if (!result.ok())
      return failure();
    InFlightDiagnostic remark = graph.emitRemark("'") << graph.getSymName() << "' is proved";
    if (!result.obligations.empty())
      remark << " but for " << result.obligations.size()
             << (result.obligations.size() == 1 ? " obligation" : " obligations");
    return success();
  }

  Option<unsigned long> operations{*this, "operations",
                                   llvm::cl::desc("elementary operations that one question may cost"),
                                   llvm::cl::init(ProofLimits().operations)};
};

} // namespace

std::unique_ptr<Pass> createVerifyEventsPass(const ProofLimits &limits) {
  return std::make_unique<VerifyEvents>(limits);
}

} // namespace evt
