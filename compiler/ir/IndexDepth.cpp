// How long a chain of scalar operations may be. Whoever reads an index as an expression of coordinates and symbols
// follows it back to them, one call for each operation, so a chain without end would run off the stack.
#include "Evt.h"

using namespace mlir;

namespace evt::ir {

namespace {

constexpr unsigned maxDepth = 1024;

} // namespace

LogicalResult verifyIndexDepth(Region &body) {
  // Of each scalar, the operations on the longest way back to arguments, constants and tensors.
  llvm::DenseMap<Value, unsigned> depths;
  WalkResult walked = body.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    unsigned depth = 0;
    for (Value operand : op->getOperands())
      if (!isa<ShapedType>(operand.getType()))
        depth = std::max(depth, depths.lookup(operand) + 1);
    for (Value result : op->getResults()) {
      if (isa<ShapedType>(result.getType()))
        continue;
      if (depth > maxDepth) {
        op->emitOpError("ends a chain of ") << depth << " scalar operations, at most " << maxDepth << " may be chained";
        return WalkResult::interrupt();
      }
      depths[result] = depth;
    }
    return WalkResult::advance();
  });
  return failure(walked.wasInterrupted());
}

} // namespace evt::ir
