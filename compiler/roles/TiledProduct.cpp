#include "TiledProduct.h"

#include "compiler/ir/Signature.h"
#include "compiler/layout/PackedWeights.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;

namespace evt::roles {

namespace {

/// Dimensions that the copy engine knows, and what its rows' distance in bytes must be a multiple of.
constexpr int64_t mostDimensions = 5, rowBytes = 16;

class Matcher {
public:
  Matcher(ir::DeviceOp device, std::string &why) : device(device), why(why) {}

  std::optional<TiledProduct> match() {
    auto loops = device.getBody().front().getOps<scf::ForOp>();
    if (!llvm::hasSingleElement(loops))
      return no("it has no single loop along K"), std::nullopt;
    plan.loop = *loops.begin();
    auto step = ir::constantOf(plan.loop.getStep());
    if (!step || *step % chunkColumns)
      return no("its step along K is " + (step ? std::to_string(*step) : "not constant") + ", required a multiple of " +
                std::to_string(chunkColumns)),
             std::nullopt;
    plan.step = *step;
    if (!isArithmetic(plan.loop.getLowerBound()) || !isArithmetic(plan.loop.getUpperBound()))
      return no("its loop's bounds are not arithmetic of coordinates"), std::nullopt;
    for (auto [i, yielded] : llvm::enumerate(plan.loop.getYieldedValues()))
      if (!matchProduct(i, yielded))
        return std::nullopt;
    if (plan.weights.empty())
      return no("its loop has no product"), std::nullopt;
    for (Operation &op : *plan.loop.getBody())
      if (!used.contains(&op) && !isa<scf::YieldOp>(op) &&
          !llvm::all_of(op.getResultTypes(), [](Type t) { return t.isIndex(); }))
        return no("its loop holds more than products"), std::nullopt;
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

  bool matchProduct(unsigned i, Value yielded) {
    auto product = yielded.getDefiningOp<linalg::MatmulTransposeBOp>();
    if (!product || product.getOutputs()[0] != plan.loop.getRegionIterArgs()[i] || !isZero(plan.loop.getInitArgs()[i]))
      return no("an accumulator of its loop is not a sum of products that starts at zero");
    ir::LoadOp rows = convertedLoad(product.getInputs()[0]), weights = convertedLoad(product.getInputs()[1]);
    if (!rows || !weights || (plan.rows && rows != plan.rows))
      return no("its products are not of one 16-bit tile of rows and a 16-bit tile of weights each");
    plan.rows = rows;
    if (!matchOperand(rows) || !matchOperand(weights))
      return false;
    plan.mayBePacked &= isOfPackedTiles(weights);
    auto a = cast<RankedTensorType>(rows.getTile().getType()), b = cast<RankedTensorType>(weights.getTile().getType());
    if (a.getElementType() != b.getElementType())
      return no("rows and weights have different types");
    plan.isBfloat16 = a.getElementType().isBF16();
    plan.tileRows = a.getDimSize(0);
    plan.weights.push_back(weights);
    plan.columns.push_back(b.getDimSize(0));
    for (Operation *op : {product.getOperation(), rows.getOperation(), weights.getOperation(),
                          product.getInputs()[0].getDefiningOp(), product.getInputs()[1].getDefiningOp()})
      used.insert(op);
    return true;
  }

  /// The copy engine can fetch the operand's tiles.
  bool matchOperand(ir::LoadOp load) {
    auto memory = dyn_cast<BlockArgument>(load.getMemory());
    if (!memory || memory.getOwner() != &device.getBody().front())
      return no("an operand is no argument of the device function");
    auto type = cast<MemRefType>(memory.getType());
    auto tile = cast<RankedTensorType>(load.getTile().getType());
    if (!readsLastTwo(load) || tile.getDimSize(1) != plan.step)
      return no("a tile does not lie in the last two dimensions of its memory, with the loop's step as columns");
    if (type.getRank() > mostDimensions)
      return no("an operand has " + std::to_string(type.getRank()) + " dimensions, required at most " +
                std::to_string(mostDimensions));
    int64_t width = type.getDimSize(type.getRank() - 1), unit = rowBytes / 2;
    if (ShapedType::isDynamic(width) || width % unit)
      return no("an operand's rows have " +
                (ShapedType::isDynamic(width) ? "a length that is not constant" : std::to_string(width) + " elements") +
                ", required a multiple of " + std::to_string(unit));
    auto offsets = load.getOffsets();
    if (!llvm::all_of(offsets, isArithmetic))
      return no("where a tile begins is not arithmetic of coordinates");
    for (auto [d, offset] : llvm::enumerate(offsets))
      if (slopeOf(offset, plan.loop.getInductionVar()) != (d + 1 == offsets.size() ? 1 : 0))
        return no("its tiles do not follow each other along K");
    return true;
  }

  /// device/cuda/wgmma.h has the copies (`packed_load`).
  static bool isOfPackedTiles(ir::LoadOp load) {
    auto type = cast<MemRefType>(load.getMemory().getType());
    int64_t rank = type.getRank(), height = type.getDimSize(rank - 2), width = type.getDimSize(rank - 1);
    auto offsets = load.getOffsets();
    return rank <= 3 && !ShapedType::isDynamic(height) && height % layout::packedRows == 0 &&
           width % layout::packedColumns == 0 && isDivisible(offsets[rank - 2], layout::packedRows) &&
           isDivisible(offsets[rank - 1], layout::packedColumns);
  }

  ir::DeviceOp device;
  std::string &why;
  TiledProduct plan;
  llvm::SmallPtrSet<Operation *, 16> used;
};

} // namespace

void TiledProduct::fill(int64_t stageBytes) {
  auto lower = ir::constantOf(loop.getLowerBound()), upper = ir::constantOf(loop.getUpperBound());
  bool isWhole = lower && upper && *upper > *lower && (*upper - *lower) % step == 0;
  auto memory = cast<MemRefType>(rows.getMemory().getType());
  bool isOfChunks = memory.getRank() < mostDimensions && memory.getShape().back() % chunkColumns == 0 &&
                    isDivisible(rows.getOffsets().back(), chunkColumns);
  // What lies beyond K is zero, where it is beyond the tensors.
  auto depthOf = [](ir::LoadOp load) { return cast<MemRefType>(load.getMemory().getType()).getShape().back(); };
  bool isAllOfK = isWhole && isOfChunks && isPacked && *lower == 0 && *upper == depthOf(rows) &&
                  llvm::all_of(weights, [&](ir::LoadOp load) { return *upper == depthOf(load); });
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
