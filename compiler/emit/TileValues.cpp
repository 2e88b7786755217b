#include "TileValues.h"

#include "ScalarCode.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace evt::emit {

namespace {
std::string num(int64_t n) { return std::to_string(n); }
} // namespace

RankedTensorType tileType(Value v) { return cast<RankedTensorType>(v.getType()); }

bool isElementwise(Operation *op) {
  return op && op->getNumResults() == 1 && isa<RankedTensorType>(op->getResult(0).getType()) &&
         isa<arith::ArithDialect, math::MathDialect>(op->getDialect()) && !isa<arith::ConstantOp>(op);
}

bool isView(Operation *op) {
  return isa_and_nonnull<tensor::SplatOp, linalg::FillOp, linalg::BroadcastOp, linalg::TransposeOp, ir::IotaOp,
                         tensor::ExtractSliceOp, tensor::EmptyOp>(op) ||
         (isa_and_nonnull<arith::ConstantOp>(op) && isa<RankedTensorType>(op->getResult(0).getType()));
}

void TileValues::refuse(Operation *op, const std::string &why) {
  if (!failed)
    op->emitOpError(why);
  failed = true;
}

void TileValues::refuseUnsupported(Operation *op) {
  refuse(op, std::string("is not supported by the ") + (isCuda() ? "CUDA" : "CPU") + " target");
}

std::string TileValues::fresh(const char *prefix) { return prefix + num(next++); }

std::string TileValues::name(Value v) {
  auto it = names.find(v);
  if (it != names.end())
    return it->second;
  if (auto c = v.getDefiningOp<arith::ConstantOp>())
    return cppLiteral(c.getValue());
  failed = true;
  return "?";
}

std::string TileValues::newBuffer(RankedTensorType t) {
  std::string b = fresh("t"), type = cppType(t.getElementType());
  int64_t n = std::max<int64_t>(t.getNumElements(), 1);
  int64_t size = n * std::max<int64_t>(1, t.getElementTypeBitWidth() / 8);
  if (isCuda()) {
    out.line(type, " *const ", b, " = w.tile<", type, ">(", bytes, "); // ", n);
    bytes += (size + 127) / 128 * 128;
  } else {
    out.line("alignas(64) ", type, " ", b, "[", n, "];");
    bytes += size;
  }
  mostBytes = std::max(mostBytes, bytes);
  return b;
}

void TileValues::endStep() {
  if (isCuda())
    out.line("w.sync();");
}

Operation *TileValues::nextOnTiles(Operation *op) {
  auto isReshaped = [](Operation *op) {
    while (isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      if ((op = op->getOperand(0).getDefiningOp()); isa_and_nonnull<ir::LoadOp>(op))
        return true;
    return false;
  };
  do
    op = op->getNextNode();
  while (op && (isa<arith::ConstantOp, tensor::EmptyOp>(op) || isReshaped(op) ||
                (op->getNumResults() == 1 && op->getResult(0).getType().isIndex())));
  return op;
}

std::string TileValues::flatLoop(const std::string &q, int64_t n) const {
  if (isCuda())
    return "for (int " + q + " = w.lane(); " + q + " < " + num(n) + "; " + q + " += w.lanes())";
  return "for (int64_t " + q + " = 0; " + q + " < " + num(n) + "; ++" + q + ")";
}

SmallVector<std::string> TileValues::openLoops(ArrayRef<int64_t> shape, unsigned &opened) {
  SmallVector<std::string> index;
  if (isCuda()) { // one loop that the threads share, its index taken apart
    int64_t total = 1;
    for (int64_t n : shape)
      total *= n;
    std::string q = fresh("q");
    out.line(flatLoop(q, total), " {");
    opened = 1;
    int64_t inner = total;
    for (auto [d, n] : llvm::enumerate(shape)) {
      inner /= std::max<int64_t>(n, 1);
      std::string e = inner == 1 ? q : q + " / " + num(inner);
      bool isFirst = llvm::all_of(shape.take_front(d), [](int64_t before) { return before == 1; });
      index.push_back(n == 1 ? "0" : isFirst ? "(" + e + ")" : "(" + e + " % " + num(n) + ")");
    }
    return index;
  }
  for (int64_t n : shape) {
    if (n == 1) {
      index.push_back("0");
      continue;
    }
    std::string v = fresh("q");
    out.line("for (int64_t ", v, " = 0; ", v, " < ", n, "; ++", v, ") {");
    index.push_back(v);
    ++opened;
  }
  return index;
}

void TileValues::copyBuffer(const std::string &to, const std::string &from, RankedTensorType t) {
  if (!isCuda()) {
    out.line("std::memcpy(", to, ", ", from, ", sizeof ", from, ");");
    return;
  }
  std::string q = fresh("q");
  out.line(flatLoop(q, t.getNumElements()), " ", to, "[", q, "] = ", from, "[", q, "];");
  endStep();
}

std::string TileValues::linear(ArrayRef<std::string> index, ArrayRef<int64_t> shape) {
  std::string s;
  for (auto [i, n] : llvm::zip(index, shape)) {
    if (n == 1)
      continue;
    s = s.empty() ? i : "(" + s + ") * " + num(n) + " + " + i;
  }
  return s.empty() ? "0" : s;
}

std::string TileValues::element(Value v, ArrayRef<std::string> index) {
  auto it = buffers.find(v);
  if (it != buffers.end())
    return it->second + "[" + linear(index, tileType(v).getShape()) + "]";
  Operation *op = v.getDefiningOp();
  if (auto c = dyn_cast<arith::ConstantOp>(op))
    return cppLiteral(cast<SplatElementsAttr>(c.getValue()).getSplatValue<Attribute>());
  if (auto s = dyn_cast<tensor::SplatOp>(op))
    return name(s.getInput());
  if (auto f = dyn_cast<linalg::FillOp>(op))
    return name(f.getInputs()[0]);
  if (auto i = dyn_cast<ir::IotaOp>(op))
    return "(" + cppType(tileType(v).getElementType()) + ")" + index[i.getDim()];
  if (auto b = dyn_cast<linalg::BroadcastOp>(op)) {
    SmallVector<std::string> kept;
    for (auto [d, i] : llvm::enumerate(index))
      if (!llvm::is_contained(b.getDimensions(), (int64_t)d))
        kept.push_back(i);
    return element(b.getInput(), kept);
  }
  if (auto t = dyn_cast<linalg::TransposeOp>(op)) {
    SmallVector<std::string> source(index.size());
    for (auto [d, p] : llvm::enumerate(t.getPermutation()))
      source[p] = index[d];
    return element(t.getInput(), source);
  }
  if (auto s = dyn_cast<tensor::ExtractSliceOp>(op)) {
    SmallVector<std::string> source;
    auto dropped = s.getDroppedDims();
    unsigned at = 0;
    for (unsigned d = 0; d < s.getSourceType().getRank(); ++d) {
      std::string i = dropped.test(d) ? "0" : index[at++];
      source.push_back("(" + num(s.getStaticOffset(d)) + " + " + i + " * " + num(s.getStaticStride(d)) + ")");
    }
    return element(s.getSource(), source);
  }
  if (isElementwise(op)) {
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(isa<RankedTensorType>(o.getType()) ? element(o, index) : name(o));
    if (auto e = elementExpression(op, operands))
      return *e;
  }
  refuseUnsupported(op);
  return "0";
}

/// True when all of `v`'s expression is read at one and the same linear index, so one flat loop computes it.
bool TileValues::isFlat(Value v) {
  if (buffers.count(v))
    return true;
  Operation *op = v.getDefiningOp();
  if (isa<arith::ConstantOp, tensor::SplatOp, linalg::FillOp>(op))
    return true;
  return isElementwise(op) &&
         llvm::all_of(op->getOperands(), [&](Value o) { return !isa<RankedTensorType>(o.getType()) || isFlat(o); });
}

void TileValues::materializeInto(Value v, const std::string &buffer) {
  RankedTensorType t = tileType(v);
  if (isa_and_nonnull<tensor::EmptyOp>(v.getDefiningOp()))
    return;
  if (isFlat(v)) {
    std::string q = fresh("q");
    out.line(flatLoop(q, t.getNumElements()));
    // A flat index is the index of a tile of rank 1.
    out.line("  ", buffer, "[", q, "] = ", flatElement(v, q), ";");
    endStep();
    return;
  }
  loops(t.getShape(), [&](ArrayRef<std::string> index) {
    out.line(buffer, "[", linear(index, t.getShape()), "] = ", element(v, index), ";");
  });
}

std::string TileValues::flatElement(Value v, const std::string &q) {
  auto it = buffers.find(v);
  if (it != buffers.end())
    return it->second + "[" + q + "]";
  Operation *op = v.getDefiningOp();
  if (!isElementwise(op))
    return element(v, {});
  SmallVector<std::string> operands;
  for (Value o : op->getOperands())
    operands.push_back(isa<RankedTensorType>(o.getType()) ? flatElement(o, q) : name(o));
  if (auto e = elementExpression(op, operands))
    return *e;
  refuseUnsupported(op);
  return "0";
}

std::string TileValues::buffer(Value v) {
  auto it = buffers.find(v);
  if (it != buffers.end())
    return it->second;
  std::string b = newBuffer(tileType(v));
  materializeInto(v, b);
  if (v.getParentBlock() == current)
    buffers[v] = b;
  return b;
}

/// True when `user` is the only one to see `v`, so it may overwrite v's array.
bool TileValues::onlyUse(Value v, Operation *user) {
  while (true) {
    if (!v.hasOneUse() || v.getParentBlock() != user->getBlock())
      return false;
    Operation *op = v.getDefiningOp();
    if (!isa_and_nonnull<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(op))
      return true;
    v = op->getOperand(0);
  }
}

std::string TileValues::destination(Value destination, Operation *op) {
  auto it = buffers.find(destination);
  bool argument = isa<BlockArgument>(destination) && !carried.count(destination);
  if (it != buffers.end() && !argument && onlyUse(destination, op))
    return it->second;
  std::string b = newBuffer(tileType(destination));
  materializeInto(destination, b);
  return b;
}

} // namespace evt::emit
