#include "runtime/tensor/PackedTiles.h"

#include <cstring>

namespace evt::runtime {

bool dividesIntoTiles(std::span<const int64_t> dims, TileShape tile) {
  return dims.size() >= 2 && dims[dims.size() - 2] % tile.rows == 0 && dims.back() % tile.columns == 0;
}

void packTiles(const void *rowMajor, void *packed, std::span<const int64_t> dims, size_t elementBytes, TileShape tile) {
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  int64_t matrices = 1;
  for (int64_t d : dims.first(dims.size() - 2))
    matrices *= d;
  constexpr size_t pieceBytes = 16, swizzledBytes = 64;
  const size_t row = static_cast<size_t>(tile.columns) * elementBytes;
  const char *from = static_cast<const char *>(rowMajor);
  char *to = static_cast<char *>(packed);
  for (int64_t m = 0; m < matrices; ++m, from += static_cast<size_t>(rows * columns) * elementBytes)
    for (int64_t r0 = 0; r0 < rows; r0 += tile.rows)
      for (int64_t c0 = 0; c0 < columns; c0 += tile.columns)
        for (int64_t r = r0; r < r0 + tile.rows; ++r, to += row) {
          const char *source = from + static_cast<size_t>(r * columns + c0) * elementBytes;
          if (row != swizzledBytes)
            std::memcpy(to, source, row);
          else
            for (size_t p = 0; p < 4; ++p)
              std::memcpy(to + (p ^ static_cast<size_t>((r - r0) / 2 % 4)) * pieceBytes, source + p * pieceBytes,
                          pieceBytes);
        }
}

} // namespace evt::runtime
