// Parsing, printing and checking of the operations that move and compute tiles.
#include "Evt.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace evt::ir {

namespace {

bool isElementType(Type t) {
  return t.isF32() || t.isBF16() || t.isF16() || t.isInteger(32) || t.isInteger(64) || t.isInteger(1);
}

/// The table of an access, and the dimension of the memory that goes through it.
struct ParsedTable {
  OpAsmParser::UnresolvedOperand operand;
  int64_t dim;
};

/// `[%a, %b]` or, with a table, `[%table[%s], %b]` or `[%a, %table[%s]]`.
ParseResult parseOffsets(OpAsmParser &parser, std::optional<ParsedTable> &table,
                         SmallVector<OpAsmParser::UnresolvedOperand> &offsets) {
  if (parser.parseLSquare())
    return failure();
  if (succeeded(parser.parseOptionalRSquare()))
    return success();
  do {
    OpAsmParser::UnresolvedOperand first;
    if (parser.parseOperand(first))
      return failure();
    if (succeeded(parser.parseOptionalLSquare())) {
      if (table)
        return parser.emitError(first.location, "only one dimension can go through a table");
      table = {first, (int64_t)offsets.size()};
      OpAsmParser::UnresolvedOperand inner;
      if (parser.parseOperand(inner) || parser.parseRSquare())
        return failure();
      offsets.push_back(inner);
    } else {
      offsets.push_back(first);
    }
  } while (succeeded(parser.parseOptionalComma()));
  return parser.parseRSquare();
}

/// What the syntax says about a box, in attributes.
ParseResult addBox(OpAsmParser &parser, OperationState &result, ArrayRef<int64_t> sizes,
                   const std::optional<ParsedTable> &table, SMLoc loc) {
  for (StringAttr name : result.name.getAttributeNames())
    if (result.attributes.get(name))
      return parser.emitError(loc, "'") << name.getValue() << "' is written in the syntax, not as an attribute";
  result.addAttribute("sizes", parser.getBuilder().getDenseI64ArrayAttr(sizes));
  if (table && table->dim)
    result.addAttribute("table_dim", parser.getBuilder().getI64IntegerAttr(table->dim));
  return success();
}

ParseResult parseSizes(OpAsmParser &parser, SmallVector<int64_t> &sizes) {
  if (failed(parser.parseOptionalKeyword("sizes")))
    return success();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
    int64_t size;
    if (parser.parseInteger(size))
      return failure();
    sizes.push_back(size);
    return success();
  });
}

/// The full-rank box of a tile: leading dimensions of size 1 are added where `sizes` was not written.
SmallVector<int64_t> defaultSizes(MemRefType memory, RankedTensorType tile) {
  SmallVector<int64_t> sizes;
  for (int64_t i = tile.getRank(); i < memory.getRank(); ++i)
    sizes.push_back(1);
  llvm::append_range(sizes, tile.getShape());
  return sizes;
}

bool isDefaultSizes(MemRefType memory, RankedTensorType tile, ArrayRef<int64_t> sizes) {
  return ArrayRef<int64_t>(defaultSizes(memory, tile)) == sizes;
}

void printOffsets(OpAsmPrinter &p, Value memory, Value table, uint64_t tableDim, OperandRange offsets) {
  p << memory << "[";
  for (auto [i, o] : llvm::enumerate(offsets)) {
    if (i)
      p << ", ";
    if (i == tableDim && table)
      p << table << "[" << o << "]";
    else
      p << o;
  }
  p << "]";
}

void printSizes(OpAsmPrinter &p, ArrayRef<int64_t> sizes) {
  p << " sizes [";
  llvm::interleaveComma(sizes, p);
  p << "]";
}

/// A box of a memory, without regard to a tile.
LogicalResult verifyBox(Operation *op, MemRefType memory, Value table, int64_t tableDim, size_t offsets,
                        ArrayRef<int64_t> sizes) {
  if (!isElementType(memory.getElementType()))
    return op->emitOpError("element type must be f32, bf16, f16, i32, i64 or i1, found ") << memory.getElementType();
  if ((int64_t)offsets != memory.getRank())
    return op->emitOpError("has ") << offsets << " offsets but the memory has rank " << memory.getRank();
  if ((int64_t)sizes.size() != memory.getRank())
    return op->emitOpError("has ") << sizes.size() << " sizes but the memory has rank " << memory.getRank();
  for (int64_t s : sizes)
    if (s < 1)
      return op->emitOpError("sizes must be positive, found ") << s;
  if (table) {
    auto t = cast<MemRefType>(table.getType());
    if (t.getRank() != 1 || !(t.getElementType().isInteger(32) || t.getElementType().isInteger(64)))
      return op->emitOpError("table must be a memref of rank 1 of i32 or i64, found ") << t;
    if (memory.getRank() == 0)
      return op->emitOpError("a table names rows, but the memory has rank 0");
    if (tableDim < 0 || tableDim >= memory.getRank())
      return op->emitOpError("goes through a table in dimension ")
             << tableDim << " but the memory has rank " << memory.getRank();
    for (auto [d, size] : llvm::enumerate(sizes.take_front(tableDim)))
      if (size != 1)
        return op->emitOpError("goes through a table in dimension ")
               << tableDim << ", before which all sizes must be 1, but dimension " << d << " has size " << size;
  } else if (tableDim) {
    return op->emitOpError("has a table dimension, ") << tableDim << ", but no table";
  }
  return success();
}

template <typename TileOp> LogicalResult verifyTileBox(TileOp op) {
  auto memory = cast<MemRefType>(op.getMemory().getType());
  auto tile = cast<RankedTensorType>(op.getTile().getType());
  ArrayRef<int64_t> sizes = op.getSizes();
  if (failed(verifyBox(op, memory, op.getTable(), (int64_t)op.getTableDim(), op.getOffsets().size(), sizes)))
    return failure();
  if (memory.getElementType() != tile.getElementType())
    return op.emitOpError("tile has element type ")
           << tile.getElementType() << " but the memory holds " << memory.getElementType();
  size_t next = 0;
  for (int64_t s : sizes) {
    if (next < (size_t)tile.getRank() && tile.getDimSize(next) == s)
      ++next;
    else if (s != 1)
      return op.emitOpError("tile ") << tile << " does not match the box of sizes [" << sizes
                                     << "]: only dimensions of size 1 can be dropped";
  }
  if (next != (size_t)tile.getRank())
    return op.emitOpError("tile ") << tile << " does not match the box of sizes [" << sizes << "]";
  return success();
}

} // namespace

ParseResult LoadOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand memory;
  std::optional<ParsedTable> table;
  SmallVector<OpAsmParser::UnresolvedOperand> offsets;
  SmallVector<int64_t> sizes;
  MemRefType memoryType, tableType;
  RankedTensorType tileType;
  double fill = 0;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(memory) || parseOffsets(parser, table, offsets) || parseSizes(parser, sizes))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("fill")) && parser.parseFloat(fill))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(memoryType))
    return failure();
  if (table && (parser.parseComma() || parser.parseType(tableType)))
    return failure();
  if (parser.parseArrow() || parser.parseType(tileType))
    return failure();
  if (sizes.empty())
    sizes = defaultSizes(memoryType, tileType);
  Builder &b = parser.getBuilder();
  if (addBox(parser, result, sizes, table, loc))
    return failure();
  result.addAttribute("fill", b.getF64FloatAttr(fill));
  result.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, table ? 1 : 0, (int32_t)offsets.size()}));
  result.addTypes(tileType);
  if (parser.resolveOperand(memory, memoryType, result.operands) ||
      (table && parser.resolveOperand(table->operand, tableType, result.operands)))
    return failure();
  return parser.resolveOperands(offsets, b.getIndexType(), loc, result.operands);
}

void LoadOp::print(OpAsmPrinter &p) {
  p << " ";
  printOffsets(p, getMemory(), getTable(), getTableDim(), getOffsets());
  auto memory = cast<MemRefType>(getMemory().getType());
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (!isDefaultSizes(memory, tile, getSizes()))
    printSizes(p, getSizes());
  if (!getFill().isZero() || getFill().isNegative()) {
    p << " fill ";
    p.printFloat(getFill());
  }
  p.printOptionalAttrDict((*this)->getAttrs(), {"sizes", "fill", "table_dim", "operandSegmentSizes"});
  p << " : " << memory;
  if (getTable())
    p << ", " << getTable().getType();
  p << " -> " << tile;
}

LogicalResult LoadOp::verify() { return verifyTileBox(*this); }

ParseResult StoreOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand tile, memory;
  std::optional<ParsedTable> table;
  SmallVector<OpAsmParser::UnresolvedOperand> offsets;
  SmallVector<int64_t> sizes;
  MemRefType memoryType, tableType;
  RankedTensorType tileType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(tile) || parser.parseComma() || parser.parseOperand(memory) ||
      parseOffsets(parser, table, offsets) || parseSizes(parser, sizes) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(tileType) || parser.parseArrow() ||
      parser.parseType(memoryType))
    return failure();
  if (table && (parser.parseComma() || parser.parseType(tableType)))
    return failure();
  if (sizes.empty())
    sizes = defaultSizes(memoryType, tileType);
  Builder &b = parser.getBuilder();
  if (addBox(parser, result, sizes, table, loc))
    return failure();
  result.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, 1, table ? 1 : 0, (int32_t)offsets.size()}));
  if (parser.resolveOperand(tile, tileType, result.operands) ||
      parser.resolveOperand(memory, memoryType, result.operands) ||
      (table && parser.resolveOperand(table->operand, tableType, result.operands)))
    return failure();
  return parser.resolveOperands(offsets, b.getIndexType(), loc, result.operands);
}

void StoreOp::print(OpAsmPrinter &p) {
  p << " " << getTile() << ", ";
  printOffsets(p, getMemory(), getTable(), getTableDim(), getOffsets());
  auto memory = cast<MemRefType>(getMemory().getType());
  auto tile = cast<RankedTensorType>(getTile().getType());
  if (!isDefaultSizes(memory, tile, getSizes()))
    printSizes(p, getSizes());
  p.printOptionalAttrDict((*this)->getAttrs(), {"sizes", "table_dim", "operandSegmentSizes"});
  p << " : " << tile << " -> " << memory;
  if (getTable())
    p << ", " << getTable().getType();
}

LogicalResult StoreOp::verify() { return verifyTileBox(*this); }

namespace {

/// A declared access: the offsets and sizes of a box, and no tile.
ParseResult parseDeclared(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand memory;
  std::optional<ParsedTable> table;
  SmallVector<OpAsmParser::UnresolvedOperand> offsets;
  SmallVector<int64_t> sizes;
  MemRefType memoryType, tableType;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(memory) || parseOffsets(parser, table, offsets) || parseSizes(parser, sizes) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(memoryType) ||
      (table && (parser.parseComma() || parser.parseType(tableType))))
    return failure();
  Builder &b = parser.getBuilder();
  if (addBox(parser, result, sizes, table, loc))
    return failure();
  result.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, table ? 1 : 0, (int32_t)offsets.size()}));
  if (parser.resolveOperand(memory, memoryType, result.operands) ||
      (table && parser.resolveOperand(table->operand, tableType, result.operands)))
    return failure();
  return parser.resolveOperands(offsets, b.getIndexType(), loc, result.operands);
}

template <typename DeclaredOp> void printDeclared(OpAsmPrinter &p, DeclaredOp op) {
  p << " ";
  printOffsets(p, op.getMemory(), op.getTable(), op.getTableDim(), op.getOffsets());
  if (!op.getSizes().empty())
    printSizes(p, op.getSizes());
  p.printOptionalAttrDict(op->getAttrs(), {"sizes", "table_dim", "operandSegmentSizes"});
  p << " : " << op.getMemory().getType();
  if (op.getTable())
    p << ", " << op.getTable().getType();
}

template <typename DeclaredOp> LogicalResult verifyDeclared(DeclaredOp op) {
  return verifyBox(op, cast<MemRefType>(op.getMemory().getType()), op.getTable(), (int64_t)op.getTableDim(),
                   op.getOffsets().size(), op.getSizes());
}

} // namespace

ParseResult ReadsOp::parse(OpAsmParser &parser, OperationState &result) { return parseDeclared(parser, result); }
void ReadsOp::print(OpAsmPrinter &p) { printDeclared(p, *this); }
LogicalResult ReadsOp::verify() { return verifyDeclared(*this); }

ParseResult WritesOp::parse(OpAsmParser &parser, OperationState &result) { return parseDeclared(parser, result); }
void WritesOp::print(OpAsmPrinter &p) { printDeclared(p, *this); }
LogicalResult WritesOp::verify() { return verifyDeclared(*this); }

LogicalResult ValidOp::verify() {
  auto memory = cast<MemRefType>(getMemory().getType());
  if ((int64_t)getDim() < 0 || (int64_t)getDim() >= memory.getRank())
    return emitOpError("dimension ") << (int64_t)getDim() << " is outside the memory's rank " << memory.getRank();
  if ((int64_t)getSize() < 1)
    return emitOpError("size must be positive, found ") << (int64_t)getSize();
  return success();
}

LogicalResult IotaOp::verify() {
  auto tile = cast<RankedTensorType>(getTile().getType());
  if ((int64_t)getDim() < 0 || (int64_t)getDim() >= tile.getRank())
    return emitOpError("dimension ") << (int64_t)getDim() << " is outside the tile's rank " << tile.getRank();
  if (!tile.getElementType().isInteger(32) && !tile.getElementType().isInteger(64))
    return emitOpError("counts in i32 or i64, found ") << tile.getElementType();
  return success();
}

LogicalResult TopKOp::verify() {
  auto in = cast<RankedTensorType>(getInput().getType());
  auto values = cast<RankedTensorType>(getValues().getType());
  auto indices = cast<RankedTensorType>(getIndices().getType());
  if (!in.getElementType().isF32() || !values.getElementType().isF32() || !indices.getElementType().isInteger(32))
    return emitOpError("takes f32 and yields f32 values and i32 indices");
  if (in.getRank() < 1 || values.getShape() != indices.getShape() || in.getRank() != values.getRank() ||
      in.getShape().drop_back() != values.getShape().drop_back())
    return emitOpError("values and indices must have the input's shape but for the last dimension");
  if (values.getShape().back() > in.getShape().back())
    return emitOpError("cannot take the ") << values.getShape().back() << " largest of " << in.getShape().back();
  return success();
}

LogicalResult PrefixSumOp::verify() {
  auto tile = cast<RankedTensorType>(getInput().getType());
  if ((int64_t)getDim() < 0 || (int64_t)getDim() >= tile.getRank())
    return emitOpError("dimension ") << (int64_t)getDim() << " is outside the tile's rank " << tile.getRank();
  return success();
}

} // namespace evt::ir
