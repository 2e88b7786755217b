#include "Evt.h"

using namespace mlir;

namespace evt::ir {

namespace {

/// What both operations have: logits and a copy of them in rows, the tables of how requests choose.
template <class Op> LogicalResult verifyTables(Op op) {
  auto logits = cast<MemRefType>(op.getLogits().getType()), scaled = cast<MemRefType>(op.getScaled().getType());
  if (logits.getRank() != 2 || !logits.getElementType().isF32() || scaled != logits)
    return op.emitOpError("logits and their copy must be f32, [request, token], of one type, found ")
           << logits << " and " << scaled;
  auto rates = cast<MemRefType>(op.getRates().getType()), choices = cast<MemRefType>(op.getChoices().getType());
  if (rates.getRank() != 2 || !rates.getElementType().isF32() || rates.getDimSize(1) != 8)
    return op.emitOpError("rates must be f32, [request, 8], found ") << rates;
  if (choices.getRank() != 2 || !choices.getElementType().isInteger(32) || choices.getDimSize(1) != 8)
    return op.emitOpError("choices must be i32, [request, 8], found ") << choices;
  // A column of a chunk is exact as an f32, and a thread of a GPU has a few of them.
  int64_t chunk = op.getChunk();
  if (chunk < 1024 || chunk > 4096 || chunk % 1024)
    return op.emitOpError("chunks must be of 1024, 2048, 3072 or 4096 tokens, found ") << chunk;
  return success();
}

} // namespace

LogicalResult DrawOp::verify() {
  if (failed(verifyTables(*this)))
    return failure();
  auto history = cast<MemRefType>(getHistory().getType()), pages = cast<MemRefType>(getPages().getType());
  if (history.getRank() != 1 || !history.getElementType().isInteger(32))
    return emitOpError("history must be a memref of rank 1 of i32, found ") << history;
  if (pages.getRank() != 2 || !pages.getElementType().isInteger(32))
    return emitOpError("pages must be a memref of rank 2 of i32, found ") << pages;
  if ((int64_t)getPageSlots() < 1)
    return emitOpError("a page must have slots, found ") << (int64_t)getPageSlots();
  auto part = cast<RankedTensorType>(getPart().getType());
  if (part.getRank() != 1 || part.getDimSize(0) != 4 || !part.getElementType().isF32())
    return emitOpError("result must be tensor<4xf32>, found ") << part;
  return success();
}

LogicalResult SampleOp::verify() {
  if (failed(verifyTables(*this)))
    return failure();
  auto parts = cast<MemRefType>(getParts().getType());
  if (parts.getRank() != 3 || !parts.getElementType().isF32() || parts.isDynamicDim(1) || parts.getDimSize(2) != 4)
    return emitOpError("parts must be f32, [request, chunk, 4] with a constant number of chunks, found ") << parts;
  auto isOne = [](Type t, bool isFloat) {
    auto tile = cast<RankedTensorType>(t);
    return tile.getRank() == 1 && tile.getDimSize(0) == 1 &&
           (isFloat ? tile.getElementType().isF32() : tile.getElementType().isInteger(32));
  };
  if (!isOne(getToken().getType(), false) || !isOne(getLogprob().getType(), true))
    return emitOpError("results must be tensor<1xi32> and tensor<1xf32>, found ")
           << getToken().getType() << " and " << getLogprob().getType();
  return success();
}

} // namespace evt::ir
