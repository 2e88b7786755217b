// Calls and their protocols: parsing (region form and map shorthand), printing, checking.
#include "Evt.h"
#include "Signature.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace evt::ir {

namespace {

/// One `%event[(i, j) -> (a to b, c)]` of a wait or notify clause. A null lower bound stands for `*`.
struct EventMap {
  OpAsmParser::UnresolvedOperand event;
  SMLoc loc;
  SmallVector<std::string> dims;
  SmallVector<std::pair<AffineExpr, AffineExpr>> bounds;
};

ParseResult parseEventMap(OpAsmParser &parser, EventMap &map) {
  map.loc = parser.getCurrentLocation();
  if (parser.parseOperand(map.event) || parser.parseLSquare())
    return failure();
  SmallVector<std::pair<StringRef, AffineExpr>> names;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        StringRef name;
        if (parser.parseKeyword(&name))
          return failure();
        names.emplace_back(name, getAffineDimExpr(names.size(), parser.getContext()));
        map.dims.push_back(name.str());
        return success();
      }))
    return failure();
  if (parser.parseArrow() ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     [&]() -> ParseResult {
                                       AffineExpr lo, hi;
                                       if (succeeded(parser.parseOptionalStar())) {
                                         map.bounds.emplace_back(lo, hi);
                                         return success();
                                       }
                                       if (parser.parseAffineExpr(names, lo))
                                         return failure();
                                       if (succeeded(parser.parseOptionalKeyword("to")) &&
                                           parser.parseAffineExpr(names, hi))
                                         return failure();
                                       map.bounds.emplace_back(lo, hi);
                                       return success();
                                     }) ||
      parser.parseRSquare())
    return failure();
  return success();
}

ParseResult parseClause(OpAsmParser &parser, StringRef keyword, SmallVectorImpl<EventMap> &maps) {
  if (failed(parser.parseOptionalKeyword(keyword)))
    return success();
  return parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                        [&]() { return parseEventMap(parser, maps.emplace_back()); });
}

/// Writes the wait or notify that a map stands for. The map's last dimensions are the grid's coordinates; names before
/// them are index values around the call, such as the iteration of an enclosing repeat.
template <typename UseOp>
ParseResult expandMap(OpAsmParser &parser, OpBuilder &b, const EventMap &map, ValueRange grid) {
  if (map.dims.size() < grid.size())
    return parser.emitError(map.loc, "map takes ") << map.dims.size() << " coordinates but a task has " << grid.size();
  Location loc = parser.getEncodedSourceLoc(map.loc);
  SmallVector<Value> event, operands;
  if (parser.resolveOperand(map.event, EventType::get(b.getContext(), map.bounds.size()), event))
    return failure();
  for (unsigned i = 0, e = map.dims.size() - grid.size(); i < e; ++i) {
    std::string ssa = "%" + map.dims[i];
    if (parser.resolveOperand({map.loc, ssa, 0}, b.getIndexType(), operands))
      return failure();
  }
  llvm::append_range(operands, grid);
  auto apply = [&](AffineExpr e) -> Value {
    if (auto c = dyn_cast<AffineConstantExpr>(e))
      return b.create<arith::ConstantIndexOp>(loc, c.getValue());
    if (auto d = dyn_cast<AffineDimExpr>(e))
      return operands[d.getPosition()];
    return b.create<affine::AffineApplyOp>(loc, AffineMap::get(map.dims.size(), 0, e), operands);
  };
  SmallVector<Value> lower, upper;
  SmallVector<bool> isRange;
  for (auto [lo, hi] : map.bounds) {
    isRange.push_back(!lo || hi);
    lower.push_back(lo ? apply(lo) : b.create<arith::ConstantIndexOp>(loc, 0));
    if (!lo)
      upper.push_back(b.create<arith::ConstantIndexOp>(loc, wholeDimension));
    else if (hi)
      upper.push_back(apply(hi));
  }
  b.create<UseOp>(loc, event[0], lower, upper, isRange);
  return success();
}

/// The text after `ragged`.
struct Ragged {
  OpAsmParser::UnresolvedOperand table, bound;
  std::optional<OpAsmParser::UnresolvedOperand> guard;
  Type tableType;
  int64_t by = 0;

  ParseResult parse(OpAsmParser &parser) {
    if (parser.parseLParen() || parser.parseOperand(table) || parser.parseKeyword("by") || parser.parseInteger(by) ||
        parser.parseKeyword("bound") || parser.parseOperand(bound))
      return failure();
    if (succeeded(parser.parseOptionalKeyword("after")) && parser.parseOperand(guard.emplace()))
      return failure();
    return failure(parser.parseColonType(tableType) || parser.parseRParen());
  }
};

/// The coordinates' names as they are printed: what the text said, or the device function's own where it said nothing.
SmallVector<std::string> defaultCoordNames(unsigned rank) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < rank; ++i)
    names.push_back(rank <= 3 ? std::string(1, "ijk"[i]) : "i" + std::to_string(i));
  return names;
}

} // namespace

ParseResult CallOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &b = parser.getBuilder();
  Type index = b.getIndexType();
  FlatSymbolRefAttr callee;
  SmallVector<OpAsmParser::UnresolvedOperand> args, grid;
  SmallVector<OpAsmParser::Argument> coords;
  std::optional<Ragged> ragged;
  SmallVector<EventMap> waits, notifies;
  SmallVector<Type> types;
  SMLoc loc = parser.getCurrentLocation();
  auto parseCoordinate = [&]() -> ParseResult {
    if (parser.parseArgument(coords.emplace_back()))
      return failure();
    coords.back().type = index;
    return success();
  };
  // An entry is `%n`, `%i to %n`, `ragged(...)` or `(%e, %r) in ragged(...)`.
  auto parseEntry = [&]() -> ParseResult {
    bool first = grid.empty() && !ragged;
    SMLoc entry = parser.getCurrentLocation();
    if (succeeded(parser.parseOptionalLParen())) {
      if (parseCoordinate() || parser.parseComma() || parseCoordinate() || parser.parseRParen() ||
          parser.parseKeyword("in") || parser.parseKeyword("ragged"))
        return failure();
      if (!first)
        return parser.emitError(entry, "only the first entry of a grid can be ragged");
      return ragged.emplace().parse(parser);
    }
    if (succeeded(parser.parseOptionalKeyword("ragged"))) {
      if (!first)
        return parser.emitError(entry, "only the first entry of a grid can be ragged");
      return ragged.emplace().parse(parser);
    }
    OpAsmParser::UnresolvedOperand name;
    if (parser.parseOperand(name))
      return failure();
    if (failed(parser.parseOptionalKeyword("to"))) {
      grid.push_back(name);
      return success();
    }
    coords.emplace_back().ssaName = name;
    coords.back().type = index;
    return parser.parseOperand(grid.emplace_back());
  };
  if (parser.parseAttribute(callee, "callee", result.attributes) ||
      parser.parseOperandList(args, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("grid") ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseEntry) || parseClause(parser, "wait", waits) ||
      parseClause(parser, "notify", notifies) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColon() || parser.parseLParen())
    return failure();
  if (failed(parser.parseOptionalRParen()) && (parser.parseTypeList(types) || parser.parseRParen()))
    return failure();

  unsigned rank = grid.size() + (ragged ? 2 : 0);
  if (!coords.empty() && coords.size() != rank)
    return parser.emitError(loc, "names ") << coords.size() << " coordinates but the grid has " << rank;
  // Only once the region is parsed: a name defined in there alone is undeclared here, and MLIR 19 would leave an
  // operand that was resolved before pointing to a placeholder it has deleted.
  auto resolve = [&]() -> ParseResult {
    if (parser.resolveOperands(args, types, loc, result.operands) ||
        parser.resolveOperands(grid, index, loc, result.operands))
      return failure();
    return failure(ragged && (parser.resolveOperand(ragged->table, ragged->tableType, result.operands) ||
                              parser.resolveOperand(ragged->bound, index, result.operands) ||
                              (ragged->guard && parser.resolveOperand(*ragged->guard, EventType::get(b.getContext(), 0),
                                                                      result.operands))));
  };

  SmallVector<std::string> names = defaultCoordNames(rank);
  for (auto [i, c] : llvm::enumerate(coords))
    names[i] = c.ssaName.name.drop_front().str();
  for (const EventMap *m : {waits.empty() ? nullptr : &waits[0], notifies.empty() ? nullptr : &notifies[0]})
    if (coords.empty() && m && m->dims.size() >= rank)
      names.assign(m->dims.end() - rank, m->dims.end());
  SmallVector<Attribute> nameAttrs;
  for (auto &n : names)
    nameAttrs.push_back(b.getStringAttr(n));
  result.addAttribute("coord_names", b.getArrayAttr(nameAttrs));
  result.addAttribute("ragged_by", b.getI64IntegerAttr(ragged ? ragged->by : 0));
  result.addAttribute("operandSegmentSizes",
                      b.getDenseI32ArrayAttr({(int32_t)args.size(), (int32_t)grid.size(), ragged ? 1 : 0,
                                              ragged ? 1 : 0, ragged && ragged->guard ? 1 : 0}));
  Region *protocol = result.addRegion();
  if (waits.empty() && notifies.empty()) {
    OptionalParseResult region =
        coords.empty() && rank ? OptionalParseResult(std::nullopt) : parser.parseOptionalRegion(*protocol, coords);
    if (region.has_value()) {
      if (failed(*region))
        return failure();
      ensureTerminator(*protocol, b, result.location);
      return resolve();
    }
  }
  if (resolve())
    return failure();
  Block &block = protocol->emplaceBlock();
  for (unsigned i = 0; i < rank; ++i)
    block.addArgument(index, result.location);
  OpBuilder body(b.getContext());
  body.setInsertionPointToEnd(&block);
  for (auto &m : waits)
    if (expandMap<WaitOp>(parser, body, m, block.getArguments()))
      return failure();
  for (auto &m : notifies)
    if (expandMap<NotifyOp>(parser, body, m, block.getArguments()))
      return failure();
  ensureTerminator(*protocol, b, result.location);
  return success();
}

void CallOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getCallee());
  p << "(" << getArgs() << ") grid(";
  bool named = llvm::any_of(getProtocol().front(), [](Operation &op) { return !isa<EndOp>(op); });
  unsigned next = 0;
  if (isRagged()) {
    if (named)
      p << "(" << getCoord(0) << ", " << getCoord(1) << ") in ";
    p << "ragged(" << getRaggedTable() << " by " << getRaggedBy() << " bound " << getRaggedBound();
    if (getRaggedGuard())
      p << " after " << getRaggedGuard();
    p << " : " << getRaggedTable().getType() << ")";
    next = 2;
  }
  for (Value extent : getGrid()) {
    if (next)
      p << ", ";
    if (named)
      p << getCoord(next) << " to ";
    p << extent;
    ++next;
  }
  p << ")";
  p.printOptionalAttrDict((*this)->getAttrs(), {"callee", "ragged_by", "coord_names", "operandSegmentSizes"});
  p << " : (" << getArgs().getTypes() << ")";
  if (named) {
    p << " ";
    p.printRegion(getProtocol(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
  }
}

void CallOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [a, n] : llvm::zip(region.getArguments(), getCoordNames()))
    setName(a, cast<StringAttr>(n).getValue());
}

LogicalResult CallOp::verify() {
  unsigned rank = getGrid().size() + (isRagged() ? 2 : 0);
  if (getNumCoords() != rank || getCoordNames().size() != rank)
    return emitOpError("protocol takes ") << getNumCoords() << " coordinates but the grid has " << rank;
  if (isRagged()) {
    auto t = cast<MemRefType>(getRaggedTable().getType());
    if (t.getRank() != 1 || !t.getElementType().isInteger(32) || !t.hasStaticShape() || t.getDimSize(0) < 1)
      return emitOpError("ragged table must be a memref of i32 of static size groups + 1, found ") << t;
    if ((int64_t)getRaggedBy() < 1)
      return emitOpError("rows per ragged tile must be positive, found ") << (int64_t)getRaggedBy();
    if (!getRaggedBound())
      return emitOpError("ragged grid needs a bound");
    if (getRaggedGuard() && cast<EventType>(getRaggedGuard().getType()).getRank() != 0)
      return emitOpError("guard must be a single counter, found ") << getRaggedGuard().getType();
  }
  return verifyProtocol(*this);
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto device = symbols.lookupNearestSymbolFrom<DeviceOp>(*this, getCalleeAttr());
  if (!device)
    return emitOpError("calls '") << getCallee() << "', which is not a device function";
  if (device.getNumCoords() != getNumCoords())
    return emitOpError("grid has ") << getNumCoords() << " coordinates but '" << getCallee() << "' takes "
                                    << device.getNumCoords();
  auto inputs = device.getFunctionType().getInputs();
  if (inputs.size() != getArgs().size())
    return emitOpError("passes ") << getArgs().size() << " arguments but '" << getCallee() << "' takes "
                                  << inputs.size();
  for (auto [i, given, taken] : llvm::enumerate(getArgs().getTypes(), inputs))
    if (given != taken)
      return emitOpError("argument ") << i << " of '" << getCallee() << "' has type " << given << " but must be "
                                      << taken;
  return verifyAhead(*this, device);
}

//===-- wait, notify --------------------------------------------------------------------------------------------===//

namespace {

ParseResult parseEventUse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand event;
  SmallVector<OpAsmParser::UnresolvedOperand> lower, upper;
  SmallVector<bool> isRange;
  Builder &b = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperand(event) || parser.parseLSquare())
    return failure();
  if (failed(parser.parseOptionalRSquare())) {
    do {
      if (parser.parseOperand(lower.emplace_back()))
        return failure();
      isRange.push_back(succeeded(parser.parseOptionalKeyword("to")));
      if (isRange.back() && parser.parseOperand(upper.emplace_back()))
        return failure();
    } while (succeeded(parser.parseOptionalComma()));
    if (parser.parseRSquare())
      return failure();
  }
  if (parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addAttribute("is_range", b.getDenseBoolArrayAttr(isRange));
  result.addAttribute("operandSegmentSizes", b.getDenseI32ArrayAttr({1, (int32_t)lower.size(), (int32_t)upper.size()}));
  Type index = b.getIndexType();
  return failure(parser.resolveOperand(event, EventType::get(b.getContext(), lower.size()), result.operands) ||
                 parser.resolveOperands(lower, index, loc, result.operands) ||
                 parser.resolveOperands(upper, index, loc, result.operands));
}

template <typename UseOp> void printEventUse(UseOp op, OpAsmPrinter &p) {
  p << " " << op.getEvent() << "[";
  for (auto [i, lo] : llvm::enumerate(op.getLower())) {
    p << (i ? ", " : "") << lo;
    if (Value hi = op.getUpperOf(i))
      p << " to " << hi;
  }
  p << "]";
  p.printOptionalAttrDict(op->getAttrs(), {"is_range", "operandSegmentSizes"});
}

template <typename UseOp> Value upperOf(UseOp op, unsigned dim) {
  if (!op.getIsRange()[dim])
    return {};
  unsigned position = llvm::count(op.getIsRange().take_front(dim), true);
  return op.getUpper()[position];
}

template <typename UseOp> LogicalResult verifyEventUse(UseOp op) {
  unsigned rank = op.getEvent().getType().getRank();
  if (op.getLower().size() != rank || op.getIsRange().size() != rank)
    return op.emitOpError("has ") << op.getLower().size() << " coordinates but the event has rank " << rank;
  if ((size_t)llvm::count(op.getIsRange(), true) != op.getUpper().size())
    return op.emitOpError("needs one upper bound for each range");
  return success();
}

} // namespace

ParseResult WaitOp::parse(OpAsmParser &parser, OperationState &result) { return parseEventUse(parser, result); }
void WaitOp::print(OpAsmPrinter &p) { printEventUse(*this, p); }
Value WaitOp::getUpperOf(unsigned dim) { return upperOf(*this, dim); }
LogicalResult WaitOp::verify() { return verifyEventUse(*this); }

ParseResult NotifyOp::parse(OpAsmParser &parser, OperationState &result) { return parseEventUse(parser, result); }
void NotifyOp::print(OpAsmPrinter &p) { printEventUse(*this, p); }
Value NotifyOp::getUpperOf(unsigned dim) { return upperOf(*this, dim); }
LogicalResult NotifyOp::verify() {
  if (!(*this)->getParentOfType<CallOp>())
    return emitOpError("must stand in the protocol of a call");
  return verifyEventUse(*this);
}

LogicalResult ReadOp::verify() {
  auto t = cast<MemRefType>(getTable().getType());
  if (!t.getElementType().isInteger(32) && !t.getElementType().isInteger(64))
    return emitOpError("reads i32 or i64, found ") << t;
  if ((int64_t)getIndices().size() != t.getRank())
    return emitOpError("has ") << getIndices().size() << " indices but the table has rank " << t.getRank();
  return success();
}

LogicalResult verifyProtocol(CallOp call) {
  bool notified = false;
  WalkResult walked = call.getProtocol().walk([&](Operation *op) -> WalkResult {
    if (isa<EndOp, ReadOp, affine::AffineApplyOp, affine::AffineMinOp, affine::AffineMaxOp, scf::YieldOp>(op))
      return WalkResult::advance();
    if (isa<NotifyOp>(op)) {
      notified = true;
      return WalkResult::advance();
    }
    if (isa<WaitOp>(op)) {
      if (notified) {
        op->emitOpError("comes after a notify: waits come first");
        return WalkResult::interrupt();
      }
      return WalkResult::advance();
    }
    if (auto loop = dyn_cast<scf::ForOp>(op); loop && loop.getNumResults() == 0) {
      if (constantOf(loop.getStep()).value_or(1) > 0)
        return WalkResult::advance();
      op->emitOpError("has a step of ") << *constantOf(loop.getStep()) << ", required at least 1";
      return WalkResult::interrupt();
    }
    if (isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp, arith::DivUIOp,
            arith::FloorDivSIOp, arith::CeilDivSIOp, arith::RemSIOp, arith::RemUIOp, arith::MinSIOp, arith::MaxSIOp>(
            op) &&
        op->getResult(0).getType().isIndex())
      return WalkResult::advance();
    if (isa<arith::ArithDialect>(op->getDialect()) &&
        llvm::all_of(op->getResultTypes(), [](Type t) { return t.isIndex(); })) {
      op->emitOpError("is not allowed in a protocol: index arithmetic is addi, subi, muli, floordivsi, ceildivsi, "
                      "divsi, divui, remsi, remui, minsi, maxsi and affine maps there");
      return WalkResult::interrupt();
    }
    op->emitOpError("is not allowed in a protocol: waits, notifies, evt.read, index arithmetic and scf.for are");
    return WalkResult::interrupt();
  });
  return failure(walked.wasInterrupted());
}

} // namespace evt::ir
