// What of a device function is emitted beside its body: slices of it that run for somebody else.
//
//   report_NAME   CPU: what roles read, told to an observer; only the loops and indices that say where are run
//   feed_NAME     CUDA: what loaders fetch for attention (FeedCode.h); likewise
//
// Both are made of scalars, reads of tables and loops, which bodies have, too.
#pragma once

#include "AttentionCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SetVector.h"

namespace evt::emit {

class DeviceSlices : protected AttentionCode {
protected:
  DeviceSlices(ir::DeviceOp device, Target target, llvm::function_ref<bool(unsigned)> isImmutable, bool feedsStages)
      : AttentionCode(device, target, feedsStages), isImmutable(isImmutable) {}

  /// CPU: what all roles but the last read, told to the observer. Empty after a diagnostic.
  std::string emitReports();
  /// CUDA: `feed_NAME`, the loaders' side of a function that attends; empty if there is none.
  std::string emitFeed();

  /// The parameters of every function of the device function, which name its arguments and coordinates.
  std::string parameters();
  void emitScalar(mlir::Operation *op);
  /// The head of a loop, up to its body.
  void openLoop(mlir::scf::ForOp op);
  /// `report_box<8, 64>(w, a0, false, {v1, v2});`: an access, as it is declared.
  template <class DeclaredOp> void emitDeclared(DeclaredOp op, const char *write) {
    out.line("evt::", op.getTable() ? "report_through" : "report_box", "<", sizes(op.getSizes()), ">(w, ",
             name(op.getMemory()), ", ", write, ", {", list(op.getOffsets(), "0"), "}",
             op.getTable() ? ", " + name(op.getTable()) : "", rowsOf(op), ");");
  }

  std::string list(mlir::ValueRange values, const char *ifEmpty);
  static std::string sizes(llvm::ArrayRef<int64_t> sizes);
  /// The dimension that goes through a table, where it is not the first.
  template <class AccessOp> static std::string rowsOf(AccessOp op) {
    return op.getTableDim() ? ", evt::RowDim<" + std::to_string(op.getTableDim()) + ">{}" : "";
  }

  llvm::function_ref<bool(unsigned)> isImmutable;

private:
  void reportBlock(mlir::Block &block, const llvm::SmallPtrSetImpl<mlir::Operation *> &places);
  void feedBlock(mlir::Block &block, const llvm::SetVector<mlir::Operation *> &slice);
};

} // namespace evt::emit
