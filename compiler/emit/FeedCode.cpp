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
    return (!attend.getSettled() || add(attend.getSettled())) &&
           addAttention(attend, {attend.getKeys(), attend.getValues(), attend.getPages()},
                        {attend.getLayer(), attend.getRequest(), attend.getHead(), attend.getBegin(), attend.getEnd()});
  }
  bool add(ir::AttendPartsOp attend) {
    return addAttention(attend, {attend.getKeys(), attend.getValues(), attend.getPages(), attend.getSquares()},
                        {attend.getLayer(), attend.getRequest(), attend.getHead(), attend.getBegin(), attend.getEnd(),
                         attend.getPart()});
  }

  /// Tables that it reads.
  SmallVector<BlockArgument> tables() const {
    SmallVector<BlockArgument> read;
    for (Operation *op : operations) {
      if (auto parts = dyn_cast<ir::AttendPartsOp>(op))
        read.push_back(cast<BlockArgument>(parts.getPages()));
      else if (auto attend = dyn_cast<ir::AttendOp>(op))
        read.push_back(cast<BlockArgument>(attend.getPages()));
      else if (isa<ir::ReadOp, ir::ShortTokensOp>(op))
        for (Value operand : op->getOperands())
          if (isa<MemRefType>(operand.getType()))
            read.push_back(cast<BlockArgument>(operand));
    }
    return read;
  }

  llvm::SetVector<Operation *> operations;

private:
  llvm::DenseSet<Value> written;

  bool addAttention(Operation *attend, std::initializer_list<Value> memories, std::initializer_list<Value> indices) {
    for (Value memory : memories)
      if (memory && written.contains(memory))
        return false;
    for (Value index : indices)
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

  bool add(Value index) {
    if (auto argument = dyn_cast<BlockArgument>(index)) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      return !loop || argument == loop.getInductionVar();
    }
    Operation *op = index.getDefiningOp();
    if (!isIndexWork(op) && !isa<ir::ReadOp, ir::ShortTokensOp>(op))
      return false;
    for (Value operand : op->getOperands())
      if (isa<MemRefType>(operand.getType()) ? !isa<memref::DimOp>(op) && written.contains(operand) : !add(operand))
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

template <class Attend> static std::optional<Slice> sliceOf(ir::DeviceOp device) {
  Slice slice(device);
  bool ok = !device.isForeign();
  if (ok)
    device.walk([&](Attend attend) { ok = ok && slice.add(attend); });
  return ok && !slice.operations.empty() ? std::optional(std::move(slice)) : std::nullopt;
}

std::optional<llvm::SetVector<Operation *>> feedSlice(ir::DeviceOp device) {
  auto slice = sliceOf<ir::AttendOp>(device);
  return slice ? std::optional(std::move(slice->operations)) : std::nullopt;
}

std::optional<llvm::SetVector<Operation *>> partsSlice(ir::DeviceOp device,
                                                       llvm::function_ref<bool(unsigned)> isImmutable) {
  auto slice = sliceOf<ir::AttendPartsOp>(device);
  // What is fed of a task is one attention, once.
  auto attends = device.getBody().front().getOps<ir::AttendPartsOp>();
  int64_t all = 0;
  device.walk([&](ir::AttendPartsOp) { ++all; });
  if (all != 1 || attends.empty())
    return std::nullopt;
  if (!slice || !llvm::all_of(slice->tables(), [&](BlockArgument t) { return isImmutable(t.getArgNumber()); }))
    return std::nullopt;
  return std::move(slice->operations);
}

bool isImmutable(const GraphCode &graph, ir::DeviceOp device, unsigned argument) {
  return llvm::all_of(graph.signature.calls, [&](ir::CallOp call) {
    return ir::calleeOf(call) != device || graph.signature.isImmutable(call.getArgs()[argument]);
  });
}

bool isFedByStream(const GraphCode &graph, const StreamPlan &plan, ir::DeviceOp device) {
  for (auto [k, call] : llvm::enumerate(graph.signature.calls))
    if (ir::calleeOf(call) == device && plan.calls[k].form != TaskForm::handedOver)
      return false;
  if (!plan.streams())
    return false;
  auto slice = partsSlice(device, [&](unsigned a) { return isImmutable(graph, device, a); });
  return slice && llvm::all_of(*slice, [](Operation *op) {
           auto attend = dyn_cast<ir::AttendPartsOp>(op);
           return !attend || isOnFragments(attend);
         });
}

bool isOnFragments(ir::AttendPartsOp attend) {
  auto cache = cast<MemRefType>(attend.getKeys().getType());
  return cache.getElementTypeBitWidth() == 16 && cache.getDimSize(3) % 64 == 0 && (int64_t)attend.getRows() <= 8;
}

std::string feedShape(ir::AttendPartsOp attend) {
  return "<" + std::to_string(attend.getRows()) + ", " +
         std::to_string(cast<MemRefType>(attend.getKeys().getType()).getDimSize(3)) + ", " +
         std::to_string(attend.getPageSlots()) + ", Kernel::layout.stream_stages()>";
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

/// Whether the tables that a loader reads before it feeds are nobody's to write.
static bool readsOnlyImmutable(const GraphCode &graph, ir::DeviceOp device) {
  return llvm::all_of(sliceOf<ir::AttendOp>(device)->tables(),
                      [&](BlockArgument table) { return isImmutable(graph, device, table.getArgNumber()); });
}

void emitFeeds(const GraphCode &graph, const StreamPlan &plan, CodeWriter &out) {
  std::vector<bool> told = toldCalls(graph, plan);
  for (unsigned k = 0; k < plan.calls.size(); ++k) {
    ir::CallOp call = graph.signature.calls[k];
    if (isFedByStream(graph, plan, ir::calleeOf(call))) {
      out.line("// ", graph.signature.callName(k), ": what it attends to, by a lane of each loader");
      auto attend = *ir::calleeOf(call).getBody().front().getOps<ir::AttendPartsOp>().begin();
      auto passed = [&](Value memory) {
        return "P.m" +
               std::to_string(graph.signature.memoryOf(call.getArgs()[cast<BlockArgument>(memory).getArgNumber()]));
      };
      out.line("EVT_FORCED void feed_stages_", k,
               "(const Program &P, const evt::Task &task, evt::tile::StageFeeder &feeder) {");
      out.line("evt::tile::feed_parts", feedShape(attend), "(feeder, task.feed, ", passed(attend.getKeys()), ", ",
               passed(attend.getValues()), ", ", passed(attend.getPages()), ");");
      out.line("}");
    }
    if (!isFed(graph, plan, k))
      continue;
    out.line("// ", graph.signature.callName(k), ": what it attends to, by all lanes of each loader");
    out.line("EVT_FORCED void feed_", k,
             "(evt::DynamicWorker &w, const Program &P, evt::Task &task, evt::TileRing &ring, evt::TileLoader part) {");
    declareCoords(graph, k, out);
    out.line("auto waits = evt::feed_waits<dynamic>(w, task, ring, [&](auto &ahead) { return waits_", k, "(ahead, P",
             graph.coordNames(k), "); });");
    if (!readsOnlyImmutable(graph, ir::calleeOf(call)))
      out.line("waits.pass();");
    out.line("feed_", call.getCallee().str(), "(ring, part, waits, w", argumentList(graph, k), ");");
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
