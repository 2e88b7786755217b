#include "FeedCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace evt::emit {

namespace {

/// Collects what is needed; false if that is not a loader's work.
class Slice {
public:
  explicit Slice(ir::DeviceOp device) {
    device.walk([&](Operation *op) {
      for (Value memory : ir::memoriesWritten(op))
        written.insert(memory);
    });
  }

  bool add(ir::AttendOp attend) {
    for (Value memory :
         {Value(attend.getKeys()), Value(attend.getValues()), Value(attend.getPages()), Value(attend.getSquares())})
      if (memory && written.contains(memory))
        return false;
    for (Value index : {attend.getLayer(), attend.getRequest(), attend.getHead(), attend.getBegin(), attend.getEnd()})
      if (!add(index))
        return false;
    for (Operation *outer = attend->getParentOp(); !isa<ir::DeviceOp>(outer); outer = outer->getParentOp()) {
      auto loop = dyn_cast<scf::ForOp>(outer);
      if (!loop || !add(loop.getLowerBound()) || !add(loop.getUpperBound()) || !add(loop.getStep()))
        return false;
      operations.insert(loop);
    }
    operations.insert(attend);
    return true;
  }

  llvm::SetVector<Operation *> operations;

private:
  llvm::DenseSet<Value> written;

  bool add(Value index) {
    if (auto argument = dyn_cast<BlockArgument>(index)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return !loop || argument == loop.getInductionVar();
    }
    Operation *op = index.getDefiningOp();
    if (!isIndexWork(op) && !isa<ir::ReadOp, ir::ShortTokensOp>(op))
      return false;
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) ? written.contains(operand) : !add(operand))
        return false;
    operations.insert(op);
    return true;
  }
};

} // namespace

bool isIndexWork(Operation *op) {
  return isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, memref::DimOp>(op) ||
         (isa<arith::ArithDialect>(op->getDialect()) && op->getNumResults() == 1 &&
          op->getResult(0).getType().isIntOrIndex());
}

std::optional<llvm::SetVector<Operation *>> feedSlice(ir::DeviceOp device) {
  Slice slice(device);
  bool ok = !device.isForeign();
  if (ok)
    device.walk([&](ir::AttendOp attend) { ok = ok && slice.add(attend); });
  if (!ok || slice.operations.empty())
    return std::nullopt;
  return std::move(slice.operations);
}

bool isFed(const GraphCode &graph, const StreamPlan &plan, unsigned k) {
  return plan.tiles() && plan.calls[k].form == TaskForm::handedOver &&
         feedSlice(ir::calleeOf(graph.signature.calls[k]));
}
std::vector<bool> toldCalls(const GraphCode &graph, const StreamPlan &plan) {
  auto completed = plan.completed(graph);
  std::vector<bool> told;
  for (unsigned k = 0; k < plan.calls.size(); ++k)
    told.push_back(isFed(graph, plan, k) && !completed[k]);
  return told;
}

void emitFeeds(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  std::vector<bool> told = toldCalls(graph, plan);
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    ir::CallOp call = graph.signature.calls[k];
    if (!isFed(graph, plan, k))
      continue;
    out.line("// ", graph.signature.callName(k), ": what it attends to, by all lanes of each loader");
    out.line("EVT_FORCED void feed_", k,
             "(evt::DynamicWorker &w, const Program &P, evt::Task &task, evt::TileRing &ring, evt::TileLoader part) {");
    declareCoords(graph, k, out);
    out.line("evt::begin_feeding<dynamic>(w, task, ring, [&](auto &ahead) { return waits_", k, "(ahead, P",
             graph.coordNames(k), "); });");
    out.line("feed_", call.getCallee().str(), "(ring, part, w", argumentList(graph, k), ");");
    out.line("}");
    if (!told[k])
      continue;
    out.line("EVT_FORCED void tell_", k, "(evt::DynamicWorker &w, const Program &P, const evt::Task &task) {");
    declareCoords(graph, k, out);
    out.line("evt::tell_task(w, task, P.c", k, "_first + task.index, [&] { evt::Polling use{w}; notifies_", k,
             "(use, P", graph.coordNames(k), "); });");
    out.line("}");
  }
}

} // namespace evt::emit
