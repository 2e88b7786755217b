// What is packed lies where it is read. Both sides are written out here a second time, as loops and pointers: the
// packing as the runtime does it, the reading as the emitted code and device/cuda/stream.h do it.
#include "compiler/layout/PackedWeights.h"

#include <gtest/gtest.h>

namespace evt::layout {
namespace {

/// Tile after tile, row after row: the flattened element at each place of memory.
std::vector<int64_t> packedInMemory(const std::vector<int64_t> &dims) {
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  int64_t matrices = 1;
  for (size_t d = 0; d + 2 < dims.size(); ++d)
    matrices *= dims[d];
  std::vector<int64_t> memory;
  for (int64_t m = 0; m < matrices; ++m)
    for (int64_t r0 = 0; r0 < rows; r0 += 8)
      for (int64_t c0 = 0; c0 < columns; c0 += 32)
        for (int64_t r = r0; r < r0 + 8; ++r)
          for (int64_t place = 0; place < 32; ++place) // the pieces of 8 elements trade places by pairs of rows
            memory.push_back((m * rows + r) * columns + c0 + (place / 8 ^ (r - r0) / 2) * 8 + place % 8);
  return memory;
}

const std::vector<std::vector<int64_t>> shapes{{8, 32}, {16, 64}, {24, 512}, {3, 16, 256}, {2, 2, 8, 96}};

TEST(PackedWeights, TheLayoutIsWhatTheRuntimePacks) {
  for (const auto &dims : shapes) {
    auto layout = packedWeights(dims);
    ASSERT_TRUE(layout) << layout.why();
    std::vector<int64_t> memory = packedInMemory(dims);
    for (size_t place = 0; place < memory.size(); ++place)
      ASSERT_EQ(layout->place(memory[place])[Axis::m], static_cast<int64_t>(place)) << print(*layout);
  }
}

TEST(PackedWeights, Text) {
  EXPECT_EQ(print(*packedWeights(std::vector<int64_t>{16, 64})),
            "[16, 64] -> (2:512@m, 8:32@m, 2:256@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(print(*packedWeights(std::vector<int64_t>{36, 6144, 4096})),
            "[36, 6144, 4096] -> (36:25165824@m, 768:32768@m, 8:32@m, 128:256@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(print(*readersOfStage(512, 8)), "[8, 512] -> (8:4@lane, 8:1@warp, 2:8@reg, 4:1@lane, 8:1@reg)");
}

TEST(PackedWeights, Errors) {
  auto why = [](std::vector<int64_t> dims) { return packedWeights(dims).why(); };
  EXPECT_EQ(why({64}), "found a tensor of rank 1, required 2 or more");
  EXPECT_EQ(why({12, 64}), "found [12, 64], required whole tiles of [8, 32]");
  EXPECT_EQ(why({2, 16, 48}), "found [2, 16, 48], required whole tiles of [1, 8, 32]");
  EXPECT_EQ(why({0, 16, 64}), "found [0, 16, 64], required whole tiles of [1, 8, 32]");
  EXPECT_EQ(why({int64_t{1} << 40, int64_t{1} << 40, 64}), "more than 2^60 elements in the shape");
  EXPECT_EQ(readersOfStage(384, 8).why(), "found 384 columns, required a multiple of 32 for each of 8 warps");
}

/// The whole tensor from what is stated of it, whichever of its dimensions are known.
TEST(PackedWeights, BlocksFollowEachOther) {
  EXPECT_EQ(print(*packedBlock(16, 64)), "[16, 64] -> (2:512@m, 8:32@m, 2:256@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(print(*packedBlock({}, 64)), "[8, 64] -> (8:32@m, 2:256@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(print(*packedBlock(16, {})), "[8, 32] -> (8:32@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(print(*packedBlock({}, {})), "[8, 32] -> (8:32@m, 32:1@m) ^ swizzle(2, 3, 3)");
  EXPECT_EQ(packedBlock(12, 64).why(), "found [12, 64], required whole tiles of [8, 32]");
  using Known = std::optional<int64_t>;
  for (const auto &dims : shapes)
    for (auto [rows, columns] : {std::pair<bool, bool>{true, true}, {false, true}, {true, false}, {false, false}}) {
      auto block = packedBlock(rows ? Known(dims[dims.size() - 2]) : Known(), columns ? Known(dims.back()) : Known());
      ASSERT_TRUE(block) << block.why();
      std::vector<int64_t> shape(dims.size() - 2, 1), blocks;
      shape.insert(shape.end(), block->shape().begin(), block->shape().end());
      for (size_t d = 0; d < dims.size(); ++d)
        blocks.push_back(dims[d] / shape[d]);
      auto whole = tile(*Layout::rowMajor(blocks), *group(*block, shape));
      ASSERT_TRUE(whole) << whole.why();
      const std::vector<int64_t> memory = packedInMemory(dims);
      for (size_t place = 0; place < memory.size(); ++place)
        ASSERT_EQ(whole->place(memory[place])[Axis::m], static_cast<int64_t>(place)) << print(*whole);
    }
}

/// A stage is one contiguous copy, and the loader's pointer is its beginning.
TEST(PackedWeights, StagesAreContiguousWhereTheLoaderCopies) {
  const std::vector<int64_t> dims{3, 24, 1024};
  const int64_t step = 256;
  auto layout = packedWeights(dims);
  ASSERT_TRUE(layout) << layout.why();
  for (int64_t layer = 0; layer < 3; ++layer)
    for (int64_t row = 0; row < 24; row += packedRows)
      for (int64_t column = 0; column < 1024; column += step) {
        auto stage = slice(*layout, std::vector<int64_t>{layer, row, column}, std::vector<int64_t>{1, 8, step});
        ASSERT_TRUE(stage) << stage.why();
        // evt::packed gives the beginning of the first stage of a fragment; stages follow each other.
        const int64_t first = layer * 24 * 1024 + row * 1024 + 0 * 8, bytes = 8 * step * 2;
        EXPECT_EQ(stage->offset()[Axis::m] * packedElementBytes, first * 2 + column / step * bytes);
        EXPECT_EQ(stage->range(Axis::m).span(), stage->elements());
        Layout::Parts fromZero = stage->all();
        fromZero.offset = {};
        fromZero.swizzle = {}; // it permutes within tiles
        EXPECT_TRUE(inverse(*Layout::make(fromZero))) << "not dense";
      }
}

/// For each warp, lane and register, what the compute warps' pointer finds in a stage is the element that the layout
/// gives to that warp, lane and register; and its row and column are those of emitted code.
TEST(PackedWeights, LanesReadTheirElementsWithoutBankConflicts) {
  for (int64_t step : {256, 512, 1024}) {
    const int64_t warps = 8, blocks = step / (warps * 32);
    auto readers = readersOfStage(step, warps);
    ASSERT_TRUE(readers) << readers.why();
    auto elementOf = inverse(*readers);
    ASSERT_TRUE(elementOf) << elementOf.why();
    ASSERT_EQ(elementOf->axes, (std::vector<Axis>{Axis::reg, Axis::lane, Axis::warp}));
    auto stage = packedWeights(std::vector<int64_t>{8, step});
    ASSERT_TRUE(stage) << stage.why();
    const std::vector<int64_t> memory = packedInMemory({8, step});
    for (int64_t warp = 0; warp < warps; ++warp)
      for (int64_t b = 0; b < blocks; ++b) {
        std::vector<int64_t> addresses;
        for (int64_t lane = 0; lane < 32; ++lane) {
          // stage[b * 32], of uint4, from `warp * blocks * 32 + packed_piece(lane)` on.
          addresses.push_back((warp * blocks * 32 + (lane ^ lane / 8) + b * 32) * 16);
          for (int64_t e = 0; e < 8; ++e) {
            const int64_t element =
                elementOf->layout.place(std::vector<int64_t>{b * laneElements + e, lane, warp})[Axis::m];
            ASSERT_EQ(stage->place(element)[Axis::m] * packedElementBytes, addresses.back() + e * 2);
            ASSERT_EQ(memory[static_cast<size_t>(addresses.back() / 2 + e)], element);
            ASSERT_EQ(element / step, lane / 4);
            ASSERT_EQ(element % step, (warp * blocks + b) * 32 + lane % 4 * 8 + e); // rows_D: where it reads the rows
          }
        }
        SharedRequests requests = sharedRequests(addresses, 16);
        EXPECT_EQ(requests.least, 4);
        EXPECT_EQ(requests.needed, 4);
      }
  }
}

/// The tensor core multiplies what it takes for the same k; here that is the same column of rows and of weights, and
/// the two mma of a tile cover its 32 columns.
TEST(PackedWeights, RowsAndWeightsMeetInTheSameColumn) {
  auto rows = inverse(mmaRows()), columns = inverse(mmaColumns()), read = inverse(laneOfTile());
  ASSERT_TRUE(rows && columns && read);
  std::vector<int> timesCovered(8 * 32);
  for (int64_t h = 0; h < 2; ++h) {
    std::vector<int64_t> columnOfK(16, -1);
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t e = 0; e < 4; ++e) {
        // Weights: b0 and b1 are words 2 h and 2 h + 1 of the lane's 16 bytes, so elements 4 h to 4 h + 3.
        const int64_t b = columns->layout.place(std::vector<int64_t>{e, lane})[Axis::m];
        const int64_t element = read->layout.place(std::vector<int64_t>{4 * h + e, lane})[Axis::m];
        EXPECT_EQ(b / 16, element / 32) << "row of the weights";
        int64_t &column = columnOfK[static_cast<size_t>(b % 16)];
        if (column == -1)
          column = element % 32;
        EXPECT_EQ(column, element % 32);
        ++timesCovered[static_cast<size_t>(element)];
        // Rows: a0 and a2, since a1 and a3, the lower eight rows, are zero; the same words of the lane's own 16 bytes.
        const int64_t a = rows->layout.place(std::vector<int64_t>{e / 2 * 4 + e % 2, lane})[Axis::m];
        EXPECT_EQ(a / 16, lane / 4) << "row";
        EXPECT_EQ(a % 16, b % 16) << "k";
      }
    for (int64_t k = 0; k < 16; ++k)
      EXPECT_EQ(columnOfK[static_cast<size_t>(k)], 8 * (k % 8 / 2) + 4 * h + 2 * (k / 8) + k % 2);
  }
  for (int times : timesCovered)
    EXPECT_EQ(times, 1);
}

/// As the PTX manual has them: groupID = lane / 4, threadID_in_group = lane % 4, element i.
TEST(PackedWeights, MmaFragments) {
  auto check = [](const Layout &layout, int64_t elements, auto coordinate) {
    auto back = inverse(layout);
    ASSERT_TRUE(back) << back.why();
    EXPECT_EQ(back->layout.shape(), (std::vector<int64_t>{elements, 32}));
    for (int64_t lane = 0; lane < 32; ++lane)
      for (int64_t i = 0; i < elements; ++i)
        EXPECT_EQ(back->layout.place(std::vector<int64_t>{i, lane})[Axis::m],
                  layout.flatten(coordinate(lane / 4, lane % 4, i)));
  };
  using Coordinate = std::vector<int64_t>;
  check(mmaRows(), 8, [](int64_t group, int64_t thread, int64_t i) {
    return Coordinate{i < 2 || (4 <= i && i < 6) ? group : group + 8,
                      i < 4 ? thread * 2 + i % 2 : thread * 2 + i % 2 + 8};
  });
  check(mmaColumns(), 4, [](int64_t group, int64_t thread, int64_t i) {
    return Coordinate{group, i < 2 ? thread * 2 + i % 2 : thread * 2 + i % 2 + 8};
  });
  check(mmaSums(), 4, [](int64_t group, int64_t thread, int64_t i) {
    return Coordinate{i < 2 ? group : group + 8, thread * 2 + i % 2};
  });
}

/// Eight lanes that read a column of 16-byte pieces, as ldmatrix does: one bank after the other with the swizzle, all
/// the same without.
TEST(PackedWeights, ASwizzleSpreadsAColumnOverTheBanks) {
  for (int64_t rowBytes : {128, 64, 32}) {
    const int64_t elements = rowBytes / 2;
    Layout plain = *Layout::rowMajor({8, elements}), spread = *swizzled(plain, *sharedSwizzle(rowBytes, 2));
    for (int64_t piece = 0; piece < rowBytes / 16; ++piece) {
      std::vector<int64_t> before, after;
      for (int64_t row = 0; row < 8; ++row) {
        before.push_back(plain.place(std::vector<int64_t>{row, piece * 8})[Axis::m] * 2);
        after.push_back(spread.place(std::vector<int64_t>{row, piece * 8})[Axis::m] * 2);
      }
      EXPECT_EQ(sharedRequests(before, 16).needed, 8 * rowBytes / 128);
      EXPECT_EQ(sharedRequests(after, 16).needed, 1);
      EXPECT_EQ(sharedRequests(after, 16).least, 1);
    }
  }
}

TEST(PackedWeights, RequestsByHand) {
  std::vector<int64_t> neighbours, same, apart;
  for (int64_t lane = 0; lane < 32; ++lane) {
    neighbours.push_back(lane * 4);
    same.push_back(64);
    apart.push_back(lane * 128);
  }
  EXPECT_EQ(sharedRequests(neighbours, 4).needed, 1);
  EXPECT_EQ(sharedRequests(same, 4).needed, 1);
  EXPECT_EQ(sharedRequests(apart, 4).needed, 32);
  EXPECT_EQ(sharedRequests(apart, 16).needed, 32); // four times eight
  EXPECT_EQ(sharedRequests(apart, 16).least, 4);
}

} // namespace
} // namespace evt::layout
