// Which device functions stream: products with few rows on one side, whose other operand is an immutable tensor that is
// read once and is far larger than everything else.
//
// Such a function is split over the roles of a block that outlive a task:
//
//   loader     fetches the weights of the next tasks into a ring of shared-memory stages. Nothing orders a weight, so
//              it runs ahead as far as the ring allows, over task boundaries.
//   compute    waits for the task's events, keeps its rows (the activations) in registers for as long as consecutive
//              tasks have the same ones, multiplies stage after stage, and passes the sums on.
//   epilogue   adds the warps' sums in a fixed order and does everything after the product: element-wise operations,
//              further loads, stores, notifies. Only it touches memory after a product.
//
// The form that is recognized, of functions that are split into roles (RoleProduct.h), and of which what the last role
// does must be expressible on 8-row fragments (emit/FragmentCode.h):
//
//   rows      tiles of 8 x S, which do not depend on the streaming coordinates
//   weights   tiles of N x S of tensors that are loaded ahead, one for each sum
//   K         a constant number of steps of S
//
// A stage of the ring has as many steps as make a copy that is worth its instructions; the last one of a task may have
// fewer: 13 steps of 256 columns are 6 stages of 8 KB and one of 4 KB.
#pragma once

#include "compiler/layout/PackedWeights.h"
#include "compiler/roles/RoleProduct.h"

namespace evt::roles {

/// Rows of a tile that streams: the tokens of one task.
inline constexpr int64_t tokenRows = 8;
/// Rows of weights in one fragment, and columns that one lane's 16 bytes are a quarter of: those of a packed tile.
inline constexpr int64_t weightRows = layout::packedRows, packedColumns = layout::packedColumns;
/// Warps that share the columns of a stage.
inline constexpr int64_t computeWarps = 8;
/// Registers of activations a thread may hold, in pieces of 16 bytes.
inline constexpr int64_t mostRowPieces = 26;
/// Bytes of a ring stage, at most; and those that steps which have less are put together for. What is on its way is
/// counted in stages: with smaller ones it is less.
inline constexpr int64_t mostStageBytes = 16384, wantedStageBytes = 8192;

struct StreamedProduct : RoleProduct {
  int64_t lower = 0, step = 0, steps = 0; // along K
  int64_t together = 1;                   // steps of a stage
  /// Coordinates (numbers of the grid) that the rows do not depend on: consecutive tasks that differ only in these keep
  /// their rows.
  std::vector<unsigned> streaming;

  /// Stages of a fragment; steps of the last one.
  int64_t stages() const { return (steps + together - 1) / together; }
  int64_t lastSteps() const { return steps - (stages() - 1) * together; }
  bool endsShort() const { return lastSteps() < together; }
  /// 16-byte pieces of a lane in a step, in a stage, in the last one, and along K.
  int64_t stepBlocks() const { return step / (computeWarps * packedColumns); }
  int64_t blocks() const { return together * stepBlocks(); }
  int64_t lastBlocks() const { return lastSteps() * stepBlocks(); }
  int64_t pieces() const { return steps * stepBlocks(); }
  int64_t stepBytes() const { return step / packedColumns * layout::packedTileBytes; }
  int64_t stageBytes() const { return together * stepBytes(); }
  int64_t lastStageBytes() const { return lastSteps() * stepBytes(); }
  int64_t bytes() const { return steps * fragments() * stepBytes(); } // of weights, a task's
  static int64_t fragments(const Operand &weight) { return weight.tile().getDimSize(0) / weightRows; }
  int64_t fragments() const {
    int64_t n = 0;
    for (const Operand &weight : weights)
      n += fragments(weight);
    return n;
  }
};

/// The plan, or nothing and, in `why`, what stands against it.
std::optional<StreamedProduct> matchStreamedProduct(ir::DeviceOp device, std::string &why);

} // namespace evt::roles
