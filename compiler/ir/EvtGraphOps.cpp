// Parsing, printing and checking of graph functions, device functions and event tensors. Calls: EvtCallOp.cpp.
#include "Evt.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

#define GET_OP_CLASSES
#include "EvtOps.cpp.inc"

namespace evt::ir {

namespace {

/// The name a value has in the text, without `%`; empty results are called "v".
std::string textName(StringRef ssa) { return ssa.drop_front(ssa.starts_with("%") ? 1 : 0).str(); }

std::string resultName(OpAsmParser &parser) {
  auto [name, number] = parser.getResultName(0);
  return name.empty() ? "v" : textName(name);
}

ArrayAttr stringArray(Builder &b, ArrayRef<std::string> names) {
  SmallVector<Attribute> attrs;
  for (const std::string &n : names)
    attrs.push_back(b.getStringAttr(n));
  return b.getArrayAttr(attrs);
}

/// The body of a graph or device function. It is a scope of its own: a name that is not defined in it is undeclared,
/// whatever the functions after it define.
template <typename FunctionOp>
ParseResult parseBody(OpAsmParser &parser, OperationState &result, ArrayRef<OpAsmParser::Argument> args) {
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, args, /*enableNameShadowing=*/true))
    return failure();
  FunctionOp::ensureTerminator(*body, parser.getBuilder(), result.location);
  return success();
}

LogicalResult verifyArgumentTypes(Operation *op, TypeRange types) {
  for (auto [i, t] : llvm::enumerate(types)) {
    if (t.isIndex())
      continue;
    auto m = dyn_cast<MemRefType>(t);
    if (!m)
      return op->emitOpError("argument ") << i << " must be a memref or an index, found " << t;
    if (!m.getLayout().isIdentity())
      return op->emitOpError("argument ") << i << " must be dense and row-major, found " << t;
  }
  return success();
}

} // namespace

//===-- graph ---------------------------------------------------------------------------------------------------===//

ParseResult GraphOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren, /*allowType=*/true, /*allowAttrs=*/true))
    return failure();
  Builder &b = parser.getBuilder();
  SmallVector<Type> types;
  SmallVector<std::string> names;
  SmallVector<Attribute> attrs;
  for (auto &a : args) {
    types.push_back(a.type);
    names.push_back(textName(a.ssaName.name));
    attrs.push_back(a.attrs ? a.attrs : b.getDictionaryAttr({}));
  }
  result.addAttribute("function_type", TypeAttr::get(b.getFunctionType(types, {})));
  result.addAttribute("arg_names", stringArray(b, names));
  result.addAttribute("arg_attrs", b.getArrayAttr(attrs));
  return parseBody<GraphOp>(parser, result, args);
}

void GraphOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getSymName());
  p << "(";
  for (auto [i, a] : llvm::enumerate(getBody().getArguments())) {
    if (i)
      p << ", ";
    p << a << ": " << a.getType();
    p.printOptionalAttrDict(cast<DictionaryAttr>(getArgAttrs()[i]).getValue());
  }
  p << ") ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

StringRef GraphOp::getArgName(unsigned i) { return cast<StringAttr>(getArgNames()[i]).getValue(); }
Attribute GraphOp::getArgAttr(unsigned i, StringRef name) { return cast<DictionaryAttr>(getArgAttrs()[i]).get(name); }
bool GraphOp::isImmutable(unsigned i) { return static_cast<bool>(getArgAttr(i, "evt.immutable")); }

void GraphOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [i, a] : llvm::enumerate(region.getArguments()))
    setName(a, getArgName(i));
}

LogicalResult GraphOp::verify() {
  auto types = getFunctionType().getInputs();
  if (getBody().getArgumentTypes() != TypeRange(types) || getArgNames().size() != types.size() ||
      getArgAttrs().size() != types.size())
    return emitOpError("names, attributes and types of the arguments must agree in number");
  if (failed(verifyArgumentTypes(*this, types)))
    return failure();
  llvm::SmallDenseSet<StringRef> seen;
  for (unsigned i = 0; i < types.size(); ++i) {
    if (!seen.insert(getArgName(i)).second)
      return emitOpError("argument name '") << getArgName(i) << "' is used twice";
    auto dict = dyn_cast<DictionaryAttr>(getArgAttrs()[i]);
    if (!dict)
      return emitOpError("attributes of an argument must be a dictionary");
    for (NamedAttribute a : dict) {
      StringRef n = a.getName();
      bool isIndex = types[i].isIndex();
      if (n == "evt.immutable" && !isIndex)
        continue;
      if ((n == "evt.min" || n == "evt.max") && isIndex && isa<IntegerAttr>(a.getValue()))
        continue;
      return emitOpError("argument '") << getArgName(i) << "' has unknown attribute '" << n << "'";
    }
    auto min = dict.getAs<IntegerAttr>("evt.min"), max = dict.getAs<IntegerAttr>("evt.max");
    int64_t least = min ? min.getValue().getSExtValue() : 0;
    int64_t most = max ? max.getValue().getSExtValue() : int64_t(1) << 30;
    if (least > most)
      return emitOpError("argument '") << getArgName(i) << "' has an empty range [" << least << ", " << most << "]";
  }
  return success();
}

//===-- device --------------------------------------------------------------------------------------------------===//

ParseResult DeviceOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> args, coords;
  if (parser.parseSymbolName(name, "sym_name", result.attributes) ||
      parser.parseArgumentList(args, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseKeyword("grid") ||
      parser.parseArgumentList(coords, OpAsmParser::Delimiter::Paren, /*allowType=*/false))
    return failure();
  Builder &b = parser.getBuilder();
  SmallVector<Type> types;
  SmallVector<std::string> names, coordNames;
  for (auto &a : args) {
    types.push_back(a.type);
    names.push_back(textName(a.ssaName.name));
  }
  for (auto &c : coords) {
    c.type = b.getIndexType();
    coordNames.push_back(textName(c.ssaName.name));
    args.push_back(c);
  }
  result.addAttribute("function_type", TypeAttr::get(b.getFunctionType(types, {})));
  result.addAttribute("arg_names", stringArray(b, names));
  result.addAttribute("coord_names", stringArray(b, coordNames));
  if (succeeded(parser.parseOptionalKeyword("foreign"))) {
    StringAttr source, function;
    if (parser.parseLParen() || parser.parseAttribute(source, "foreign_source", result.attributes) ||
        parser.parseComma() || parser.parseAttribute(function, "foreign_function", result.attributes) ||
        parser.parseRParen())
      return failure();
    int64_t bytes;
    if (succeeded(parser.parseOptionalKeyword("shared"))) {
      if (parser.parseLParen() || parser.parseInteger(bytes) || parser.parseRParen())
        return failure();
      result.addAttribute("shared_bytes", b.getI64IntegerAttr(bytes));
    }
  }
  return parseBody<DeviceOp>(parser, result, args);
}

void DeviceOp::print(OpAsmPrinter &p) {
  p << " ";
  p.printSymbolName(getSymName());
  p << "(";
  auto args = getBody().getArguments();
  for (unsigned i = 0; i < getNumArgs(); ++i)
    p << (i ? ", " : "") << args[i] << ": " << args[i].getType();
  p << ") grid(";
  for (unsigned i = 0; i < getNumCoords(); ++i)
    p << (i ? ", " : "") << getCoord(i);
  p << ") ";
  if (isForeign()) {
    p << "foreign(" << getForeignSourceAttr() << ", " << getForeignFunctionAttr() << ") ";
    if (getSharedBytes() != 0)
      p << "shared(" << (int64_t)getSharedBytes() << ") ";
  }
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

void DeviceOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  for (auto [i, a] : llvm::enumerate(region.getArguments())) {
    auto names = i < getNumArgs() ? getArgNames() : getCoordNames();
    setName(a, cast<StringAttr>(names[i < getNumArgs() ? i : i - getNumArgs()]).getValue());
  }
}

LogicalResult DeviceOp::verify() {
  auto types = getFunctionType().getInputs();
  SmallVector<Type> taken(types);
  taken.append(getNumCoords(), IndexType::get(getContext()));
  if (getBody().getArgumentTypes() != TypeRange(taken) || getArgNames().size() != types.size())
    return emitOpError("body must take the arguments and then the coordinates");
  return failed(verifyArgumentTypes(*this, types)) ? failure() : verifyForeignName(*this);
}

LogicalResult GraphOp::verifyRegions() {
  return failed(verifyGraphBody(*this)) ? failure() : verifyIndexDepth(getBody());
}
LogicalResult DeviceOp::verifyRegions() {
  return failed(verifyTileProgram(*this)) || failed(verifyDeclarations(*this)) || failed(verifyRoles(*this))
             ? failure()
             : verifyIndexDepth(getBody());
}

//===-- symbol, alloc -------------------------------------------------------------------------------------------===//

ParseResult SymbolOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::UnresolvedOperand> tensors;
  SmallVector<int64_t> dims;
  SmallVector<Type> types;
  int64_t min = 0, max = int64_t(1) << 30;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(name, "name", result.attributes) ||
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, [&]() -> ParseResult {
        int64_t dim;
        if (parser.parseOperand(tensors.emplace_back()) || parser.parseLSquare() || parser.parseInteger(dim) ||
            parser.parseRSquare())
          return failure();
        dims.push_back(dim);
        return success();
      }))
    return failure();
  if (succeeded(parser.parseOptionalKeyword("range")) &&
      (parser.parseLParen() || parser.parseInteger(min) || parser.parseComma() || parser.parseInteger(max) ||
       parser.parseRParen()))
    return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonTypeList(types))
    return failure();
  Builder &b = parser.getBuilder();
  result.addAttribute("dims", b.getDenseI64ArrayAttr(dims));
  result.addAttribute("min", b.getI64IntegerAttr(min));
  result.addAttribute("max", b.getI64IntegerAttr(max));
  result.addTypes(b.getIndexType());
  return parser.resolveOperands(tensors, types, loc, result.operands);
}

void SymbolOp::print(OpAsmPrinter &p) {
  p << " " << getNameAttr() << " (";
  for (auto [i, t] : llvm::enumerate(getTensors()))
    p << (i ? ", " : "") << t << "[" << getDims()[i] << "]";
  p << ") range(" << getMin() << ", " << getMax() << ")";
  p.printOptionalAttrDict((*this)->getAttrs(), {"name", "dims", "min", "max"});
  p << " : " << getTensors().getTypes();
}

void SymbolOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getValue(), getName()); }

LogicalResult SymbolOp::verify() {
  if (getTensors().empty() || getDims().size() != getTensors().size())
    return emitOpError("'") << getName() << "' needs one dimension for each of at least one tensor";
  if ((int64_t)getMin() < 0)
    return emitOpError("'") << getName() << "' is a size and must not be negative, found minimum " << (int64_t)getMin();
  if ((int64_t)getMin() > (int64_t)getMax())
    return emitOpError("'") << getName() << "' has an empty range [" << (int64_t)getMin() << ", " << (int64_t)getMax()
                            << "]";
  for (auto [t, d] : llvm::zip(getTensors(), getDims())) {
    auto type = cast<MemRefType>(t.getType());
    if (!isa<BlockArgument>(t) || !isa<GraphOp>(t.getParentBlock()->getParentOp()))
      return emitOpError("'") << getName() << "' must name dimensions of arguments of the graph";
    if (d < 0 || d >= type.getRank())
      return emitOpError("'") << getName() << "': dimension " << d << " is outside the rank of " << type;
    if (!type.isDynamicDim(d))
      return emitOpError("'") << getName() << "': dimension " << d << " of " << type << " is not dynamic";
  }
  return success();
}

ParseResult AllocOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> sizes;
  MemRefType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(sizes, OpAsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  Builder &b = parser.getBuilder();
  if (!result.attributes.get("name"))
    result.addAttribute("name", b.getStringAttr(resultName(parser)));
  result.addTypes(type);
  return parser.resolveOperands(sizes, b.getIndexType(), loc, result.operands);
}

void AllocOp::print(OpAsmPrinter &p) {
  p << "(" << getSizes() << ")";
  p.printOptionalAttrDict((*this)->getAttrs());
  p << " : " << getMemory().getType();
}

void AllocOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getMemory(), getName()); }

LogicalResult AllocOp::verify() {
  auto type = cast<MemRefType>(getMemory().getType());
  if ((int64_t)getSizes().size() != type.getNumDynamicDims())
    return emitOpError("has ") << getSizes().size() << " sizes but " << type << " has " << type.getNumDynamicDims()
                               << " dynamic dimensions";
  return success();
}

//===-- event ---------------------------------------------------------------------------------------------------===//

ParseResult EventOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::UnresolvedOperand> extents, countOperands;
  std::optional<OpAsmParser::UnresolvedOperand> table, guard;
  EventType type;
  Type tableType;
  int64_t factor = 1;
  Builder &b = parser.getBuilder();
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseOperandList(extents, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("count") ||
      parser.parseLParen())
    return failure();
  unsigned rank = extents.size();
  AffineMap map = AffineMap::getConstantMap(0, b.getContext());
  int64_t constant;
  OptionalParseResult isConstant = parser.parseOptionalInteger(constant);
  OpAsmParser::UnresolvedOperand operand;
  if (isConstant.has_value()) {
    if (failed(*isConstant))
      return failure();
    map = AffineMap::get(rank, 0, b.getAffineConstantExpr(constant));
  } else if (OptionalParseResult isOperand = parser.parseOptionalOperand(operand); isOperand.has_value()) {
    if (failed(*isOperand))
      return failure();
    bool isTable = false;
    if (succeeded(parser.parseOptionalStar())) {
      isTable = true;
      if (parser.parseInteger(factor))
        return failure();
    }
    if (succeeded(parser.parseOptionalKeyword("after"))) {
      isTable = true;
      if (parser.parseOperand(guard.emplace()))
        return failure();
    }
    if (isTable) {
      table = operand;
      map = AffineMap::get(rank, 0, b.getAffineConstantExpr(0));
    } else {
      countOperands.push_back(operand);
      map = AffineMap::get(rank, 1, b.getAffineSymbolExpr(0));
    }
  } else if (parser.parseAffineMap(map)) {
    return failure();
  }
  if (parser.parseRParen() ||
      (map.getNumSymbols() && countOperands.empty() &&
       parser.parseOperandList(countOperands, OpAsmParser::Delimiter::Paren)) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  if (table && (parser.parseComma() || parser.parseType(tableType)))
    return failure();
  result.addAttribute("count_map", AffineMapAttr::get(map));
  result.addAttribute("factor", b.getI64IntegerAttr(factor));
  if (!result.attributes.get("name"))
    result.addAttribute("name", b.getStringAttr(resultName(parser)));
  result.addAttribute(
      "operandSegmentSizes",
      b.getDenseI32ArrayAttr({(int32_t)extents.size(), (int32_t)countOperands.size(), table ? 1 : 0, guard ? 1 : 0}));
  result.addTypes(type);
  Type index = b.getIndexType();
  if (parser.resolveOperands(extents, index, loc, result.operands) ||
      parser.resolveOperands(countOperands, index, loc, result.operands) ||
      (table && parser.resolveOperand(*table, tableType, result.operands)) ||
      (guard && parser.resolveOperand(*guard, EventType::get(b.getContext(), 0), result.operands)))
    return failure();
  return success();
}

void EventOp::print(OpAsmPrinter &p) {
  p << "(" << getExtents() << ") count(";
  AffineMap map = getCountMap();
  bool operandsPrinted = false;
  if (getTable()) {
    p << getTable();
    if (getFactor() != 1 || !getGuard())
      p << " * " << getFactor();
    if (getGuard())
      p << " after " << getGuard();
  } else if (map.isSingleConstant() && map.getNumSymbols() == 0) {
    p << map.getSingleConstantResult();
  } else if (map.getNumResults() == 1 && map.getNumSymbols() == 1 && isa<AffineSymbolExpr>(map.getResult(0))) {
    p << getCountOperands();
    operandsPrinted = true;
  } else {
    map.print(p.getStream());
  }
  p << ")";
  if (!operandsPrinted && !getCountOperands().empty())
    p << "(" << getCountOperands() << ")";
  p.printOptionalAttrDict((*this)->getAttrs(), {"count_map", "factor", "operandSegmentSizes"});
  p << " : " << getEvent().getType();
  if (getTable())
    p << ", " << getTable().getType();
}

void EventOp::getAsmResultNames(OpAsmSetValueNameFn setName) { setName(getEvent(), getName()); }

LogicalResult EventOp::verify() {
  unsigned rank = getEvent().getType().getRank();
  if (getExtents().size() != rank)
    return emitOpError("has ") << getExtents().size() << " extents but type " << getEvent().getType();
  AffineMap map = getCountMap();
  if (map.getNumDims() != rank)
    return emitOpError("count takes ") << map.getNumDims() << " coordinates but an element has " << rank;
  if (map.getNumSymbols() != getCountOperands().size())
    return emitOpError("count takes ") << map.getNumSymbols() << " index values but is given "
                                       << getCountOperands().size();
  if (map.getNumResults() == 0)
    return emitOpError("count needs at least one expression");
  if (map.isSingleConstant() && map.getSingleConstantResult() < 0)
    return emitOpError("count must not be negative, found ") << map.getSingleConstantResult();
  if (Value table = getTable()) {
    auto t = cast<MemRefType>(table.getType());
    if (!t.getElementType().isInteger(32) || t.getRank() != (int64_t)rank)
      return emitOpError("count table must be a memref of i32 of rank ") << rank << ", found " << t;
    if ((int64_t)getFactor() < 1)
      return emitOpError("count factor must be positive, found ") << (int64_t)getFactor();
  }
  if (getGuard() && cast<EventType>(getGuard().getType()).getRank() != 0)
    return emitOpError("guard must be a single counter, found ") << getGuard().getType();
  return success();
}

//===-- repeat --------------------------------------------------------------------------------------------------===//

ParseResult RepeatOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::Argument iteration;
  OpAsmParser::UnresolvedOperand extent;
  Builder &b = parser.getBuilder();
  if (parser.parseArgument(iteration) || parser.parseKeyword("to") || parser.parseOperand(extent) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  iteration.type = b.getIndexType();
  result.addAttribute("iteration_name", b.getStringAttr(textName(iteration.ssaName.name)));
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, {iteration}))
    return failure();
  ensureTerminator(*body, b, result.location);
  // After the body, so that a name defined only in there is undeclared here.
  return parser.resolveOperand(extent, b.getIndexType(), result.operands);
}

void RepeatOp::print(OpAsmPrinter &p) {
  p << " " << getIteration() << " to " << getExtent();
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"iteration_name"});
  p << " ";
  p.printRegion(getBody(), /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

LogicalResult RepeatOp::verify() {
  Region &body = getBody();
  if (body.getNumArguments() != 1 || !body.getArgument(0).getType().isIndex())
    return emitOpError("body must take one index, the iteration");
  return success();
}

void RepeatOp::getAsmBlockArgumentNames(Region &region, OpAsmSetValueNameFn setName) {
  setName(region.getArgument(0), getIterationName());
}

} // namespace evt::ir
