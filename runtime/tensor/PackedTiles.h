// Packed tensors: the last two dimensions divided into tiles, each tile's elements neighbours, tiles in row-major
// order.
//
//   rows x columns = 2 x 4 of a 4 x 8 matrix: element (r, c) lies at
//     ((r / 2) * (8 / 4) + c / 4) * 8 + (r % 2) * 4 + c % 4
//
// Where a tile's rows are 64 bytes long, the four 16-byte pieces of row r of a tile trade places: piece p lies where p
// ^ (r / 2 % 4) would. A kernel that streams weights reads a tile as one piece, and tensor cores want it like that.
#ifndef EVT_RUNTIME_TENSOR_PACKEDTILES_H
#define EVT_RUNTIME_TENSOR_PACKEDTILES_H

#include <cstddef>
#include <cstdint>
#include <span>

namespace evt::runtime {

struct TileShape {
  int64_t rows, columns;
};

// Whether the last two of `dims` are whole tiles.
bool dividesIntoTiles(std::span<const int64_t> dims, TileShape tile);

// Both have the bytes of `dims`; they must not overlap. The dimensions must divide.
void packTiles(const void *rowMajor, void *packed, std::span<const int64_t> dims, size_t elementBytes, TileShape tile);

} // namespace evt::runtime

#endif
