#include "Operands.h"

#include "compiler/ir/Signature.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace evt::roles {

namespace {

int64_t divisorOf(AffineExpr e, ArrayRef<int64_t> dims, ArrayRef<int64_t> symbols) {
  if (auto c = dyn_cast<AffineConstantExpr>(e))
    return std::abs(c.getValue());
  if (auto d = dyn_cast<AffineDimExpr>(e))
    return dims[d.getPosition()];
  if (auto s = dyn_cast<AffineSymbolExpr>(e))
    return symbols[s.getPosition()];
  auto b = cast<AffineBinaryOpExpr>(e);
  int64_t l = divisorOf(b.getLHS(), dims, symbols), r = divisorOf(b.getRHS(), dims, symbols);
  if (e.getKind() == AffineExprKind::Add)
    return std::gcd(l, r);
  return e.getKind() == AffineExprKind::Mul ? l * r : 1;
}

} // namespace

int64_t divisorOf(Value v) {
  if (auto c = ir::constantOf(v))
    return std::abs(*c);
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar()
               ? std::gcd(divisorOf(loop.getLowerBound()), divisorOf(loop.getStep()))
               : 1;
  }
  Operation *op = v.getDefiningOp();
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    SmallVector<int64_t> operands;
    for (Value o : apply.getOperands())
      operands.push_back(divisorOf(o));
    return divisorOf(map.getResult(0), ArrayRef<int64_t>(operands).take_front(map.getNumDims()),
                     ArrayRef<int64_t>(operands).drop_front(map.getNumDims()));
  }
  if (isa<arith::MulIOp>(op))
    return divisorOf(op->getOperand(0)) * divisorOf(op->getOperand(1));
  if (isa<arith::AddIOp, arith::SubIOp>(op))
    return std::gcd(divisorOf(op->getOperand(0)), divisorOf(op->getOperand(1)));
  return 1;
}

std::optional<int64_t> slopeOf(Value v, Value of) {
  if (v == of)
    return 1;
  auto argument = dyn_cast<BlockArgument>(of);
  if (!argument || !dependsOn(v, argument))
    return 0;
  auto apply = v.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return std::nullopt;
  // Linear in its operands: the difference of two neighbours is a constant.
  AffineMap map = apply.getAffineMap();
  int64_t slope = 0;
  for (auto [i, operand] : llvm::enumerate(apply.getOperands())) {
    auto inner = slopeOf(operand, of);
    if (!inner)
      return std::nullopt;
    if (*inner == 0)
      continue;
    MLIRContext *context = map.getContext();
    AffineExpr x =
        i < map.getNumDims() ? getAffineDimExpr(i, context) : getAffineSymbolExpr(i - map.getNumDims(), context);
    AffineExpr step = simplifyAffineExpr(map.getResult(0).replace(x, x + 1) - map.getResult(0), map.getNumDims(),
                                         map.getNumSymbols());
    auto c = dyn_cast<AffineConstantExpr>(step);
    if (!c)
      return std::nullopt;
    slope += c.getValue() * *inner;
  }
  return slope;
}

bool isArithmetic(Value v) {
  if (isa<BlockArgument>(v) || ir::constantOf(v))
    return true;
  return isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp>(v.getDefiningOp()) &&
         llvm::all_of(v.getDefiningOp()->getOperands(), isArithmetic);
}

bool isZero(Value v) {
  if (auto fill = v.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_PosZeroFloat());
  return matchPattern(v, m_AnyZeroFloat());
}

ir::LoadOp convertedLoad(Value operand) {
  auto extend = operand.getDefiningOp<arith::ExtFOp>();
  auto load = extend ? extend.getIn().getDefiningOp<ir::LoadOp>() : ir::LoadOp();
  return load && !load.getTable() && load.getFill().isZero() ? load : ir::LoadOp();
}

bool readsLastTwo(ir::LoadOp load) {
  ArrayRef<int64_t> sizes = load.getSizes();
  auto tile = cast<RankedTensorType>(load.getTile().getType());
  return tile.getRank() == 2 && sizes.size() >= 2 && sizes[sizes.size() - 2] == tile.getDimSize(0) &&
         sizes.back() == tile.getDimSize(1) && llvm::all_of(sizes.drop_back(2), [](int64_t n) { return n == 1; });
}

bool dependsOn(Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  // A map may ignore some of its operands.
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    for (auto [i, o] : llvm::enumerate(apply.getOperands()))
      if ((i < map.getNumDims() ? map.isFunctionOfDim(i) : map.isFunctionOfSymbol(i - map.getNumDims())) &&
          dependsOn(o, argument))
        return true;
    return false;
  }
  return llvm::any_of(op->getOperands(), [&](Value o) { return dependsOn(o, argument); });
}

} // namespace evt::roles
