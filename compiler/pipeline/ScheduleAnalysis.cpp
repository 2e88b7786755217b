#include "ScheduleAnalysis.h"

namespace evt::pipeline {

mlir::LogicalResult analyseSchedules(const Extraction &model, emit::ScheduleFacts &facts) {
  const ir::Signature &s = model.signature;
  for (unsigned k = 0; k < s.calls.size(); ++k) {
    ir::CallOp call = s.calls[k];
    facts.carried.emplace_back(model.graph.calls[k].coordNames.size(), false);
    facts.triggers.emplace_back();
    for (ir::WaitOp w : call.getProtocol().front().getOps<ir::WaitOp>())
      facts.triggers.back().push_back({"", "no triggers"});
  }
  return mlir::success();
}

} // namespace evt::pipeline
