// The named operations of attention, as calls of the tile library (device/*/tile).
#pragma once

#include "TileValues.h"

#include "llvm/ADT/SmallPtrSet.h"

namespace evt::emit {

class AttentionCode : protected TileValues {
protected:
  AttentionCode(ir::DeviceOp device, Target target, bool feedsStages)
      : TileValues(target), device(device), feedsStages(feedsStages) {}

  void emitAttend(ir::AttendOp op);
  void emitMerge(ir::MergeOp op);
  void emitAttendParts(ir::AttendPartsOp op);
  void emitMergeParts(ir::MergePartsOp op);
  void emitAttendTokens(ir::AttendTokensOp op);
  void emitRotateHead(ir::RotateHeadOp op);

  /// CUDA: a task's attention as a variable, and all that it reads before the task's waits.
  void openParts(ir::AttendPartsOp op);
  /// What is attended to, and of which request, layer and head.
  std::string cacheOf(ir::AttendOp op);
  std::string cacheRowOf(ir::AttendPartsOp op);

  ir::DeviceOp device;
  const bool feedsStages;                        // loaders feed what it attends to through the ring of weights
  llvm::SmallPtrSet<mlir::Operation *, 8> ahead; // of the task's waits

private:
  std::string squaresOf(ir::AttendPartsOp op);
  std::string querySquaresOf(ir::AttendPartsOp op);
  std::string queryOf(ir::AttendPartsOp op);

  llvm::DenseMap<mlir::Operation *, std::string> partsNames; // of what attends part by part
};

} // namespace evt::emit
