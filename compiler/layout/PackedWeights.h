// Weights that stream: where the runtime puts them, and who reads what.
//
// A weight tensor [..., rows, columns] is packed as tiles of 8 x 32, the elements of a tile neighbours, tiles in
// row-major order. Within a tile, the four 16-byte pieces of row r trade places by r / 2 % 4: that is how the tensor
// cores want rows of 64 bytes in shared memory, so that tiles can be multiplied as they are copied. A stage of a
// product that streams is 8 rows and some columns of it: whole tiles, one after the other, so that one copy brings it
// to shared memory. There, the compute warps divide its columns, and each lane reads the 16 bytes of a tile that are
// its own:
//
//   a tile in memory    [8, 32] -> (256:1@m) ^ swizzle(2, 3, 3)
//   who reads it        [8, 32] -> (32:1@lane, 8:1@reg)       lane l: row l / 4, columns 8 (l % 4) to 8 (l % 4) + 7
//
// A warp's lanes read a tile, eight of them two rows: no two that are served at once meet in a bank.
//
// Two mma.m16n8k16 multiply a tile, with elements 0..3 and 4..7 of each lane. They want columns in another order,
// lane l % 4 the pairs 2 (l % 4) and 2 (l % 4) + 8 of 16; since a sum may run over columns in any order that rows and
// weights agree upon, they are given the columns that the lanes have:
//
//   column of k, for the mma with elements 4 h ..  :   k = 8 p + 2 q + e   <->   column 8 q + 4 h + 2 p + e
//
#pragma once

#include "compiler/layout/Layout.h"

namespace evt::layout {

/// A packed tile, and what one lane reads of it at once, in elements of 2 bytes.
inline constexpr int64_t packedRows = 8, packedColumns = 32, packedElementBytes = 2, laneElements = 8;
inline constexpr int64_t packedTileElements = packedRows * packedColumns,
                         packedTileBytes = packedTileElements * packedElementBytes;

/// How the pieces of a tile trade places.
Swizzle packedSwizzle();

/// From [..., rows, columns] to memory. Fails if the last two dimensions are not whole tiles.
Result<Layout> packedWeights(std::span<const int64_t> dims);

/// A block of a packed tensor, of two dimensions, as large as what is known of the last two allows: [rows, columns],
/// else [8, columns], else [8, 32]. Blocks follow each other, so that the whole is, with leading extents of 1 for the
/// block, tile(row-major order of dims / block, block). This is what an artifact can say of a tensor whose leading
/// dimensions are known only at run time.
Result<Layout> packedBlock(std::optional<int64_t> rows, std::optional<int64_t> columns);

/// From a tile, [8, 32], to the lane that reads the element and its number in what the lane reads.
Layout laneOfTile();

/// From a stage, [8, columns], to warp, lane and the lane's element: warps divide the columns. Fails if a warp would
/// not get whole tiles.
Result<Layout> readersOfStage(int64_t columns, int64_t warps);

/// The operands of mma.m16n8k16 and its sums, from [row, k], [column, k] and [row, column] to lane and element.
Layout mmaRows();
Layout mmaColumns();
Layout mmaSums();

/// How often shared memory must be asked until each lane of a warp has the `bytes` (4, 8 or 16) at its address, and how
/// often at least. The same number: no two lanes meet in a bank.
struct SharedRequests {
  int64_t needed, least;
};
SharedRequests sharedRequests(std::span<const int64_t> byteAddresses, int64_t bytes);

} // namespace evt::layout
