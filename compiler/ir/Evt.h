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

/// `*` in a wait or notify needs the event's extent, which only its definition knows. It is written as a range up to
/// this number: a wait clips it, a notify means the extent.
constexpr int64_t wholeDimension = int64_t(1) << 40;

/// Checks that the body of a device function stays inside the tile language; emits a diagnostic at the first
/// operation that does not.
mlir::LogicalResult verifyTileProgram(DeviceOp device);

/// The memories that an operation of a device function writes, or declares to.
llvm::SmallVector<mlir::Value> memoriesWritten(mlir::Operation *op);

/// Checks how a device function names a foreign source and function, if it does.
mlir::LogicalResult verifyForeignName(DeviceOp device);

/// Checks that the body of a foreign device function only declares accesses, of every memory it is given, and that the
/// body of any other declares none.
mlir::LogicalResult verifyDeclarations(DeviceOp device);

/// Whether a device function is split into roles.
bool hasRoles(DeviceOp device);

/// The block in which a task ends: that of the last role, or all of a function without roles.
mlir::Block &lastBlock(DeviceOp device);

/// A ring with `ahead` that the role fills, if there is one: it then waits for no events.
RingOp aheadRing(RoleOp role);

/// Checks the rules of a device function with roles (see RoleOp), if it has any.
mlir::LogicalResult verifyRoles(DeviceOp device);

/// Checks that what roles of a called function load ahead is immutable in the graph.
mlir::LogicalResult verifyAhead(CallOp call, DeviceOp device);

/// Checks that a protocol holds only waits, then notifies, table reads and index arithmetic.
mlir::LogicalResult verifyProtocol(CallOp call);

/// Checks that a graph holds only calls, repeats, events, buffers, symbols and index arithmetic, and that names are
/// unique: obligations and artifacts refer to symbols, memories and events by name.
mlir::LogicalResult verifyGraphBody(GraphOp graph);

/// Checks that a memref.dim asks for a constant dimension inside the rank.
mlir::LogicalResult verifyDimension(mlir::Operation *dim);

/// Checks that no scalar of a graph or device function hangs on too long a chain of operations.
mlir::LogicalResult verifyIndexDepth(mlir::Region &body);

/// Registers the evt dialect and every dialect a program may use.
void registerDialects(mlir::DialectRegistry &registry);

/// The repeats around an operation, outermost first.
llvm::SmallVector<RepeatOp> enclosingRepeats(mlir::Operation *op);

} // namespace evt::ir
