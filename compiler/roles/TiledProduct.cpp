#include "TiledProduct.h"

#include "compiler/ir/Signature.h"
#include "compiler/layout/PackedWeights.h"

using namespace mlir;

namespace evt::roles {

namespace {

/// Dimensions that the copy engine knows, and what its rows' distance in bytes must be a multiple of.
constexpr int64_t mostDimensions = 5, rowBytes = 16;

class Matcher {
public:
  Matcher(ir::DeviceOp device, std::string &why) : device(device), why(why) {}

  std::optional<TiledProduct> match() {
    scf::ForOp loop = productLoop(device, why);
    if (!loop)
      return std::nullopt;
    auto step = ir::constantOf(loop.getStep());
    if (!step || *step % chunkColumns)
      return no("its step along K is " + (step ? std::to_string(*step) : "not constant") + ", required a multiple of " +
                std::to_string(chunkColumns)),
             std::nullopt;
    plan.step = *step;
    if (!isArithmetic(loop.getLowerBound()) || !isArithmetic(loop.getUpperBound()))
      return no("its loop's bounds are not arithmetic of coordinates"), std::nullopt;
    auto product = readProduct(device, loop, why);
    if (!product)
      return std::nullopt;
    static_cast<RoleProduct &>(plan) = *product;
    if (!matchOperand(plan.rows))
      return std::nullopt;
    plan.tileRows = plan.rows.tile().getDimSize(0);
    for (const RoleProduct::Operand &weight : plan.weights) {
      if (!matchOperand(weight))
        return std::nullopt;
      plan.mayBePacked &= isOfPackedTiles(weight);
      plan.columns.push_back(weight.tile().getDimSize(0));
    }
    if (!matchShape())
      return std::nullopt;
    plan.stage.rows = plan.tileRows;
    plan.few.rows = std::max(plan.tileRows / 2, groupRows); // the tensor cores read that many, whatever is there
    return plan;
  }

private:
  bool no(const std::string &reason) {
    why = reason;
    return false;
  }

  bool matchShape() {
    if (plan.tileRows != 64 && plan.tileRows != 128 && plan.tileRows != 256)
      return no("its tile has " + std::to_string(plan.tileRows) + " rows, required 64, 128 or 256");
    for (int64_t n : plan.columns)
      if (n % 8)
        return no("its tile of weights has " + std::to_string(n) + " rows, required a multiple of 8");
    int64_t sums = plan.pieces() * plan.allColumns() / 2;
    if (sums > mostSums)
      return no("a thread has " + std::to_string(sums) + " sums of its tile, required at most " +
                std::to_string(mostSums));
    return true;
  }

  /// The copy engine can fetch the operand's tiles.
  bool matchOperand(const RoleProduct::Operand &operand) {
    if (!operand.argument())
      return no("an operand is no argument of the device function");
    MemRefType type = operand.memory();
    if (!readsLastTwo(operand.load) || operand.tile().getDimSize(1) != plan.step)
      return no("a tile does not lie in the last two dimensions of its memory, with the loop's step as columns");
    if (type.getRank() > mostDimensions)
      return no("an operand has " + std::to_string(type.getRank()) + " dimensions, required at most " +
                std::to_string(mostDimensions));
    int64_t width = type.getDimSize(type.getRank() - 1), unit = rowBytes / 2;
    if (ShapedType::isDynamic(width) || width % unit)
      return no("an operand's rows have " +
                (ShapedType::isDynamic(width) ? "a length that is not constant" : std::to_string(width) + " elements") +
                ", required a multiple of " + std::to_string(unit));
    auto offsets = operand.offsets();
    if (!llvm::all_of(offsets, [](Value v) { return isArithmetic(v); }))
      return no("where a tile begins is not arithmetic of coordinates");
    for (auto [d, offset] : llvm::enumerate(offsets))
      if (slopeOf(offset, scf::ForOp(operand.loop).getInductionVar()) != (d + 1 == offsets.size() ? 1 : 0))
        return no("its tiles do not follow each other along K");
    return true;
  }

  /// device/cuda/wgmma.h has the copies (`packed_load`).
  static bool isOfPackedTiles(const RoleProduct::Operand &weight) {
    MemRefType type = weight.memory();
    int64_t rank = type.getRank(), height = type.getDimSize(rank - 2), width = type.getDimSize(rank - 1);
    auto offsets = weight.offsets();
    return rank <= 3 && !ShapedType::isDynamic(height) && height % layout::packedRows == 0 &&
           width % layout::packedColumns == 0 && isDivisible(offsets[rank - 2], layout::packedRows) &&
           isDivisible(offsets[rank - 1], layout::packedColumns);
  }

  ir::DeviceOp device;
  std::string &why;
  TiledProduct plan;
};

} // namespace

void TiledProduct::fill(int64_t stageBytes) {
  auto lower = ir::constantOf(loop.getLowerBound()), upper = ir::constantOf(loop.getUpperBound());
  bool isWhole = lower && upper && *upper > *lower && (*upper - *lower) % step == 0;
  MemRefType memory = rows.memory();
  bool isOfChunks = memory.getRank() < mostDimensions && memory.getShape().back() % chunkColumns == 0 &&
                    isDivisible(rows.offsets().back(), chunkColumns);
  // What lies beyond K is zero, where it is beyond the tensors.
  auto depthOf = [](const Operand &operand) { return operand.memory().getShape().back(); };
  bool isAllOfK = isWhole && isOfChunks && isPacked && *lower == 0 && *upper == depthOf(rows) &&
                  llvm::all_of(weights, [&](const Operand &weight) { return *upper == depthOf(weight); });
  for (Stage *s : {&stage, &few}) {
    s->chunks = isWhole ? std::max<int64_t>(stageBytes / bytesOf(s->rows + allColumns()), 1) : 1;
    while (s->chunks > 1 && !isAllOfK && (*upper - *lower) / chunkColumns % s->chunks)
      --s->chunks;
    s->rowsTogether = s->chunks > 1 && isOfChunks;
  }
}

std::optional<TiledProduct> matchTiledProduct(ir::DeviceOp device, std::string &why) {
  return Matcher(device, why).match();
}

} // namespace evt::roles
