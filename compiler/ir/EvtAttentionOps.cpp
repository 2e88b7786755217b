#include "Evt.h"

using namespace mlir;

namespace evt::ir {

ParseResult AttendOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand query, scales, keys, values, pages, layer, request, head, begin, end;
  std::optional<OpAsmParser::UnresolvedOperand> settled;
  int64_t slots = 0, heads = 1;
  if (parser.parseOperand(query) || parser.parseKeyword("scaled") || parser.parseOperand(scales) ||
      parser.parseKeyword("over") || parser.parseOperand(keys) || parser.parseComma() || parser.parseOperand(values) ||
      parser.parseLSquare() || parser.parseOperand(layer) || parser.parseComma() || parser.parseOperand(head) ||
      parser.parseComma() || parser.parseOperand(pages) || parser.parseLSquare() || parser.parseOperand(request) ||
      parser.parseRSquare() || parser.parseRSquare() || parser.parseKeyword("from") || parser.parseOperand(begin) ||
      parser.parseKeyword("to") || parser.parseOperand(end) ||
      (succeeded(parser.parseOptionalKeyword("settled")) && parser.parseOperand(settled.emplace())) ||
      parser.parseKeyword("pages") || parser.parseKeyword("of") || parser.parseInteger(slots) ||
      (succeeded(parser.parseOptionalKeyword("heads")) && parser.parseInteger(heads)))
    return failure();
  RankedTensorType queryType, accType;
  MemRefType cacheType, pagesType;
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(queryType) || parser.parseComma() ||
      parser.parseType(cacheType) || parser.parseComma() || parser.parseType(pagesType) || parser.parseArrow() ||
      parser.parseType(accType))
    return failure();
  Builder &b = parser.getBuilder();
  if (accType.getRank() < 1)
    return parser.emitError(parser.getNameLoc(), "has a result of rank 0");
  auto row = RankedTensorType::get(accType.getShape().drop_back(), accType.getElementType());
  result.addAttribute("page_slots", b.getI64IntegerAttr(slots));
  result.addAttribute("heads", b.getI64IntegerAttr(heads));
  result.addTypes({row, row, accType});
  if (parser.resolveOperand(query, queryType, result.operands) || parser.resolveOperand(scales, row, result.operands) ||
      parser.resolveOperand(keys, cacheType, result.operands) ||
      parser.resolveOperand(values, cacheType, result.operands) ||
      parser.resolveOperand(pages, pagesType, result.operands))
    return failure();
  for (auto &index : {layer, request, head, begin, end})
    if (parser.resolveOperand(index, b.getIndexType(), result.operands))
      return failure();
  if (settled && parser.resolveOperand(*settled, b.getIndexType(), result.operands))
    return failure();
  return success();
}

void AttendOp::print(OpAsmPrinter &p) {
  p << " " << getQuery() << " scaled " << getScales() << " over " << getKeys() << ", " << getValues() << "["
    << getLayer() << ", " << getHead() << ", " << getPages() << "[" << getRequest() << "]] from " << getBegin()
    << " to " << getEnd();
  if (getSettled())
    p << " settled " << getSettled();
  p << " pages of " << (int64_t)getPageSlots();
  if ((int64_t)getHeads() != 1)
    p << " heads " << (int64_t)getHeads();
  p.printOptionalAttrDict((*this)->getAttrs(), {"page_slots", "heads"});
  p << " : " << getQuery().getType() << ", " << getKeys().getType() << ", " << getPages().getType() << " -> "
    << getAcc().getType();
}

LogicalResult AttendOp::verify() {
  auto query = cast<RankedTensorType>(getQuery().getType()), acc = cast<RankedTensorType>(getAcc().getType());
  auto keys = cast<MemRefType>(getKeys().getType()), pages = cast<MemRefType>(getPages().getType());
  if (query.getRank() != 2)
    return emitOpError("query must have rows and columns, found ") << query;
  if (!query.getElementType().isBF16() && !query.getElementType().isF16() && !query.getElementType().isF32())
    return emitOpError("query must be bf16, f16 or f32, found ") << query;
  if (const int64_t heads = getHeads(); heads < 1 || query.getDimSize(0) % heads)
    return emitOpError("query must have as many rows of each of ") << heads << " heads, found " << query;
  if (acc.getShape() != query.getShape() || !acc.getElementType().isF32())
    return emitOpError("result must be f32 of the query's shape, found ") << acc << " for " << query;
  for (Value v : {getScales(), getM(), getSum()})
    if (auto t = cast<RankedTensorType>(v.getType());
        t.getRank() != 1 || t.getDimSize(0) != query.getDimSize(0) || !t.getElementType().isF32())
      return emitOpError("has one f32 scale, maximum and sum for each of ")
             << query.getDimSize(0) << " rows, found " << t;
  if (getValues().getType() != keys)
    return emitOpError("keys and values must have one type, found ") << keys << " and " << getValues().getType();
  if (keys.getRank() != 4 || keys.getElementType() != query.getElementType() ||
      keys.getDimSize(3) != query.getDimSize(1))
    return emitOpError("keys must be [layer, head, slot, column] with the query's columns and type, found ")
           << keys << " for " << query;
  if (pages.getRank() != 2 || !pages.getElementType().isInteger(32))
    return emitOpError("pages must be a memref of rank 2 of i32, found ") << pages;
  if ((int64_t)getPageSlots() < 1)
    return emitOpError("a page must have slots, found ") << (int64_t)getPageSlots();
  return success();
}

LogicalResult MergeOp::verify() {
  auto m = cast<MemRefType>(getM().getType()), acc = cast<MemRefType>(getAcc().getType());
  auto merged = cast<RankedTensorType>(getMerged().getType());
  if (m.getRank() != 4 || acc.getRank() != 5 || !m.getElementType().isF32() || !acc.getElementType().isF32())
    return emitOpError("parts must be f32, [i, j, part, row] and [i, j, part, row, column], found ")
           << m << " and " << acc;
  if (merged.getRank() != 2 || !merged.getElementType().isF32() || merged.getDimSize(0) != acc.getDimSize(3) ||
      merged.getDimSize(1) != acc.getDimSize(4) || m.getDimSize(3) != acc.getDimSize(3))
    return emitOpError("result must be f32 with the parts' rows and columns, found ")
           << merged << " for " << m << " and " << acc;
  return success();
}

namespace {

/// Requests and positions of a step's tokens, and what a long run is.
template <typename OpT> LogicalResult verifyTokens(OpT op, int64_t count, StringRef of) {
  auto table = cast<MemRefType>(op.getRequests().getType());
  if (table.getRank() != 1 || !table.getElementType().isInteger(32))
    return op.emitOpError("requests and positions must be memrefs of rank 1 of i32, found ") << table;
  if (count < 1)
    return op.emitOpError("must be of at least 1 ") << of << ", found " << count;
  if ((int64_t)op.getEnough() < 2)
    return op.emitOpError("a long run must have at least 2 tokens, found ") << (int64_t)op.getEnough();
  return success();
}

} // namespace

LogicalResult AttendTokensOp::verify() {
  auto query = cast<MemRefType>(getQuery().getType()), keys = cast<MemRefType>(getKeys().getType());
  auto pages = cast<MemRefType>(getPages().getType());
  if (failed(verifyTokens(*this, getTokens(), "token")))
    return failure();
  Type element = query.getElementType();
  if (query.getRank() != 2 || query.isDynamicDim(1) || !(element.isBF16() || element.isF16() || element.isF32()))
    return emitOpError("query must be bf16, f16 or f32, [token, query head * column] with constant columns, found ")
           << query;
  if (keys.getRank() != 4 || keys.getElementType() != element || keys.isDynamicDim(1) || keys.isDynamicDim(3))
    return emitOpError(
               "keys must be [layer, head, slot, column] of the query's type, heads and columns constant, found ")
           << keys << " for " << query;
  if ((int64_t)getGroup() < 1 || (int64_t)getGroup() * keys.getDimSize(1) * keys.getDimSize(3) != query.getDimSize(1))
    return emitOpError("a group of ") << (int64_t)getGroup() << " query heads for each of " << keys.getDimSize(1)
                                      << " heads of " << keys.getDimSize(3) << " columns must be "
                                      << query.getDimSize(1) << " columns in all";
  if (pages.getRank() != 2 || !pages.getElementType().isInteger(32))
    return emitOpError("pages must be a memref of rank 2 of i32, found ") << pages;
  if ((int64_t)getPageSlots() < 1)
    return emitOpError("a page must have slots, found ") << (int64_t)getPageSlots();
  return success();
}

LogicalResult RotateHeadOp::verify() {
  auto x = cast<MemRefType>(getX().getType()), out = cast<MemRefType>(getOut().getType());
  const int64_t columns = getColumns(), tokens = getTokens();
  Type element = out.getElementType();
  if (columns < 16 || columns % 16)
    return emitOpError("a head must have a multiple of 16 columns, found ") << columns;
  if (tokens < 1 || tokens > 32)
    return emitOpError("must be of 1 to 32 tokens, found ") << tokens;
  if (x.getRank() != 2 || !x.getElementType().isF32())
    return emitOpError("products must be f32, [token, column], found ") << x;
  if (!(element.isBF16() || element.isF16() || element.isF32()))
    return emitOpError("heads must be bf16, f16 or f32, found ") << out;
  if (getSlots() ? out.getRank() != 4 || out.getDimSize(3) != columns : out.getRank() != 2)
    return emitOpError("heads go to [token, head * column], or through slots to [layer, head, slot, ")
           << columns << "], found " << out;
  auto isTable = [&](Value memory, int64_t rank, int64_t last) {
    auto type = memory ? cast<MemRefType>(memory.getType()) : MemRefType();
    return !type || (type.getRank() == rank && type.getElementType().isF32() && type.getDimSize(rank - 1) == last);
  };
  if (getSlots())
    if (auto slots = cast<MemRefType>(getSlots().getType());
        slots.getRank() != 1 || !slots.getElementType().isInteger(32))
      return emitOpError("slots must be a memref of rank 1 of i32, found ") << slots;
  if (!getCosines() != !getSines() || !isTable(getCosines(), 2, columns / 2) || !isTable(getSines(), 2, columns / 2))
    return emitOpError("cosines and sines must be f32, [token, ") << columns / 2 << "], or absent";
  if (!isTable(getWeights(), 2, columns))
    return emitOpError("weights of a norm must be f32, [layer, ") << columns << "], or absent";
  if (getSquares() && !getWeights())
    return emitOpError("has sums of squares without a norm");
  if (auto squares = getSquares() ? cast<MemRefType>(getSquares().getType()) : MemRefType();
      squares && (squares.getRank() != out.getRank() || !squares.getElementType().isF32() ||
                  (getSlots() && squares.getDimSize(3) != columns / 16)))
    return emitOpError("sums of squares must be f32, [token, head * part] or [layer, head, slot, ")
           << columns / 16 << "], found " << squares;
  return success();
}

LogicalResult ShortTokensOp::verify() { return verifyTokens(*this, getCount(), "token"); }

/// What attend_parts writes and merge_parts reads.
static LogicalResult verifyParts(Operation *op, MemRefType m, MemRefType acc) {
  if (m.getRank() != 5 || acc.getRank() != 6 || !m.getElementType().isF32() || !acc.getElementType().isF32() ||
      m.isDynamicDim(4) || m.getDimSize(4) != acc.getDimSize(4) || acc.isDynamicDim(5) || acc.getDimSize(5) % 2)
    return op->emitOpError("parts must be f32, [i, j, s, k, row] and [i, j, s, k, row, column] with constant rows and "
                           "an even number of columns, found ")
           << m << " and " << acc;
  return success();
}

LogicalResult AttendPartsOp::verify() {
  auto q = cast<MemRefType>(getQ().getType()), keys = cast<MemRefType>(getKeys().getType());
  auto pages = cast<MemRefType>(getPages().getType()), m = cast<MemRefType>(getM().getType());
  auto acc = cast<MemRefType>(getAcc().getType());
  if (failed(verifyParts(*this, m, acc)))
    return failure();
  if (m.getDimSize(4) != (int64_t)getRows())
    return emitOpError("has parts of ") << m.getDimSize(4) << " rows for a query of " << (int64_t)getRows();
  if (q.getRank() != 2 || (!q.getElementType().isBF16() && !q.getElementType().isF16() && !q.getElementType().isF32()))
    return emitOpError("query must be [token, column] of bf16, f16 or f32, found ") << q;
  if (keys.getRank() != 4 || keys.getElementType() != q.getElementType() || keys.isDynamicDim(3) ||
      keys.getDimSize(3) != acc.getDimSize(5))
    return emitOpError("keys must be [layer, head, slot, column] with the parts' columns and the query's type, found ")
           << keys << " for " << acc << " and " << q;
  if (pages.getRank() != 2 || !pages.getElementType().isInteger(32))
    return emitOpError("pages must be a memref of rank 2 of i32, found ") << pages;
  if ((int64_t)getPageSlots() < 1)
    return emitOpError("a page must have slots, found ") << (int64_t)getPageSlots();
  if (!getQSquares() != !getSquares() || !getQSquares() != !getSquaresColumn())
    return emitOpError("has sums of squares of queries and of keys, or of neither");
  if (getSquares()) {
    auto squares = cast<MemRefType>(getSquares().getType()), qs = cast<MemRefType>(getQSquares().getType());
    if (squares.getRank() != 4 || !squares.getElementType().isF32() || squares.isDynamicDim(3) || qs.getRank() != 2 ||
        !qs.getElementType().isF32())
      return emitOpError("sums of squares must be f32, [token, column] and [layer, head, slot, part] with a constant "
                         "number of parts, found ")
             << qs << " and " << squares;
  }
  return success();
}

LogicalResult MergePartsOp::verify() {
  auto to = cast<MemRefType>(getTo().getType());
  if (failed(verifyParts(*this, cast<MemRefType>(getM().getType()), cast<MemRefType>(getAcc().getType()))))
    return failure();
  if (to.getRank() != 2 ||
      (!to.getElementType().isBF16() && !to.getElementType().isF16() && !to.getElementType().isF32()))
    return emitOpError("result must be [row, column] of bf16, f16 or f32, found ") << to;
  return success();
}

} // namespace evt::ir
