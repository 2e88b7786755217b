// Which operations a graph may hold, and the uniqueness of its names.
#include "Evt.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace evt::ir {

namespace {

LogicalResult verifyGraphOp(Operation *op) {
  if (isa<EndOp, SymbolOp, AllocOp, EventOp, RepeatOp, CallOp, affine::AffineApplyOp, affine::AffineMinOp,
          affine::AffineMaxOp>(op))
    return success();
  if (isa<memref::DimOp>(op))
    return verifyDimension(op);
  // What a launch computes, too, from the manifest, whose quotients round down: those that truncate differ below zero.
  if (isa<arith::ConstantOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::FloorDivSIOp, arith::CeilDivSIOp,
          arith::MinSIOp, arith::MaxSIOp>(op) &&
      op->getResult(0).getType().isIndex())
    return success();
  if (isa<arith::ArithDialect>(op->getDialect()) &&
      llvm::all_of(op->getResultTypes(), [](Type t) { return t.isIndex(); }))
    return op->emitOpError("is not allowed in a graph: index arithmetic is addi, subi, muli, floordivsi, ceildivsi, "
                           "minsi, maxsi and affine maps there");
  return op->emitOpError(
      "is not allowed in a graph: calls, repeats, events, buffers, symbols and index arithmetic are");
}

/// Symbols are arguments of functions in emitted code, where these words are taken.
bool isWordOfCxx(StringRef name) {
  static const llvm::StringSet<> words{
      "alignas",  "and",      "asm",     "auto",      "bool",    "break",    "case",      "catch",    "char",
      "class",    "concept",  "const",   "continue",  "default", "delete",   "do",        "double",   "else",
      "enum",     "explicit", "export",  "extern",    "false",   "float",    "for",       "friend",   "goto",
      "if",       "inline",   "int",     "int64_t",   "long",    "mutable",  "namespace", "new",      "not",
      "operator", "or",       "private", "protected", "public",  "ready",    "register",  "requires", "return",
      "short",    "signed",   "sizeof",  "static",    "struct",  "switch",   "template",  "this",     "throw",
      "true",     "try",      "typedef", "typename",  "union",   "unsigned", "using",     "virtual",  "void",
      "volatile", "while",    "xor",     "evt"};
  return words.contains(name);
}

constexpr int64_t mostDimensions = 16; // of a memory: device/cpu/memory.h
constexpr size_t mostCoordinates = 8;  // of an event's element: device/cuda/block.h, Notification

/// Names end up in messages, in manifests, as parameters of the analysis and in emitted code.
bool isIdentifier(StringRef name) {
  return !name.empty() && !llvm::isDigit(name.front()) &&
         llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
}

LogicalResult verifySymbolNames(GraphOp graph) {
  llvm::StringSet<> names;
  llvm::DenseSet<std::pair<Value, int64_t>> named;
  if (!isIdentifier(graph.getSymName()))
    return graph.emitOpError("name must be letters, digits and '_', and begin with no digit");
  for (BlockArgument argument : graph.getBody().getArguments()) {
    StringRef name = graph.getArgName(argument.getArgNumber());
    if (!isIdentifier(name))
      return graph.emitOpError("argument's name '")
             << name << "' must be letters, digits and '_', and begin with no digit";
    if (!argument.getType().isIndex())
      continue;
    if (isWordOfCxx(name))
      return graph.emitOpError("argument's name '") << name << "' is a word of C++, in which kernels are written";
    names.insert(name);
  }
  for (auto symbol : graph.getBody().getOps<SymbolOp>()) {
    if (!isIdentifier(symbol.getName()))
      return symbol.emitOpError("name must be letters, digits and '_', found '") << symbol.getName() << "'";
    if (isWordOfCxx(symbol.getName()))
      return symbol.emitOpError("name '") << symbol.getName() << "' is a word of C++, in which kernels are written";
    if (!names.insert(symbol.getName()).second)
      return symbol.emitOpError("'") << symbol.getName() << "' is declared twice";
    for (auto [tensor, dim] : llvm::zip(symbol.getTensors(), symbol.getDims()))
      if (!named.insert({tensor, dim}).second)
        return symbol.emitOpError("'") << symbol.getName() << "': dimension " << dim << " of '"
                                       << graph.getArgName(cast<BlockArgument>(tensor).getArgNumber())
                                       << "' is named twice";
  }
  for (BlockArgument argument : graph.getBody().getArguments())
    if (auto type = dyn_cast<MemRefType>(argument.getType()))
      for (int64_t dim = 0; dim < type.getRank(); ++dim) {
        std::string own = (graph.getArgName(argument.getArgNumber()) + "_" + Twine(dim)).str();
        if (type.isDynamicDim(dim) && !named.contains({argument, dim}) && !names.insert(own).second)
          return graph.emitOpError("'") << own << "' names both a symbol and dimension " << dim << " of '"
                                        << graph.getArgName(argument.getArgNumber()) << "'";
      }
  return success();
}

} // namespace

LogicalResult verifyDimension(Operation *op) {
  auto dim = cast<memref::DimOp>(op);
  auto type = dyn_cast<MemRefType>(dim.getSource().getType());
  std::optional<int64_t> index = dim.getConstantIndex();
  if (!type || !index)
    return op->emitOpError("needs a constant dimension of a ranked memref");
  if (*index < 0 || *index >= type.getRank())
    return op->emitOpError("dimension ") << *index << " is outside the rank of " << type;
  return success();
}

LogicalResult verifyGraphBody(GraphOp graph) {
  WalkResult walked = graph.getBody().walk<WalkOrder::PreOrder>([](Operation *op) -> WalkResult {
    if (failed(verifyGraphOp(op)))
      return WalkResult::interrupt();
    return isa<CallOp>(op) ? WalkResult::skip() : WalkResult::advance();
  });
  if (walked.wasInterrupted() || failed(verifySymbolNames(graph)))
    return failure();
  llvm::StringSet<> memories, events;
  for (BlockArgument argument : graph.getBody().getArguments()) {
    memories.insert(graph.getArgName(argument.getArgNumber()));
    auto type = dyn_cast<MemRefType>(argument.getType());
    if (type && type.getRank() > mostDimensions)
      return graph.emitOpError("argument '") << graph.getArgName(argument.getArgNumber()) << "' has " << type.getRank()
                                             << " dimensions, required at most " << mostDimensions;
  }
  for (auto alloc : graph.getBody().getOps<AllocOp>())
    if (!memories.insert(alloc.getName()).second)
      return alloc.emitOpError("name '") << alloc.getName() << "' is used twice";
  for (auto event : graph.getBody().getOps<EventOp>()) {
    if (event.getExtents().size() > mostCoordinates)
      return event.emitOpError("has ") << event.getExtents().size() << " dimensions, required at most "
                                       << mostCoordinates;
    if (auto guard = event.getGuard() ? event.getGuard().getDefiningOp<EventOp>() : EventOp();
        guard && guard.getTable())
      return event.emitOpError("has the guard '") << guard.getName() << "', whose own count is in memory";
    if (!events.insert(event.getName()).second)
      return event.emitOpError("name '") << event.getName() << "' is used twice";
  }
  return success();
}

} // namespace evt::ir
