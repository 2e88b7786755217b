// The evt dialect: device functions, event tensors, graph functions (see EvtDialect.td for a program).
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "EvtDialect.h.inc"

#define GET_TYPEDEF_CLASSES
#include "EvtTypes.h.inc"

#define GET_OP_CLASSES
#include "EvtOps.h.inc"

namespace evt::ir {

/// Checks that the body of a device function stays inside the tile language; emits a diagnostic at the first
/// operation that does not.
mlir::LogicalResult verifyTileProgram(DeviceOp device);

/// Checks that a protocol holds only waits, then notifies, table reads and index arithmetic.
mlir::LogicalResult verifyProtocol(CallOp call);

/// Registers the evt dialect and every dialect a program may use.
void registerDialects(mlir::DialectRegistry &registry);

/// The repeats around an operation, outermost first.
llvm::SmallVector<RepeatOp> enclosingRepeats(mlir::Operation *op);

} // namespace evt::ir
