#include "StreamedProduct.h"

#include "compiler/ir/Signature.h"

#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::roles {

namespace {

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

std::optional<StreamedProduct> matchStreamedProduct(ir::DeviceOp device, llvm::function_ref<bool(unsigned)> isImmutable,
                                                    std::string &why) {
  return Matcher(device, isImmutable, why).match();
}

} // namespace evt::roles
