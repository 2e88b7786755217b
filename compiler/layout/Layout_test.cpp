// The examples of Layout.h, with places computed by hand, and every failure's text.
#include "compiler/layout/Layout.h"

#include <gtest/gtest.h>

namespace evt::layout {
namespace {

Layout from(std::string_view text) {
  auto layout = parse(text);
  EXPECT_TRUE(layout) << text << ": " << layout.why();
  return *layout;
}

/// The printed place of a coordinate.
std::string at(const Layout &layout, std::vector<int64_t> coordinate) { return print(layout.place(coordinate)); }

template <class T> std::string why(const Result<T> &result) { return result ? "it exists" : result.why(); }

//===-- the header's examples -------------------------------------------------------------------------------------===//

TEST(Layout, RowMajorColumnMajorAndCopies) {
  EXPECT_EQ(at(from("[4, 8] -> (4:8@m, 8:1@m)"), {2, 3}), "19@m");
  EXPECT_EQ(at(from("[4, 8] -> (4:1@m, 8:4@m)"), {2, 3}), "14@m");
  auto copies = from("[4, 8] -> (4:8@m, 8:1@m) + [2:1@rank] + 64@m").places(std::vector<int64_t>{2, 3});
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(print(copies[0]), "83@m");
  EXPECT_EQ(print(copies[1]), "83@m + 1@rank");
  EXPECT_EQ(print(*Layout::rowMajor({4, 8}, Axis::lane)), "[4, 8] -> (32:1@lane)");
}

TEST(Layout, MmaSums) {
  Layout sums = from("[16, 8] -> (2:2@reg, 8:4@lane, 4:1@lane, 2:1@reg)");
  // lane.register, as the header's table has them.
  const int expected[4][8][2] = {{{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}, {3, 0}, {3, 1}},
                                 {{4, 0}, {4, 1}, {5, 0}, {5, 1}, {6, 0}, {6, 1}, {7, 0}, {7, 1}},
                                 {{0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 2}, {3, 3}},
                                 {{4, 2}, {4, 3}, {5, 2}, {5, 3}, {6, 2}, {6, 3}, {7, 2}, {7, 3}}};
  const int64_t rows[] = {0, 1, 8, 9};
  for (int r = 0; r < 4; ++r)
    for (int64_t c = 0; c < 8; ++c) {
      Place p = sums.place(std::vector<int64_t>{rows[r], c});
      EXPECT_EQ(p[Axis::lane], expected[r][c][0]);
      EXPECT_EQ(p[Axis::reg], expected[r][c][1]);
    }
}

TEST(Layout, PackedWeights) {
  auto packed = tile(from("[2, 2] -> (2:2@m, 2:1@m)"), from("[8, 32] -> (8:32@m, 32:1@m)"));
  ASSERT_TRUE(packed) << packed.why();
  EXPECT_EQ(print(*packed), "[16, 64] -> (2:512@m, 8:32@m, 2:256@m, 32:1@m)");
  EXPECT_EQ(at(*packed, {9, 40}), "808@m");
  EXPECT_EQ(at(*packed, {8, 0}), "512@m");
  EXPECT_EQ(at(*packed, {0, 32}), "256@m");
}

TEST(Layout, SwizzledSharedTile) {
  auto swizzle = sharedSwizzle(128, 2);
  ASSERT_TRUE(swizzle);
  EXPECT_EQ(*swizzle, (Swizzle{3, 3, 3}));
  auto tile = swizzled(*Layout::rowMajor({8, 64}), *swizzle);
  ASSERT_TRUE(tile) << tile.why();
  EXPECT_EQ(print(*tile), "[8, 64] -> (512:1@m) ^ swizzle(3, 3, 3)");
  EXPECT_EQ(at(*tile, {3, 8}), "208@m");
  EXPECT_EQ(at(*tile, {0, 8}), "8@m");
  EXPECT_EQ(at(*tile, {7, 63}), "455@m"); // piece 7 ^ 7 = 0 of row 7, its last element
  // In bytes these are the swizzles as they are commonly known, and 64 and 32 bytes use fewer bits.
  EXPECT_EQ(*sharedSwizzle(128, 1), (Swizzle{3, 4, 3}));
  EXPECT_EQ(*sharedSwizzle(64, 1), (Swizzle{2, 4, 3}));
  EXPECT_EQ(*sharedSwizzle(32, 4), (Swizzle{1, 2, 3}));
}

TEST(Layout, ShardsOverRanks) {
  Layout rows = from("[64, 32] -> (4:1@rank, 512:1@m)");
  EXPECT_EQ(at(rows, {17, 0}), "32@m + 1@rank");
  EXPECT_EQ(at(rows, {63, 31}), "511@m + 3@rank");
  EXPECT_EQ(from("[32] -> (32:1@m) + [4:1@rank]").places(5).size(), 4u);
  // A rank's own part is a slice.
  auto mine = slice(rows, std::vector<int64_t>{32, 0}, std::vector<int64_t>{16, 32});
  ASSERT_TRUE(mine) << mine.why();
  EXPECT_EQ(print(canonical(*mine)), "[16, 32] -> (512:1@m) + 2@rank");
}

//===-- operations ------------------------------------------------------------------------------------------------===//

TEST(Layout, Canonical) {
  auto form = [](std::string_view text) { return print(canonical(from(text))); };
  EXPECT_EQ(form("[4, 8] -> (4:8@m, 1:7@lane, 2:4@m, 4:1@m) + [2:-1@rank]"),
            "[4, 8] -> (32:1@m) + [2:1@rank] + -1@rank");
  EXPECT_EQ(form("[6] -> (2:0@lane, 3:0@warp)"), "[6] -> (6:0@m)");
  EXPECT_EQ(form("[4] -> (2:2@m, 2:1@lane)"), "[4] -> (2:2@m, 2:1@lane)");
  EXPECT_EQ(form("[1] -> (1:5@m)"), "[1] -> ()");
  EXPECT_EQ(form("[] -> ()"), "[] -> ()");
  // Replicas are a set: order, repetition and overlap do not count.
  EXPECT_EQ(form("[1] -> () + [2:2@cta, 3:0@m, 2:1@cta]"), "[1] -> () + [4:1@cta]");
  EXPECT_EQ(form("[1] -> () + [2:3@m, 2:1@m, 2:2@m]"), "[1] -> () + [7:1@m]");
  EXPECT_EQ(form("[1] -> () + [2:1@m, 2:1@m]"), "[1] -> () + [3:1@m]");
  EXPECT_EQ(form("[1] -> () + [3:4@m, 2:3@m, 2:2@m]"), "[1] -> () + [6:2@m, 2:3@m]");
  // A swizzle stays only if some address has the bits it looks at.
  EXPECT_EQ(form("[64] -> (64:1@m) ^ swizzle(3, 3, 3)"), "[64] -> (64:1@m)");
  EXPECT_EQ(form("[65] -> (65:1@m) ^ swizzle(3, 3, 3)"), "[65] -> (65:1@m) ^ swizzle(3, 3, 3)");
}

TEST(Layout, Group) {
  Layout l = from("[24] -> (4:10@m, 6:1@m)");
  EXPECT_EQ(print(*group(l, {8, 3})), "[8, 3] -> (4:10@m, 2:3@m, 3:1@m)");
  EXPECT_EQ(print(*group(l, {2, 1, 12})), "[2, 1, 12] -> (2:20@m, 2:10@m, 6:1@m)");
  EXPECT_EQ(why(group(l, {3, 8})),
            "cannot group by [3, 8]: dimension 1 ends inside the iterator 6:1@m, and 8 and 6 do not divide each other");
  EXPECT_EQ(why(group(l, {5, 5})), "shape [5, 5] has 25 elements, the sharded iterators count 24");
  EXPECT_EQ(why(group(l, {-24, -1})), "found extent -24 in the shape, required at least 1");
}

TEST(Layout, Tile) {
  // Lanes of a warp side by side, and warps below each other.
  EXPECT_EQ(print(*tile(from("[4, 1] -> (4:1@warp)"), from("[1, 32] -> (32:1@lane)"))),
            "[4, 32] -> (4:1@warp, 32:1@lane)");
  // The outer layout counts spans of the inner one, gaps included; copies of copies.
  EXPECT_EQ(print(*tile(from("[2] -> (2:3@m) + [2:1@m] + 1@m"), from("[2] -> (2:4@m) + 1@m"))),
            "[4] -> (2:15@m, 2:4@m) + [2:5@m] + 6@m");
  EXPECT_EQ(print(*tile(from("[2, 1] -> (2:1@m)"), from("[8, 64] -> (512:1@m) ^ swizzle(3, 3, 3)"))),
            "[16, 64] -> (2:512@m, 8:64@m, 64:1@m) ^ swizzle(3, 3, 3)");
  EXPECT_EQ(why(tile(from("[2, 1] -> (2:1@m)"), from("[4, 64] -> (256:1@m) ^ swizzle(3, 3, 3)"))),
            "cannot tile: copies lie at multiples of 256 elements, required multiples of 512, the period of swizzle(3, "
            "3, 3)");
  EXPECT_EQ(why(tile(from("[1, 1] -> () + 3@m"), from("[4, 64] -> (256:1@m) ^ swizzle(3, 3, 3)"))),
            "cannot tile: copies lie at multiples of 768 elements, required multiples of 512, the period of swizzle(3, "
            "3, 3)");
  EXPECT_EQ(why(tile(from("[2] -> (2:1@m)"), from("[2, 2] -> (4:1@m)"))),
            "cannot tile: the outer shape [2] and the inner shape [2, 2] differ in rank");
  EXPECT_EQ(why(tile(from("[128] -> (128:1@m) ^ swizzle(3, 3, 3)"), from("[2] -> (2:1@m)"))),
            "cannot tile: the outer layout has swizzle(3, 3, 3)");
  EXPECT_EQ(why(tile(from("[3, 8] -> (4:10@m, 6:1@m)"), from("[1, 1] -> ()"))),
            "cannot group by [3, 8]: dimension 1 ends inside the iterator 6:1@m, and 8 and 6 do not divide each other");
  EXPECT_EQ(why(tile(from("[1073741824] -> (1073741824:1@m)"), from("[1073741825] -> (1073741825:1@m)"))),
            "more than 2^60 elements in the shape");
  EXPECT_EQ(why(tile(from("[2] -> (2:1152921504606846976@m)"), from("[2] -> (2:99@m)"))),
            "cannot tile: places reach beyond 2^60");
}

TEST(Layout, Slice) {
  Layout l = from("[4, 64] -> (4:8@m, 8:32@m, 8:1@m)");
  auto region = [&](std::vector<int64_t> begin, std::vector<int64_t> size) { return slice(l, begin, size); };
  EXPECT_EQ(print(*region({1, 8}, {2, 16})), "[2, 16] -> (2:8@m, 2:32@m, 8:1@m) + 40@m");
  EXPECT_EQ(print(*region({3, 13}, {1, 3})), "[1, 3] -> (3:1@m) + 61@m");
  EXPECT_EQ(why(region({0, 4}, {4, 8})),
            "cannot slice 8 elements from 4 on of dimension 1: they are neither inside one "
            "block nor whole blocks of (8:32@m, 8:1@m)");
  EXPECT_EQ(why(region({0, 60}, {4, 8})), "region of [4, 8] from [0, 60] on is not inside shape [4, 64]");
  EXPECT_EQ(why(region({0, 0}, {4, 0})), "region of [4, 0] from [0, 0] on is not inside shape [4, 64]");
  EXPECT_EQ(why(region({0}, {4})), "region of [4] from [0] on and shape [4, 64] differ in rank");
  EXPECT_EQ(why(region({0, INT64_MAX}, {4, 2})),
            "region of [4, 2] from [0, 9223372036854775807] on is not inside shape [4, 64]");
}

TEST(Layout, Swizzled) {
  Layout l = from("[512] -> (512:1@m)"), s = from("[512] -> (512:1@m) ^ swizzle(3, 3, 3)");
  EXPECT_EQ(*swizzled(l, {3, 3, 3}), s);
  EXPECT_EQ(*swizzled(s, {3, 3, 3}), l);
  EXPECT_EQ(why(swizzled(s, {2, 4, 3})), "cannot compose with swizzle(2, 4, 3): the layout has swizzle(3, 3, 3)");
  EXPECT_EQ(why(swizzled(l, {3, 3, 2})),
            "found swizzle(3, 3, 2), required bits, base >= 0, shift >= bits and at most 60 bits in all");
  EXPECT_EQ(why(swizzled(from("[4] -> (4:-1@m)"), {1, 0, 1})),
            "a swizzle of addresses from -3 on, required addresses from 0 on");
  EXPECT_EQ(why(sharedSwizzle(256, 2)), "found rows of 256 bytes, required 128, 64 or 32");
  EXPECT_EQ(why(sharedSwizzle(128, 3)), "found elements of 3 bytes, required 1, 2, 4, 8 or 16");
}

TEST(Layout, InverseOfFragments) {
  auto back = inverse(from("[16, 8] -> (2:2@reg, 8:4@lane, 4:1@lane, 2:1@reg)"));
  ASSERT_TRUE(back) << back.why();
  EXPECT_EQ(back->axes, (std::vector<Axis>{Axis::reg, Axis::lane}));
  // Register 3 of lane 6 is row 9, column 5: element 77.
  EXPECT_EQ(back->layout.place(std::vector<int64_t>{3, 6})[Axis::m], 77);
  EXPECT_EQ(print(inverse(from("[4] -> (4:-1@m) + 3@m"))->layout), "[4] -> (4:-1@m) + 3@m");
}

TEST(Layout, NoInverse) {
  auto refused = [](std::string_view text) { return why(inverse(from(text))); };
  EXPECT_EQ(refused("[128] -> (128:1@m) ^ swizzle(3, 3, 3)"), "no inverse: the layout has swizzle(3, 3, 3)");
  EXPECT_EQ(refused("[4] -> (4:1@m) + [2:1@rank]"), "no inverse: 2:1@rank replicates");
  EXPECT_EQ(refused("[4] -> (4:1@m) + 3@lane"), "no inverse: places on lane begin at 3, required 0");
  EXPECT_EQ(refused("[4] -> (2:4@m, 2:1@m)"), "no inverse: places on m are not dense: 2:4@m follows 2 places");
  EXPECT_EQ(refused("[4] -> (4:0@m)"), "no inverse: places on m are not dense: 4:0@m follows 1 places");
}

//===-- construction ----------------------------------------------------------------------------------------------===//

TEST(Layout, Make) {
  EXPECT_EQ(why(Layout::make({.shape = {4}, .sharded = {{3, 1, Axis::m}}})),
            "shape [4] has 4 elements, the sharded iterators count 3");
  EXPECT_EQ(why(Layout::make({.shape = {0}, .sharded = {{0, 1, Axis::m}}})),
            "found extent 0 in the shape, required at least 1");
  EXPECT_EQ(why(Layout::make({.shape = {4}, .sharded = {{-4, 1, Axis::m}}})),
            "found extent -4 in the sharded iterators, required at least 1");
  EXPECT_EQ(why(Layout::make({.shape = {}, .sharded = {}, .replicated = {{0, 1, Axis::m}}})),
            "found extent 0 in the replicated iterators, required at least 1");
  EXPECT_EQ(why(Layout::make({.shape = {INT64_MAX, INT64_MAX}, .sharded = {}})),
            "more than 2^60 elements in the shape");
  EXPECT_EQ(why(Layout::make({.shape = {3}, .sharded = {{3, INT64_MIN, Axis::m}}})), "places reach beyond 2^60");
  EXPECT_EQ(why(Layout::rowMajor({4, 0})), "found extent 0 in the shape, required at least 1");
}

TEST(Layout, ExtremesStayInRange) {
  // The largest places there can be, in every operation that adds or multiplies them.
  const int64_t far = int64_t{1} << 60;
  Layout l = *Layout::make(
      {.shape = {2}, .sharded = {{2, far, Axis::m}}, .replicated = {{2, -far, Axis::m}, {1, INT64_MIN, Axis::m}}});
  EXPECT_EQ(print(canonical(l)),
            "[2] -> (2:1152921504606846976@m) + [2:1152921504606846976@m] + -1152921504606846976@m");
  EXPECT_EQ(l.range(Axis::m).span(), 2 * far + 1);
  EXPECT_EQ(l.places(1).size(), 2u);
  EXPECT_EQ(print(*group(l, {2, 1})), "[2, 1] -> (2:1152921504606846976@m) + [2:-1152921504606846976@m, "
                                      "1:-9223372036854775808@m]");
}

//===-- text ------------------------------------------------------------------------------------------------------===//

TEST(LayoutText, BlanksAreFree) {
  EXPECT_EQ(print(from(" [ 2,4]->( 2:4 @m,4 : 1@ m )+[2:1@rank]+ -3@m + 2@lane ")),
            "[2, 4] -> (2:4@m, 4:1@m) + [2:1@rank] + -3@m + 2@lane");
  EXPECT_EQ(print(from("[2]->(2:1@m)^swizzle( 1,0 ,1 )")), "[2] -> (2:1@m) ^ swizzle(1, 0, 1)");
}

TEST(LayoutText, Errors) {
  auto refused = [](std::string_view text) { return why(parse(text)); };
  EXPECT_EQ(refused("[4] -> (4:1@thread)"),
            "column 13: unknown axis 'thread'; the axes are m, reg, lane, warp, warpgroup, cta, rank");
  EXPECT_EQ(refused("[4] -> (4:1@lanes)"),
            "column 13: unknown axis 'lanes'; the axes are m, reg, lane, warp, warpgroup, cta, rank");
  EXPECT_EQ(refused("[4] -> (4:1@)"),
            "column 13: unknown axis ''; the axes are m, reg, lane, warp, warpgroup, cta, rank");
  EXPECT_EQ(refused(""), "column 1: required '[', found the end");
  EXPECT_EQ(refused("[4 -> (4:1@m)"), "column 4: required ']', found '-'");
  EXPECT_EQ(refused("[4] -> (4:1@m"), "column 14: required ')', found the end");
  EXPECT_EQ(refused("[4] -> (4;1@m)"), "column 10: required ':', found ';'");
  EXPECT_EQ(refused("[x] -> ()"), "column 2: required a number, found 'x'");
  EXPECT_EQ(refused("[99999999999999999999] -> ()"), "column 2: a number beyond 64 bits");
  EXPECT_EQ(refused("[4] -> (4:1@m) 5"), "column 16: required '+', '^' or the end, found '5'");
  EXPECT_EQ(refused("[4] -> (4:1@m) + [2:1@cta] + [2:1@cta]"), "column 31: replicated iterators a second time");
  EXPECT_EQ(refused("[4] -> (4:1@m) + 1@m + 2@m"), "column 27: an offset on m a second time");
  EXPECT_EQ(refused("[4] -> (4:1@m) ^ swizzle(1, 2)"), "column 30: required ',', found ')'");
  EXPECT_EQ(refused("[4] -> (4:1@m) ^ swizzle(1, 99, 2)"), "column 31: found 99, required 0 to 60 bits");
  EXPECT_EQ(refused("[4] -> (3:1@m)"), "shape [4] has 4 elements, the sharded iterators count 3");
}

} // namespace
} // namespace evt::layout
