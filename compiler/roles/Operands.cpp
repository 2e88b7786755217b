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

// An index may be used many times by those that hang on it: what was found for it is kept while a question is answered.

static int64_t divisorOf(Value v, llvm::DenseMap<Value, int64_t> &known) {
  if (auto c = ir::constantOf(v))
    return std::abs(*c);
  if (auto argument = dyn_cast<BlockArgument>(v)) {
    auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
    return loop && argument == loop.getInductionVar()
               ? std::gcd(divisorOf(loop.getLowerBound(), known), divisorOf(loop.getStep(), known))
               : 1;
  }
  if (auto it = known.find(v); it != known.end())
    return it->second;
  Operation *op = v.getDefiningOp();
  SmallVector<int64_t> operands;
  bool isKnown = isa<affine::AffineApplyOp, arith::MulIOp, arith::AddIOp, arith::SubIOp>(op);
  for (Value o : isKnown ? op->getOperands() : op->getOperands().take_front(0))
    operands.push_back(divisorOf(o, known));
  int64_t divisor = 1;
  if (auto apply = dyn_cast<affine::AffineApplyOp>(op)) {
    AffineMap map = apply.getAffineMap();
    divisor = divisorOf(map.getResult(0), ArrayRef<int64_t>(operands).take_front(map.getNumDims()),
                        ArrayRef<int64_t>(operands).drop_front(map.getNumDims()));
  } else if (isa<arith::MulIOp>(op)) {
    divisor = operands[0] * operands[1];
  } else if (isKnown) {
    divisor = std::gcd(operands[0], operands[1]);
  }
  return known[v] = divisor;
}

int64_t divisorOf(Value v) {
  llvm::DenseMap<Value, int64_t> known;
  return divisorOf(v, known);
}

static std::optional<int64_t> slopeOf(Value v, Value of, llvm::DenseMap<Value, std::optional<int64_t>> &known) {
  if (v == of)
    return 1;
  auto argument = dyn_cast<BlockArgument>(of);
  if (!argument || !dependsOn(v, argument))
    return 0;
  if (auto it = known.find(v); it != known.end())
    return it->second;
  auto apply = v.getDefiningOp<affine::AffineApplyOp>();
  if (!apply)
    return std::nullopt;
  // Linear in its operands: the difference of two neighbours is a constant.
  AffineMap map = apply.getAffineMap();
  std::optional<int64_t> slope = 0;
  for (auto [i, operand] : llvm::enumerate(apply.getOperands())) {
    auto inner = slopeOf(operand, of, known);
    if (inner && *inner == 0)
      continue;
    MLIRContext *context = map.getContext();
    AffineExpr x =
        i < map.getNumDims() ? getAffineDimExpr(i, context) : getAffineSymbolExpr(i - map.getNumDims(), context);
    AffineExpr step = simplifyAffineExpr(map.getResult(0).replace(x, x + 1) - map.getResult(0), map.getNumDims(),
                                         map.getNumSymbols());
    auto c = dyn_cast<AffineConstantExpr>(step);
    slope = inner && c && slope ? std::optional(*slope + c.getValue() * *inner) : std::nullopt;
  }
  return known[v] = slope;
}

std::optional<int64_t> slopeOf(Value v, Value of) {
  llvm::DenseMap<Value, std::optional<int64_t>> known;
  return slopeOf(v, of, known);
}

static bool isArithmetic(Value v, llvm::DenseSet<Value> &known) {
  if (isa<BlockArgument>(v) || ir::constantOf(v) || known.contains(v))
    return true;
  bool is =
      isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, arith::AddIOp, arith::SubIOp, arith::MulIOp>(
          v.getDefiningOp()) &&
      llvm::all_of(v.getDefiningOp()->getOperands(), [&](Value o) { return isArithmetic(o, known); });
  if (is)
    known.insert(v);
  return is;
}

bool isArithmetic(Value v) {
  llvm::DenseSet<Value> known;
  return isArithmetic(v, known);
}

bool isZero(Value v) {
  if (auto fill = v.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_PosZeroFloat());
  return matchPattern(v, m_AnyZeroFloat());
}

bool readsLastTwo(ir::LoadOp load) {
  ArrayRef<int64_t> sizes = load.getSizes();
  auto tile = cast<RankedTensorType>(load.getTile().getType());
  return tile.getRank() == 2 && sizes.size() >= 2 && sizes[sizes.size() - 2] == tile.getDimSize(0) &&
         sizes.back() == tile.getDimSize(1) && llvm::all_of(sizes.drop_back(2), [](int64_t n) { return n == 1; });
}

static bool dependsOn(Value value, BlockArgument argument, llvm::DenseSet<Value> &seen) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || !seen.insert(value).second)
    return false;
  // A map may ignore some of its operands.
  auto apply = dyn_cast<affine::AffineApplyOp>(op);
  AffineMap map = apply ? apply.getAffineMap() : AffineMap();
  for (auto [i, o] : llvm::enumerate(op->getOperands()))
    if ((!map || (i < map.getNumDims() ? map.isFunctionOfDim(i) : map.isFunctionOfSymbol(i - map.getNumDims()))) &&
        dependsOn(o, argument, seen))
      return true;
  return false;
}

bool dependsOn(Value value, BlockArgument argument) {
  llvm::DenseSet<Value> seen;
  return dependsOn(value, argument, seen);
}

bool comesFrom(Value value, llvm::function_ref<bool(Value)> isOne) {
  llvm::DenseSet<Value> seen{value};
  SmallVector<Value> left{value};
  while (!left.empty()) {
    Value v = left.pop_back_val();
    if (isOne(v))
      return true;
    if (Operation *op = v.getDefiningOp())
      for (Value o : op->getOperands())
        if (seen.insert(o).second)
          left.push_back(o);
  }
  return false;
}

bool multiplies(Operation *op) {
  return op
      ->walk([](Operation *inner) {
        return isa<linalg::MatmulOp, linalg::MatmulTransposeBOp>(inner) ? WalkResult::interrupt()
                                                                        : WalkResult::advance();
      })
      .wasInterrupted();
}

} // namespace evt::roles
