#include "GraphCode.h"

#include "ScalarCode.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using json = nlohmann::ordered_json;

namespace evt::emit {

GraphCode::GraphCode(ir::GraphOp graph) : signature(graph) {
  for (Operation &op : graph.getBody().front()) {
    if (op.getNumResults() != 1 || !op.getResult(0).getType().isIndex())
      continue;
    Value v = op.getResult(0);
    if (signature.symbolOf(v) >= 0 || ir::constantOf(v))
      continue;
    std::string n = "g" + std::to_string(computed.size());
    computed.emplace_back(&op, n);
    names[v] = "P." + n;
  }
}

std::string GraphCode::expression(Value v, const DenseMap<Value, std::string> &local) const {
  if (auto it = local.find(v); it != local.end())
    return it->second;
  if (auto it = names.find(v); it != names.end())
    return it->second;
  if (int s = signature.symbolOf(v); s >= 0)
    return "P.s" + std::to_string(s);
  if (auto c = ir::constantOf(v))
    return "INT64_C(" + std::to_string(*c) + ")";
  if (Operation *op = v.getDefiningOp()) {
    if (auto d = dyn_cast<memref::DimOp>(op)) {
      int m = signature.memoryOf(d.getSource());
      auto index = d.getConstantIndex();
      if (m >= 0 && index)
        return memoryDimCode(m, *index);
    }
    SmallVector<std::string> operands;
    for (Value o : op->getOperands())
      operands.push_back(expression(o, local));
    if (auto e = indexExpression(op, operands))
      return *e;
  }
  return "?";
}

OpFoldResult GraphCode::memoryDim(unsigned memory, unsigned dim) const {
  Value v = signature.memories[memory];
  auto type = cast<MemRefType>(v.getType());
  if (!type.isDynamicDim(dim))
    return IntegerAttr::get(IndexType::get(v.getContext()), type.getDimSize(dim));
  if (auto alloc = v.getDefiningOp<ir::AllocOp>())
    return alloc.getSizes()[type.getDynamicDimIndex(dim)];
  return {};
}

std::string GraphCode::memoryDimCode(unsigned memory, unsigned dim) const {
  OpFoldResult d = memoryDim(memory, dim);
  if (auto a = dyn_cast_if_present<Attribute>(d))
    return std::to_string(cast<IntegerAttr>(a).getInt());
  if (auto v = dyn_cast_if_present<Value>(d))
    return expression(v);
  return "P.s" +
         std::to_string(signature.symbolOfDim(cast<BlockArgument>(signature.memories[memory]).getArgNumber(), dim));
}

json GraphCode::memoryDimExpression(unsigned memory, unsigned dim) const {
  OpFoldResult d = memoryDim(memory, dim);
  if (auto a = dyn_cast_if_present<Attribute>(d))
    return cast<IntegerAttr>(a).getInt();
  if (auto v = dyn_cast_if_present<Value>(d))
    return manifestExpression(v);
  int s = signature.symbolOfDim(cast<BlockArgument>(signature.memories[memory]).getArgNumber(), dim);
  return signature.symbols[s].name;
}

json GraphCode::manifestExpression(AffineExpr e, ValueRange dims, ValueRange symbols) const {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue();
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return d.getPosition() < dims.size() ? manifestExpression(dims[d.getPosition()]) : json();
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return manifestExpression(symbols[s.getPosition()]);
  auto b = cast<AffineBinaryOpExpr>(e);
  json lhs = manifestExpression(b.getLHS(), dims, symbols), rhs = manifestExpression(b.getRHS(), dims, symbols);
  if (lhs.is_null() || rhs.is_null())
    return {};
  switch (e.getKind()) {
  case AffineExprKind::Add:
    return {"+", lhs, rhs};
  case AffineExprKind::Mul:
    return {"*", lhs, rhs};
  case AffineExprKind::Mod:
    return {"mod", lhs, rhs};
  case AffineExprKind::FloorDiv:
    return {"floordiv", lhs, rhs};
  case AffineExprKind::CeilDiv:
    return {"ceildiv", lhs, rhs};
  default:
    return {};
  }
}

json GraphCode::manifestExpression(Value v) const {
  if (int s = signature.symbolOf(v); s >= 0)
    return signature.symbols[s].name;
  if (auto c = ir::constantOf(v))
    return *c;
  Operation *op = v.getDefiningOp();
  if (!op)
    return {};
  auto fold = [&](AffineMap m, ValueRange operands, const char *combine) -> json {
    auto dims = operands.take_front(m.getNumDims()), symbols = operands.drop_front(m.getNumDims());
    json e = manifestExpression(m.getResult(0), dims, symbols);
    for (AffineExpr r : m.getResults().drop_front())
      e = json::array({combine, e, manifestExpression(r, dims, symbols)});
    return e;
  };
  if (auto a = dyn_cast<affine::AffineApplyOp>(op))
    return fold(a.getAffineMap(), a.getMapOperands(), "");
  if (auto a = dyn_cast<affine::AffineMinOp>(op))
    return fold(a.getAffineMap(), a.getOperands(), "min");
  if (auto a = dyn_cast<affine::AffineMaxOp>(op))
    return fold(a.getAffineMap(), a.getOperands(), "max");
  if (auto d = dyn_cast<memref::DimOp>(op)) {
    int m = signature.memoryOf(d.getSource());
    auto index = d.getConstantIndex();
    return m >= 0 && index ? memoryDimExpression(m, *index) : json();
  }
  const char *name = isa<arith::AddIOp>(op)                                         ? "+"
                     : isa<arith::SubIOp>(op)                                       ? "-"
                     : isa<arith::MulIOp>(op)                                       ? "*"
                     : isa<arith::FloorDivSIOp, arith::DivSIOp, arith::DivUIOp>(op) ? "floordiv"
                     : isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op)              ? "ceildiv"
                     : isa<arith::RemSIOp, arith::RemUIOp>(op)                      ? "mod"
                     : isa<arith::MinSIOp, arith::MinUIOp>(op)                      ? "min"
                     : isa<arith::MaxSIOp, arith::MaxUIOp>(op)                      ? "max"
                                                                                    : nullptr;
  if (!name)
    return {};
  json lhs = manifestExpression(op->getOperand(0)), rhs = manifestExpression(op->getOperand(1));
  return lhs.is_null() || rhs.is_null() ? json() : json::array({name, lhs, rhs});
}

unsigned GraphCode::iterations(unsigned call) const { return ir::enclosingRepeats(signature.calls[call]).size(); }

std::vector<std::string> GraphCode::coordList(unsigned call) const {
  std::vector<std::string> list;
  for (unsigned i = 0; i < iterations(call); ++i)
    list.push_back("l" + std::to_string(i));
  for (unsigned i = 0; i < const_cast<ir::CallOp &>(signature.calls[call]).getNumCoords(); ++i)
    list.push_back("c" + std::to_string(i));
  return list;
}

std::string GraphCode::coordParams(unsigned call) const {
  std::string s;
  for (auto &c : coordList(call))
    s += ", int64_t " + c;
  return s;
}

std::string GraphCode::coordParamList(unsigned call) const {
  std::string s = coordParams(call);
  return s.empty() ? s : s.substr(2);
}

std::string GraphCode::coordNames(unsigned call) const {
  std::string s;
  for (auto &c : coordList(call))
    s += ", " + c;
  return s;
}

bool GraphCode::mayBeNegative(AffineExpr e, ValueRange dims, ValueRange symbols) const {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return c.getValue() < 0;
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return mayBeNegative(dims[d.getPosition()]);
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return mayBeNegative(symbols[s.getPosition()]);
  auto b = cast<AffineBinaryOpExpr>(e);
  return e.getKind() != AffineExprKind::Mod &&
         (mayBeNegative(b.getLHS(), dims, symbols) || mayBeNegative(b.getRHS(), dims, symbols));
}

bool GraphCode::mayBeNegative(Value v) const {
  if (auto known = negative.find(v); known != negative.end())
    return known->second;
  const bool found = findNegative(v);
  negative[v] = found;
  return found;
}

bool GraphCode::findNegative(Value v) const {
  if (int s = signature.symbolOf(v); s >= 0)
    return signature.symbols[s].min < 0;
  if (auto c = ir::constantOf(v))
    return *c < 0;
  Operation *op = v.getDefiningOp();
  if (!op)
    return true;
  auto any = [&](AffineMap m, ValueRange operands, bool all) {
    auto dims = operands.take_front(m.getNumDims()), symbols = operands.drop_front(m.getNumDims());
    auto below = [&](AffineExpr e) { return mayBeNegative(e, dims, symbols); };
    return all ? llvm::all_of(m.getResults(), below) : llvm::any_of(m.getResults(), below);
  };
  if (auto a = dyn_cast<affine::AffineApplyOp>(op))
    return any(a.getAffineMap(), a.getMapOperands(), false);
  if (auto a = dyn_cast<affine::AffineMinOp>(op))
    return any(a.getAffineMap(), a.getOperands(), false);
  if (auto a = dyn_cast<affine::AffineMaxOp>(op))
    return any(a.getAffineMap(), a.getOperands(), true);
  auto below = [&](Value operand) { return mayBeNegative(operand); };
  if (isa<arith::MaxSIOp>(op))
    return llvm::all_of(op->getOperands(), below);
  if (isa<arith::AddIOp, arith::MulIOp, arith::MinSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return llvm::any_of(op->getOperands(), below);
  return !isa<memref::DimOp>(op);
}

std::vector<std::string> GraphCode::extentList(unsigned call) const {
  ir::CallOp op = signature.calls[call];
  SmallVector<Value> extents;
  for (ir::RepeatOp r : ir::enclosingRepeats(op))
    extents.push_back(r.getExtent());
  if (op.isRagged())
    extents.push_back(op.getRaggedBound());
  llvm::append_range(extents, op.getGrid());
  // Below 0 there are no tasks; two such extents would multiply into some.
  const bool clamps = llvm::count_if(extents, [&](Value v) { return mayBeNegative(v); }) > 1;
  std::vector<std::string> list;
  for (Value v : extents) {
    list.push_back(expression(v));
    if (clamps && mayBeNegative(v))
      list.back() = "evt::most(" + list.back() + ", 0)";
  }
  return list;
}

DenseMap<Value, std::string> GraphCode::locals(unsigned call) const {
  ir::CallOp op = signature.calls[call];
  DenseMap<Value, std::string> map;
  for (auto [i, r] : llvm::enumerate(ir::enclosingRepeats(op)))
    map[r.getIteration()] = "l" + std::to_string(i);
  for (unsigned i = 0; i < op.getNumCoords(); ++i)
    map[op.getCoord(i)] = "c" + std::to_string(i);
  return map;
}

} // namespace evt::emit
