// Device functions written by hand: how they are named, and what their bodies declare. The declarations are all that
// the proofs know of such a function, so what could slip past them is refused: a memory nobody mentions, a tile that
// would be computed twice.
#include "Evt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace evt::ir {

namespace {

/// `name` or `space::name`.
bool isFunctionName(StringRef name) {
  SmallVector<StringRef> parts;
  name.split(parts, "::");
  return llvm::all_of(parts, [](StringRef part) {
    return !part.empty() && !llvm::isDigit(part.front()) &&
           llvm::all_of(part, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  });
}

/// What an #include can name.
bool isPath(StringRef path) {
  return !path.empty() && !path.ends_with("/") &&
         llvm::all_of(path, [](char c) { return llvm::isPrint(c) && c != '"' && c != '\\'; });
}

bool isIndexOrMemory(Type type) { return isa<IndexType, IntegerType, MemRefType>(type); }

bool declares(Operation *op) {
  return isa<EndOp, ReadsOp, WritesOp, ReadOp, ValidOp, scf::ForOp, scf::YieldOp>(op) ||
         (llvm::all_of(op->getOperandTypes(), isIndexOrMemory) && llvm::all_of(op->getResultTypes(), isIndexOrMemory) &&
          op->getNumResults() > 0);
}

} // namespace

LogicalResult verifyForeignName(DeviceOp device) {
  if (device.getForeignSource().has_value() != device.getForeignFunction().has_value())
    return device.emitOpError("a foreign device function needs both a source and a function");
  if (!device.isForeign()) {
    if (device.getSharedBytes() != 0)
      return device.emitOpError("only a foreign device function asks for shared memory");
    return success();
  }
  if (!isPath(*device.getForeignSource()))
    return device.emitOpError("foreign source must be the path of a file, found '")
           << *device.getForeignSource() << "'";
  if (!isFunctionName(*device.getForeignFunction()))
    return device.emitOpError("foreign function must be a name of C++, such as 'scale' or 'tiles::scale', found '")
           << *device.getForeignFunction() << "'";
  if ((int64_t)device.getSharedBytes() < 0)
    return device.emitOpError("shared memory must not be negative, found ") << (int64_t)device.getSharedBytes();
  return success();
}

LogicalResult verifyDeclarations(DeviceOp device) {
  bool writes = false;
  WalkResult walked = device.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    writes |= isa<WritesOp>(op);
    if (device.isForeign() ? declares(op) : !isa<ReadsOp, WritesOp>(op))
      return WalkResult::advance();
    if (device.isForeign())
      return op->emitOpError("does not belong in foreign device function '")
             << device.getSymName() << "', whose body declares accesses and computes nothing but indices";
    return op->emitOpError("declares an access of a foreign device function, but '")
           << device.getSymName() << "' is computed here: use " << (isa<ReadsOp>(op) ? "evt.load" : "evt.store");
  });
  if (walked.wasInterrupted())
    return failure();
  if (!device.isForeign())
    return success();
  for (unsigned i = 0; i < device.getNumArgs(); ++i) {
    BlockArgument argument = device.getBody().getArgument(i);
    if (isa<MemRefType>(argument.getType()) &&
        llvm::none_of(argument.getUsers(), [](Operation *user) { return isa<ReadsOp, WritesOp, ReadOp>(user); }))
      return device.emitOpError("argument '")
             << cast<StringAttr>(device.getArgNames()[i]).getValue() << "' of foreign function '"
             << *device.getForeignFunction() << "' has no declared access: add an evt.reads or evt.writes";
  }
  if (!writes)
    return device.emitOpError("is foreign and declares no write, required at least one evt.writes");
  return success();
}

} // namespace evt::ir
