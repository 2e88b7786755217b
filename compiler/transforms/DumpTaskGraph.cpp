#include "DumpTaskGraph.h"

#include "InternalErrors.h"

#include "compiler/analysis/extract/Extract.h"
#include "compiler/analysis/extract/PrintTaskGraph.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace evt {

namespace {

class DumpTaskGraph : public PassWrapper<DumpTaskGraph, OperationPass<ir::GraphOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DumpTaskGraph)
  StringRef getArgument() const override { return "evt-dump-task-graph"; }
  StringRef getDescription() const override { return "print the polyhedral model of a graph"; }
  void runOnOperation() override {
    FailureOr<Extraction> extraction =
        reportInternalErrors(getOperation(), [&] { return extractTaskGraph(getOperation()); });
    if (failed(extraction))
      return signalPassFailure();
    // One write, because graphs may be handled in parallel.
    llvm::errs() << "graph " + getOperation().getSymName().str() + "\n" + printTaskGraph(extraction->graph);
    markAllAnalysesPreserved();
  }
};

} // namespace

std::unique_ptr<Pass> createDumpTaskGraphPass() { return std::make_unique<DumpTaskGraph>(); }

} // namespace evt
