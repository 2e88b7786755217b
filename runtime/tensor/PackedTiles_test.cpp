#include "runtime/tensor/PackedTiles.h"

#include <gtest/gtest.h>
#include <random>
#include <vector>

namespace evt::runtime {
namespace {

TEST(PackedTiles, EveryElementLiesWhereTheDefinitionSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    auto upTo = [&](int n) { return static_cast<int64_t>(random() % static_cast<unsigned>(n)) + 1; };
    TileShape tile{upTo(8), round % 4 ? upTo(32) : 32};
    int64_t matrices = upTo(3), rows = tile.rows * upTo(4), columns = tile.columns * upTo(3);
    int64_t count = matrices * rows * columns;
    std::vector<int64_t> dims{matrices, rows, columns};
    if (matrices == 1 && random() % 2)
      dims = {rows, columns};
    std::vector<uint16_t> source(static_cast<size_t>(count)), packed(source.size(), 0xdead);
    for (size_t i = 0; i < source.size(); ++i)
      source[i] = static_cast<uint16_t>(i);
    ASSERT_TRUE(dividesIntoTiles(dims, tile));
    packTiles(source.data(), packed.data(), dims, sizeof(uint16_t), tile);
    for (int64_t i = 0; i < count; ++i) {
      int64_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
      int64_t at = matrix * rows * columns +
                   ((r / tile.rows) * (columns / tile.columns) + c / tile.columns) * tile.rows * tile.columns +
                   r % tile.rows * tile.columns + c % tile.columns;
      if (tile.columns == 32) // rows of 64 bytes: pieces of 8 elements trade places
        at = at / 32 * 32 + (c % 32 / 8 ^ r % tile.rows / 2 % 4) * 8 + c % 8;
      ASSERT_EQ(packed[static_cast<size_t>(at)], source[static_cast<size_t>(i)]) << "element " << i;
    }
  }
}

TEST(PackedTiles, OnlyWholeTiles) {
  EXPECT_TRUE(dividesIntoTiles(std::vector<int64_t>{16, 64}, {8, 32}));
  EXPECT_FALSE(dividesIntoTiles(std::vector<int64_t>{12, 64}, {8, 32}));
  EXPECT_FALSE(dividesIntoTiles(std::vector<int64_t>{16, 48}, {8, 32}));
  EXPECT_FALSE(dividesIntoTiles(std::vector<int64_t>{64}, {8, 32}));
}

} // namespace
} // namespace evt::runtime
