#include "StreamedProduct.h"

#include "compiler/ir/Signature.h"

#include <algorithm>

using namespace mlir;

namespace evt::roles {

namespace {

class Matcher {
public:
  Matcher(ir::DeviceOp device, std::string &why) : device(device), why(why) {}

  std::optional<StreamedProduct> match() {
    scf::ForOp loop = productLoop(device, why);
    if (!loop || !matchDepth(loop))
      return std::nullopt;
    auto product = readProduct(device, loop, why);
    if (!product)
      return std::nullopt;
    static_cast<RoleProduct &>(plan) = *product;
    if (!matchRows() || !llvm::all_of(plan.weights, [&](const auto &weight) { return matchWeight(weight); }))
      return std::nullopt;
    for (unsigned c = 0; c < device.getCoordNames().size(); ++c)
      if (llvm::none_of(plan.rows.offsets(), [&](Value o) { return dependsOn(o, device.getCoord(c)); }))
        plan.streaming.push_back(c);
    if (plan.streaming.empty())
      return no("every task has rows of its own"), std::nullopt;
    if (followEachOther(plan.rows))
      plan.together = std::clamp<int64_t>(wantedStageBytes / plan.stepBytes(), 1, plan.steps);
    return plan;
  }

private:
  bool no(const std::string &reason) {
    why = reason;
    return false;
  }

  bool matchDepth(scf::ForOp loop) {
    auto lower = ir::constantOf(loop.getLowerBound()), upper = ir::constantOf(loop.getUpperBound()),
         step = ir::constantOf(loop.getStep());
    if (!lower || !upper || !step || *upper <= *lower || (*upper - *lower) % *step)
      return no("its loop does not have a constant number of whole steps");
    plan.lower = *lower, plan.step = *step, plan.steps = (*upper - *lower) / *step;
    if (plan.step % (computeWarps * packedColumns))
      return no("its step along K is " + std::to_string(plan.step) + ", required a multiple of " +
                std::to_string(computeWarps * packedColumns));
    if (plan.stepBytes() > mostStageBytes)
      return no("a stage has " + std::to_string(plan.stepBytes()) + " bytes, required at most " +
                std::to_string(mostStageBytes));
    if (plan.pieces() > mostRowPieces)
      return no("its depth is " + std::to_string(plan.steps * plan.step) + ", required at most " +
                std::to_string(mostRowPieces * computeWarps * packedColumns));
    return true;
  }

  bool matchRows() {
    RankedTensorType tile = plan.rows.tile();
    if (tile.getDimSize(0) != tokenRows || tile.getDimSize(1) != plan.step)
      return no("its tile has " + std::to_string(tile.getDimSize(0)) + " rows of " +
                std::to_string(tile.getDimSize(1)) + ", required " + std::to_string(tokenRows) + " of the loop's step");
    if (!readsLastTwo(plan.rows.load))
      return no("a tile does not lie in the last two dimensions of its memory");
    if (!llvm::all_of(plan.rows.offsets(), isPlace))
      return no("where a tile begins is not arithmetic of coordinates");
    if (!isDivisible(plan.rows.offsets().back(), layout::laneElements))
      return no("a tile begins inside a packed tile");
    if (plan.rows.memory().getShape().back() % layout::laneElements)
      return no("its rows have a length that is no multiple of " + std::to_string(layout::laneElements));
    return true;
  }

  bool matchWeight(const RoleProduct::Operand &weight) {
    RankedTensorType tile = weight.tile();
    if (tile.getDimSize(0) % weightRows)
      return no("its tile of weights has " + std::to_string(tile.getDimSize(0)) + " rows, required a multiple of " +
                std::to_string(weightRows));
    if (!readsLastTwo(weight.load))
      return no("a tile does not lie in the last two dimensions of its memory");
    if (!weight.isAhead || !weight.argument())
      return no("its weights are not immutable, so that no role loads them ahead");
    MemRefType memory = weight.memory();
    int64_t height = memory.getDimSize(memory.getRank() - 2), width = memory.getDimSize(memory.getRank() - 1);
    if (ShapedType::isDynamic(height) || ShapedType::isDynamic(width) || height % tile.getDimSize(0) ||
        width % packedColumns)
      return no("its weights do not divide into whole tiles");
    auto offsets = weight.offsets();
    if (!llvm::all_of(offsets, isPlace))
      return no("where a tile begins is not arithmetic of coordinates");
    if (!isDivisible(offsets[offsets.size() - 2], weightRows) || !isDivisible(offsets.back(), packedColumns))
      return no("a tile begins inside a packed tile");
    if (!followEachOther(weight))
      return no("its weights do not follow each other along K");
    return true;
  }

  /// Whether an operand's tiles are neighbours in the rows of its memory, step after step.
  static bool followEachOther(const RoleProduct::Operand &operand) {
    auto offsets = operand.offsets();
    Value k = scf::ForOp(operand.loop).getInductionVar();
    for (auto [d, offset] : llvm::enumerate(offsets))
      if (slopeOf(offset, k) != (d + 1 == offsets.size() ? 1 : 0))
        return false;
    return true;
  }

  static bool isPlace(Value v) { return isArithmetic(v); }

  ir::DeviceOp device;
  std::string &why;
  StreamedProduct plan;
};

} // namespace

std::optional<StreamedProduct> matchStreamedProduct(ir::DeviceOp device, std::string &why) {
  return Matcher(device, why).match();
}

} // namespace evt::roles
