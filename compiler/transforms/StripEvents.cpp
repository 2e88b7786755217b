#include "StripEvents.h"

using namespace mlir;

namespace evt {

void stripEvents(ir::GraphOp graph) {
  graph.walk([](ir::CallOp call) {
    // A protocol has no effect but its waits and notifies, so without them nothing of it is left.
    Block &protocol = call.getProtocol().front();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(protocol)))
      if (!isa<ir::EndOp>(op))
        op.erase();
    call.getRaggedGuardMutable().clear();
  });
  // An event may be another's guard, which comes first.
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(graph.getBody().front())))
    if (isa<ir::EventOp>(op))
      op.erase();
}

namespace {

class StripEvents : public PassWrapper<StripEvents, OperationPass<ir::GraphOp>> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StripEvents)
  StringRef getArgument() const override { return "evt-strip-events"; }
  StringRef getDescription() const override { return "remove all events, waits and notifies of a graph"; }
  void runOnOperation() override { stripEvents(getOperation()); }
};

} // namespace

std::unique_ptr<Pass> createStripEventsPass() { return std::make_unique<StripEvents>(); }

} // namespace evt
