#include "Evt.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

#include "EvtDialect.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "EvtTypes.cpp.inc"

namespace evt::ir {

void EvtDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "EvtTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "EvtOps.cpp.inc"
      >();
}

// `!evt.event<?x?>`: only the rank is in the type, so every extent is written `?`.
Type EventType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  unsigned rank = 0;
  if (succeeded(parser.parseOptionalGreater()))
    return EventType::get(parser.getContext(), rank);
  SmallVector<int64_t> dims;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseDimensionList(dims, /*allowDynamic=*/true, /*withTrailingX=*/false))
    return {};
  for (int64_t d : dims)
    if (!ShapedType::isDynamic(d)) {
      parser.emitError(loc, "extents of an event type are written '?', found ") << d;
      return {};
    }
  if (parser.parseGreater())
    return {};
  return EventType::get(parser.getContext(), dims.size());
}

void EventType::print(AsmPrinter &printer) const {
  printer << "<";
  for (unsigned i = 0; i < getRank(); ++i)
    printer << (i ? "x?" : "?");
  printer << ">";
}

llvm::SmallVector<RepeatOp> enclosingRepeats(Operation *op) {
  llvm::SmallVector<RepeatOp> repeats;
  for (auto r = op->getParentOfType<RepeatOp>(); r; r = r->getParentOfType<RepeatOp>())
    repeats.insert(repeats.begin(), r);
  return repeats;
}

} // namespace evt::ir
