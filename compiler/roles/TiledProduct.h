// Which device functions multiply tiles on the tensor cores: products with many rows on both sides, whose operands are
// fetched tile by tile.
//
// Such a function is split over the roles of a block:
//
//   loaders   one copies the tiles of weights into a ring of shared-memory stages, 64 columns of K at a time or a few
//             times that; the other passes the task's waits, then copies its rows. They are in the next task while
//             compute ends this one.
//   compute   two groups of four warps, each with half of the rows, multiply stage after stage; the sums stay in
//             registers. Then everything after the product, on these registers: element-wise operations, further loads,
//             stores, notifies.
//
// The form that is recognized, of functions that are split into roles (RoleProduct.h), and of which what the last role
// does must be expressible on fragments (emit/FragmentCode.h): one tile of M x S for all products, and one of N x S for
// each sum. M is 64, 128 or 256, S a multiple of 64; all N together, times M / 128, are at most 256. Operands may be
// arguments or buffers that earlier tasks write: what is not loaded ahead is fetched behind the task's waits. Rows,
// columns and K may end anywhere: what lies outside is zero. Weights that other calls stream are packed; tiles that
// begin and end with packed ones are fetched from there as well.
#pragma once

#include "compiler/roles/RoleProduct.h"

namespace evt::roles {

/// Columns of K that are fetched at once: 128 bytes, the width of the swizzle.
inline constexpr int64_t chunkColumns = 64;
/// Rows that a group of four warps multiplies at once, and how many such groups there are.
inline constexpr int64_t groupRows = 64, rowGroups = 2;
/// Sums that a thread may hold.
inline constexpr int64_t mostSums = 128;

struct TiledProduct : RoleProduct {
  int64_t step = 0;             // along K
  int64_t tileRows = 0;         // M
  std::vector<int64_t> columns; // N of each accumulator
  bool mayBePacked = true;      // the weights' tiles are whole packed tiles
  bool isPacked = false;        // they are, since other calls stream them
  /// What a stage holds: chunks of 64 columns of K, with room for so many rows.
  struct Stage {
    int64_t chunks = 1, rows = 0;
    bool rowsTogether = false; // one copy fetches the rows of all chunks
    bool operator==(const Stage &other) const { return chunks == other.chunks && rows == other.rows; }
  };
  Stage stage;
  Stage few; // where all rows there are fit in half a tile

  /// All weights are loaded ahead: nothing that the task waits for orders them.
  bool hasWeightsAhead() const {
    for (const Operand &weight : weights)
      if (!weight.isAhead)
        return false;
    return true;
  }
  int64_t allColumns() const {
    int64_t n = 0;
    for (int64_t c : columns)
      n += c;
    return n;
  }
  /// Pieces of 64 rows that each group of warps has.
  int64_t pieces() const { return (tileRows + groupRows * rowGroups - 1) / (groupRows * rowGroups); }
  /// Bytes of 64 columns of so many rows.
  static int64_t bytesOf(int64_t rows) { return rows * chunkColumns * 2; }
  int64_t stageBytes() const {
    return std::max(stage.chunks * bytesOf(stage.rows + allColumns()), few.chunks * bytesOf(few.rows + allColumns()));
  }
  /// Makes stages of as many chunks as have room and divide K.
  void fill(int64_t stageBytes);
};

/// The plan, or nothing and, in `why`, what stands against it.
std::optional<TiledProduct> matchTiledProduct(ir::DeviceOp device, std::string &why);

} // namespace evt::roles
