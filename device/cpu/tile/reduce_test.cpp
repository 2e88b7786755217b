#include "device/cpu/tile/reduce.h"

#include "device/cpu/tile/guarded_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>

namespace evt::tile {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Extents {
  std::int64_t outer, r, inner;
};

// The order the header documents, element by element: 16 partials, halved until one is left.
template <typename T>
T in_documented_order(T start, const T *src, std::int64_t r, std::int64_t inner, const std::function<T(T, T)> &op) {
  std::int64_t partials = 16;
  while (partials > r)
    partials /= 2;
  std::vector<T> p(static_cast<std::size_t>(partials));
  for (std::int64_t i = 0; i < r; ++i) {
    T &slot = p[static_cast<std::size_t>(i % partials)];
    slot = i < partials ? src[i * inner] : op(slot, src[i * inner]);
  }
  while (p.size() > 1) {
    const std::size_t half = p.size() / 2;
    for (std::size_t i = 0; i < half; ++i)
      p[i] = op(p[i], p[half + i]);
    p.resize(half);
  }
  return op(start, p[0]);
}

template <typename Op, typename T, Extents E> void check(const std::function<T(T, T)> &op) {
  SCOPED_TRACE(::testing::Message() << E.outer << "x" << E.r << "x" << E.inner);
  GuardedBuffer<T> src(E.outer * E.r * E.inner), dst(E.outer * E.inner);
  src.randomize();
  dst.randomize();
  const std::vector<T> before = dst.copy();
  reduce<Op, E.outer, E.r, E.inner>(dst.data(), src.data());
  for (std::int64_t o = 0; o < E.outer; ++o)
    for (std::int64_t i = 0; i < E.inner; ++i) {
      const std::int64_t at = o * E.inner + i;
      const T *column = src.data() + o * E.r * E.inner + i;
      ASSERT_EQ(dst[at], in_documented_order<T>(before[static_cast<std::size_t>(at)], column, E.r, E.inner, op))
          << o << ", " << i;
    }
}

template <typename Op, typename T> void check_shapes(const std::function<T(T, T)> &op) {
  check<Op, T, Extents{1, 1, 1}>(op);
  check<Op, T, Extents{3, 2, 1}>(op);
  check<Op, T, Extents{2, 6, 1}>(op);
  check<Op, T, Extents{4, 15, 1}>(op);
  check<Op, T, Extents{4, 16, 1}>(op);
  check<Op, T, Extents{5, 17, 1}>(op);
  check<Op, T, Extents{2, 1009, 1}>(op);
  check<Op, T, Extents{1, 1024, 1}>(op);
  check<Op, T, Extents{2, 7, 3}>(op);
  check<Op, T, Extents{3, 33, 15}>(op);
  check<Op, T, Extents{1, 64, 16}>(op);
  check<Op, T, Extents{2, 31, 17}>(op);
  check<Op, T, Extents{1, 5, 128}>(op);
  check<Op, T, Extents{2, 40, 101}>(op);
}

template <typename T> std::function<T(T, T)> wrapping(bool multiply) {
  return [multiply](T a, T b) {
    using Wide = unsigned __int128;
    return static_cast<T>(multiply ? static_cast<Wide>(a) * static_cast<Wide>(b)
                                   : static_cast<Wide>(a) + static_cast<Wide>(b));
  };
}

TEST(Reduce, AddFloat) {
  check_shapes<Add, float>([](float a, float b) { return a + b; });
}
TEST(Reduce, MulFloat) {
  check_shapes<Mul, float>([](float a, float b) { return a * b; });
}
TEST(Reduce, MaxFloat) {
  check_shapes<Max, float>([](float a, float b) { return std::fmax(a, b); });
}
TEST(Reduce, MinFloat) {
  check_shapes<Min, float>([](float a, float b) { return std::fmin(a, b); });
}
TEST(Reduce, Int32) {
  check_shapes<Add, std::int32_t>(wrapping<std::int32_t>(false));
  check_shapes<Mul, std::int32_t>(wrapping<std::int32_t>(true)); // products of many factors wrap
  check_shapes<Max, std::int32_t>([](std::int32_t a, std::int32_t b) { return std::max(a, b); });
  check_shapes<Min, std::int32_t>([](std::int32_t a, std::int32_t b) { return std::min(a, b); });
}
TEST(Reduce, Int64) {
  check_shapes<Add, std::int64_t>(wrapping<std::int64_t>(false));
  check_shapes<Mul, std::int64_t>(wrapping<std::int64_t>(true));
  check_shapes<Max, std::int64_t>([](std::int64_t a, std::int64_t b) { return std::max(a, b); });
  check_shapes<Min, std::int64_t>([](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}

TEST(Reduce, SumsAreCloseToExact) {
  constexpr std::int64_t R = 65536;
  GuardedBuffer<float> src(R);
  float sum = 0.0f;
  double exact = 0.0, magnitude = 0.0;
  for (std::int64_t i = 0; i < R; ++i) {
    src[i] = std::uniform_real_distribution<float>(0, 1)(test_random());
    exact += src[i];
    magnitude += std::abs(src[i]);
  }
  reduce<Add, 1, R, 1>(&sum, src.data());
  EXPECT_NEAR(sum, exact, magnitude * (R / 16.0 + 5) * 0x1p-24);
}

TEST(Reduce, MaxAndMinPropagateNanAndOrderZeros) {
  EXPECT_EQ(Max::apply(1.0f, 2.0f), 2.0f);
  EXPECT_EQ(Max::apply(2.0f, 1.0f), 2.0f);
  EXPECT_EQ(Min::apply(1.0f, 2.0f), 1.0f);
  EXPECT_EQ(Min::apply(2.0f, 1.0f), 1.0f);
  EXPECT_EQ(Max::apply(-inf, -1.0f), -1.0f);
  for (float x : {0.0f, -1.0f, inf, -inf, nan}) {
    EXPECT_TRUE(std::isnan(Max::apply(nan, x)));
    EXPECT_TRUE(std::isnan(Max::apply(x, nan)));
    EXPECT_TRUE(std::isnan(Min::apply(nan, x)));
    EXPECT_TRUE(std::isnan(Min::apply(x, nan)));
  }
  EXPECT_FALSE(std::signbit(Max::apply(0.0f, -0.0f)));
  EXPECT_FALSE(std::signbit(Max::apply(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(Max::apply(-0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(Min::apply(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(Min::apply(-0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(Min::apply(0.0f, 0.0f)));
}

TEST(Reduce, NanPropagatesFromAnyPosition) {
  for (float hole : {nan, -nan})
    for (std::int64_t at = 0; at < 37; ++at) {
      GuardedBuffer<float> src(37);
      src.randomize();
      src[(at + 5) % 37] = inf;
      src[(at + 7) % 37] = -inf;
      float high = 0.0f, low = 0.0f;
      reduce<Max, 1, 37, 1>(&high, src.data());
      reduce<Min, 1, 37, 1>(&low, src.data());
      EXPECT_EQ(high, inf);
      EXPECT_EQ(low, -inf);
      src[at] = hole;
      reduce<Max, 1, 37, 1>(&high, src.data());
      reduce<Min, 1, 37, 1>(&low, src.data());
      EXPECT_TRUE(std::isnan(high)) << at;
      EXPECT_TRUE(std::isnan(low)) << at;
    }
  float start = nan;
  const float one = 1.0f;
  reduce<Max, 1, 1, 1>(&start, &one);
  EXPECT_TRUE(std::isnan(start));
}

TEST(Reduce, ZerosAreOrderedAndNegativeZeroSurvives) {
  const float zeros[] = {0.0f, -0.0f, 0.0f};
  float high = -0.0f, low = 0.0f;
  reduce<Max, 1, 3, 1>(&high, zeros);
  reduce<Min, 1, 3, 1>(&low, zeros);
  EXPECT_FALSE(std::signbit(high));
  EXPECT_TRUE(std::signbit(low));
  const float negative[] = {-0.0f, -0.0f, -0.0f};
  float sum = -0.0f;
  reduce<Add, 1, 3, 1>(&sum, negative);
  EXPECT_TRUE(std::signbit(sum));
}

// Columns of a wide tile are reduced in the order of a tile of one column.
TEST(Reduce, ValuesDoNotDependOnTheTileAround) {
  constexpr std::int64_t R = 77, Inner = 45;
  GuardedBuffer<float> src(R * Inner), dst(Inner), column(R);
  src.randomize();
  for (std::int64_t i = 0; i < Inner; ++i)
    dst[i] = 1.0f;
  reduce<Add, 1, R, Inner>(dst.data(), src.data());
  for (std::int64_t i = 0; i < Inner; ++i) {
    for (std::int64_t r = 0; r < R; ++r)
      column[r] = src[r * Inner + i];
    float alone = 1.0f;
    reduce<Add, 1, R, 1>(&alone, column.data());
    ASSERT_EQ(alone, dst[i]) << i;
  }
}

} // namespace
} // namespace evt::tile
