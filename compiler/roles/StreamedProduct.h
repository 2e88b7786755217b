// Which device functions stream: products with few rows on one side, whose other operand is an immutable tensor that is
// read once and is far larger than everything else.
//
// Such a function is split over the roles of a block that outlive a task:
//
//   loader     fetches the weights of the next tasks into a ring of shared-memory stages. Nothing orders a weight, so
//   it
//              runs ahead as far as the ring allows, over task boundaries.
//   compute    waits for the task's events, keeps its rows (the activations) in registers for as long as consecutive
//   tasks
//              have the same ones, multiplies stage after stage, and passes the sums on.
//   epilogue   adds the warps' sums in a fixed order and does everything after the product: element-wise operations,
//   further
//              loads, stores, notifies. Only it touches memory after a product.
//
// The form that is recognized, of functions that are split into roles (RoleProduct.h), and of which what the last role
// does must be expressible on 8-row fragments (emit/FragmentCode.h):
//
//   rows      tiles of 8 x S, which do not depend on the streaming coordinates
//   weights   tiles of N x S of tensors that are loaded ahead, one for each sum
//   K         a constant number of steps of S
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
inline constexpr int64_t mostRowPieces = 24;
/// Bytes of a ring stage, at most.
inline constexpr int64_t mostStageBytes = 16384;

struct StreamedProduct : RoleProduct {
  int64_t lower = 0, step = 0, stages = 0; // along K
  /// Coordinates (numbers of the grid) that the rows do not depend on: consecutive tasks that differ only in these keep
  /// their rows.
  std::vector<unsigned> streaming;

  int64_t blocks() const { return step / (computeWarps * packedColumns); } // 16-byte pieces of a lane in a stage
  int64_t stageBytes() const { return step / packedColumns * layout::packedTileBytes; }
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
