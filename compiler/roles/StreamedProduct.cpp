#include "StreamedProduct.h"

#include "compiler/ir/Signature.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <numeric>

using namespace mlir;

namespace evt::roles {

namespace {

/// A number that divides the index for every value of coordinates and arguments.
int64_t divisorOf(Value v);

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

/// How much an index grows when `of` grows by 1; none if that is not a constant.
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

/// Arithmetic of coordinates, arguments and the loop: what every role can compute for itself.
bool isArithmetic(Value v) {
  if (isa<BlockArgument>(v) || ir::constantOf(v))
    return true;
  return isa<affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, arith::AddIOp, arith::SubIOp,
             arith::MulIOp>(v.getDefiningOp()) &&
         llvm::all_of(v.getDefiningOp()->getOperands(), isArithmetic);
}

bool isDivisible(Value v, int64_t by) { return divisorOf(v) % by == 0; }

bool isZero(Value v) {
  if (auto fill = v.getDefiningOp<linalg::FillOp>())
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_PosZeroFloat());
  return matchPattern(v, m_AnyZeroFloat());
}

/// The 16-bit load that is converted for a product.
ir::LoadOp convertedLoad(Value operand) {
  auto extend = operand.getDefiningOp<arith::ExtFOp>();
  auto load = extend ? extend.getIn().getDefiningOp<ir::LoadOp>() : ir::LoadOp();
  return load && !load.getTable() && load.getFill().isZero() ? load : ir::LoadOp();
}

/// The load reads its tile from the last two dimensions of its memory.
bool readsLastTwo(ir::LoadOp load) {
  ArrayRef<int64_t> sizes = load.getSizes();
  auto tile = cast<RankedTensorType>(load.getTile().getType());
  return tile.getRank() == 2 && sizes.size() >= 2 && sizes[sizes.size() - 2] == tile.getDimSize(0) &&
         sizes.back() == tile.getDimSize(1) && llvm::all_of(sizes.drop_back(2), [](int64_t n) { return n == 1; });
}

class Matcher {
public:
  Matcher(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable, std::string &why)
      : device(device), isImmutable(isImmutable), why(why) {}

  std::optional<StreamedProduct> match() {
    Block &body = device.getBody().front();
    auto loops = body.getOps<scf::ForOp>();
    if (!llvm::hasSingleElement(loops))
      return no("it has no single loop along K");
    plan.loop = *loops.begin();
    auto lower = ir::constantOf(plan.loop.getLowerBound()), upper = ir::constantOf(plan.loop.getUpperBound()),
         step = ir::constantOf(plan.loop.getStep());
    if (!lower || !upper || !step || *upper <= *lower || (*upper - *lower) % *step)
      return no("its loop does not have a constant number of whole steps");
    plan.lower = *lower, plan.step = *step, plan.stages = (*upper - *lower) / *step;
    if (plan.step % (computeWarps * packedColumns))
      return no("its step along K is " + std::to_string(plan.step) + ", required a multiple of " +
                std::to_string(computeWarps * packedColumns));
    if (plan.stageBytes() > mostStageBytes)
      return no("a stage has " + std::to_string(plan.stageBytes()) + " bytes, required at most " +
                std::to_string(mostStageBytes));
    if (plan.stages * plan.blocks() > mostRowPieces)
      return no("its depth is " + std::to_string(plan.stages * plan.step) + ", required at most " +
                std::to_string(mostRowPieces * computeWarps * packedColumns));
    for (auto [i, yielded] : llvm::enumerate(plan.loop.getYieldedValues()))
      if (!matchProduct(i, yielded))
        return std::nullopt;
    if (plan.weights.empty())
      return no("its loop has no product");
    for (Operation &op : *plan.loop.getBody())
      if (!used.contains(&op) && !isa<scf::YieldOp>(op) &&
          !llvm::all_of(op.getResultTypes(), [](Type t) { return t.isIndex(); }))
        return no("its loop holds more than products");
    for (unsigned c = 0; c < device.getCoordNames().size(); ++c) {
      BlockArgument coordinate = body.getArgument(device.getNumArgs() + c);
      if (llvm::none_of(plan.rows.getOffsets(), [&](Value o) { return dependsOn(o, coordinate); }))
        plan.streaming.push_back(c);
    }
    if (plan.streaming.empty())
      return no("every task has rows of its own");
    return plan;
  }

private:
  std::nullopt_t no(const std::string &reason) {
    why = reason;
    return std::nullopt;
  }

  bool matchProduct(unsigned i, Value yielded) {
    auto refuse = [&](const std::string &reason) {
      why = reason;
      return false;
    };
    auto product = yielded.getDefiningOp<linalg::MatmulTransposeBOp>();
    if (!product || product.getOutputs()[0] != plan.loop.getRegionIterArgs()[i] || !isZero(plan.loop.getInitArgs()[i]))
      return refuse("an accumulator of its loop is not a sum of products that starts at zero");
    ir::LoadOp rows = convertedLoad(product.getInputs()[0]), weights = convertedLoad(product.getInputs()[1]);
    if (!rows || !weights || (plan.rows && rows != plan.rows))
      return refuse("its products are not of one 16-bit tile of rows and a 16-bit tile of weights each");
    plan.rows = rows;
    auto a = cast<RankedTensorType>(rows.getTile().getType()), b = cast<RankedTensorType>(weights.getTile().getType());
    if (a.getElementType() != b.getElementType())
      return refuse("rows and weights have different types");
    plan.isBfloat16 = a.getElementType().isBF16();
    if (a.getDimSize(0) != tokenRows || a.getDimSize(1) != plan.step || b.getDimSize(1) != plan.step)
      return refuse("its tile has " + std::to_string(a.getDimSize(0)) + " rows of " + std::to_string(a.getDimSize(1)) +
                    ", required " + std::to_string(tokenRows) + " of the loop's step");
    if (b.getDimSize(0) % weightRows)
      return refuse("its tile of weights has " + std::to_string(b.getDimSize(0)) + " rows, required a multiple of " +
                    std::to_string(weightRows));
    if (!readsLastTwo(rows) || !readsLastTwo(weights))
      return refuse("a tile does not lie in the last two dimensions of its memory");
    auto memory = dyn_cast<BlockArgument>(weights.getMemory());
    if (!memory || !isImmutable(memory.getArgNumber()))
      return refuse("its weights are not immutable");
    auto type = cast<MemRefType>(memory.getType());
    int64_t height = type.getDimSize(type.getRank() - 2), width = type.getDimSize(type.getRank() - 1);
    if (ShapedType::isDynamic(height) || ShapedType::isDynamic(width) || height % b.getDimSize(0) ||
        width % packedColumns)
      return refuse("its weights do not divide into whole tiles");
    auto offsets = weights.getOffsets();
    if (!llvm::all_of(offsets, isArithmetic) || !llvm::all_of(rows.getOffsets(), isArithmetic))
      return refuse("where a tile begins is not arithmetic of coordinates");
    if (!isDivisible(offsets[offsets.size() - 2], weightRows) || !isDivisible(offsets.back(), packedColumns) ||
        !isDivisible(rows.getOffsets().back(), layout::laneElements))
      return refuse("a tile begins inside a packed tile");
    for (auto [d, offset] : llvm::enumerate(offsets))
      if (slopeOf(offset, plan.loop.getInductionVar()) != (d + 1 == offsets.size() ? 1 : 0))
        return refuse("its weights do not follow each other along K");
    auto rowType = cast<MemRefType>(rows.getMemory().getType());
    if (rowType.getDimSize(rowType.getRank() - 1) % layout::laneElements)
      return refuse("its rows have a length that is no multiple of " + std::to_string(layout::laneElements));
    plan.weights.push_back({weights, memory.getArgNumber(), b.getDimSize(0) / weightRows});
    for (Operation *op : {product.getOperation(), rows.getOperation(), weights.getOperation(),
                          product.getInputs()[0].getDefiningOp(), product.getInputs()[1].getDefiningOp()})
      used.insert(op);
    return true;
  }

  ir::DeviceOp device;
  llvm::function_ref<bool(unsigned)> isImmutable;
  std::string &why;
  StreamedProduct plan;
  llvm::SmallPtrSet<Operation *, 16> used;
};

} // namespace

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

std::optional<StreamedProduct> matchStreamedProduct(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable,
                                                    std::string &why) {
  return Matcher(device, isImmutable, why).match();
}

} // namespace evt::roles
