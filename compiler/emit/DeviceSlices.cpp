#include "DeviceSlices.h"

#include "FeedCode.h"
#include "ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace evt::emit {

namespace {

std::string num(int64_t n) { return std::to_string(n); }

/// A scalar and what it is computed from.
void addPlace(Value v, llvm::SmallPtrSetImpl<Operation *> &places) {
  Operation *op = v.getDefiningOp();
  if (!op || isa<ShapedType>(v.getType()) || !places.insert(op).second)
    return;
  for (Value operand : op->getOperands())
    addPlace(operand, places);
}

} // namespace

std::string DeviceSlices::emitReports() {
  auto roles = llvm::to_vector(device.getBody().front().getOps<ir::RoleOp>());
  llvm::SmallPtrSet<Operation *, 32> places; // what says where they read
  for (ir::RoleOp role : ArrayRef(roles).drop_back())
    role.walk([&](Operation *op) {
      if (isa<ir::LoadOp, ir::ReadOp, scf::ForOp>(op))
        for (Value operand : op->getOperands())
          addPlace(operand, places);
    });
  out.line("[[gnu::cold]] EVT_FN void report_", device.getSymName().str(), "(", parameters(), ") {");
  reportBlock(device.getBody().front(), places);
  for (ir::RoleOp role : ArrayRef(roles).drop_back())
    reportBlock(role.getBody().front(), places);
  out.line("}");
  if (failed)
    device.emitOpError("has a role that reads where an observer cannot be told of");
  return failed ? "" : out.take();
}

std::string DeviceSlices::emitFeed() {
  if (feedsStages) {
    auto slice = partsSlice(device, isImmutable);
    out.line("EVT_FN evt::Feed feed_", device.getSymName().str(), "(", parameters(), ") {");
    for (Operation *op : *slice)
      if (auto parts = dyn_cast<ir::AttendPartsOp>(op))
        out.line("if (!evt::tile::may_feed", feedShape(parts), "(", name(parts.getKeys()), ", ", name(parts.getPages()),
                 ", ", name(parts.getM()), ")) return {};");
    feedBlock(device.getBody().front(), *slice);
    out.line("}");
    return out.take();
  }
  auto slice = feedSlice(device);
  if (!slice)
    return "";
  out.line("template <class Waits> EVT_FN void feed_", device.getSymName().str(),
           "(evt::TileRing &ring, evt::TileLoader part, Waits &waits, ", parameters(), ") {");
  feedBlock(device.getBody().front(), *slice);
  out.line("}");
  return out.take();
}

std::string DeviceSlices::parameters() {
  std::string params = "evt::Worker &w";
  for (auto [i, arg] : llvm::enumerate(device.getBody().getArguments())) {
    std::string n = "a" + num(i);
    names[arg] = n;
    if (auto m = dyn_cast<MemRefType>(arg.getType()))
      params += ", const evt::Memory<" + cppType(m.getElementType()) + ", " + num(m.getRank()) + "> &" + n;
    else
      params += ", int64_t " + n;
  }
  return params;
}

/// Loops, loads as declared reads, and what says where they are.
void DeviceSlices::reportBlock(Block &block, const llvm::SmallPtrSetImpl<Operation *> &places) {
  for (Operation &op : block)
    if (auto load = dyn_cast<ir::LoadOp>(op)) {
      emitDeclared(load, "false");
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      openLoop(loop);
      reportBlock(*loop.getBody(), places);
      out.line("}");
    } else if (isa<ir::ReadOp>(op) || (places.contains(&op) && !isa<arith::ConstantOp>(op))) {
      emitScalar(&op);
    }
}

void DeviceSlices::feedBlock(Block &block, const llvm::SetVector<Operation *> &slice) {
  for (Operation &op : block) {
    if (isa<arith::ConstantOp>(op) || !slice.contains(&op)) // constants are written where they are used
      continue;
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      openLoop(loop);
      feedBlock(*loop.getBody(), slice);
      out.line("}");
    } else if (auto attend = dyn_cast<ir::AttendOp>(op)) {
      auto q = cast<RankedTensorType>(attend.getQuery().getType());
      out.line("evt::tile::feed_attention<", attend.getRows(), ", ", q.getDimSize(1), ", ", attend.getPageSlots(), ", ",
               attend.getHeads(), ", Kernel::layout.tile_stages()>(ring, part, waits, ", cacheOf(attend), ", ",
               attend.getSettled() ? name(attend.getSettled()) : "0", ");");
    } else if (auto parts = dyn_cast<ir::AttendPartsOp>(op)) {
      out.line("return evt::tile::part_feed", feedShape(parts), "(", name(parts.getKeys()), ", ", cacheRowOf(parts),
               ", ", name(parts.getBegin()), ", ", name(parts.getEnd()), ", ", name(parts.getPart()), ", ",
               name(parts.getM()), ");");
    } else {
      emitScalar(&op);
    }
  }
}

void DeviceSlices::emitScalar(Operation *op) {
  std::string n = fresh("v"), expression;
  if (auto r = dyn_cast<ir::ReadOp>(op)) {
    expression = "evt::read_table(w, " + name(r.getTable()) + ", {" + list(r.getIndices(), "0") + "})";
  } else if (auto t = dyn_cast<ir::ShortTokensOp>(op)) {
    expression = "evt::tile::short_tokens<" + num(t.getCount()) + ", " + num(t.getEnough()) + ">(w, " +
                 name(t.getRequests()) + ", " + name(t.getPositions()) + ", " + name(t.getToken()) + ")";
  } else if (auto v = dyn_cast<ir::ValidOp>(op)) {
    expression = "evt::valid(" + name(v.getOffset()) + ", " + num(v.getSize()) + ", " + name(v.getMemory()) + ".dims[" +
                 num(v.getDim()) + "])";
  } else if (auto d = dyn_cast<memref::DimOp>(op)) {
    expression = name(d.getSource()) + ".dims[" + name(d.getIndex()) + "]";
  } else if (auto x = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<std::string> index;
    for (Value i : x.getIndices())
      index.push_back(name(i));
    buffer(x.getTensor());
    expression = element(x.getTensor(), index);
  } else {
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(name(o));
    auto e = indexExpression(op, operands);
    if (!e)
      return refuseUnsupported(op);
    expression = *e;
  }
  out.line("const ", cppType(op->getResult(0).getType()), " ", n, " = ", expression, ";");
  names[op->getResult(0)] = n;
}

std::string DeviceSlices::list(ValueRange values, const char *ifEmpty) {
  std::string s;
  for (Value v : values)
    s += (s.empty() ? "" : ", ") + name(v);
  return s.empty() ? ifEmpty : s;
}

std::string DeviceSlices::sizes(ArrayRef<int64_t> sizes) {
  std::string s;
  for (int64_t n : sizes)
    s += (s.empty() ? "" : ", ") + num(n);
  return s;
}

void DeviceSlices::openLoop(scf::ForOp op) {
  std::string iv = names[op.getInductionVar()] = fresh("k");
  out.line("for (int64_t ", iv, " = ", name(op.getLowerBound()), "; ", iv, " < ", name(op.getUpperBound()), "; ", iv,
           " += ", name(op.getStep()), ") {");
}

} // namespace evt::emit
