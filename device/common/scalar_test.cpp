// Scalar arithmetic against the IR's definitions, worked by hand.
#include "device/common/scalar.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace {

TEST(Scalar, DivisionRoundsTowardsMinusInfinity) {
  EXPECT_EQ(evt::floordiv(7, 3), 2);
  EXPECT_EQ(evt::floordiv(-7, 3), -3);
  EXPECT_EQ(evt::floordiv(-6, 3), -2);
  EXPECT_EQ(evt::ceildiv(7, 3), 3);
  EXPECT_EQ(evt::ceildiv(-7, 3), -2);
  EXPECT_EQ(evt::ceildiv(6, 3), 2);
  EXPECT_EQ(evt::mod(-1, 4), 3);
  EXPECT_EQ(evt::mod(5, 4), 1);
}

TEST(Scalar, DivisionBy0IsReportedAndEndsNothing) {
  int reports = 0;
  evt::division_watch = {&reports, [](void *user) { ++*static_cast<int *>(user); }};
  const std::int32_t least = std::numeric_limits<std::int32_t>::min();
  EXPECT_EQ(evt::quotient<std::int32_t>(-7, 2), -3);
  EXPECT_EQ(evt::remainder<std::int32_t>(-7, 2), -1);
  EXPECT_EQ(evt::quotient<std::int32_t>(least, -1), least);
  EXPECT_EQ(evt::remainder<std::int32_t>(least, -1), 0);
  EXPECT_EQ(evt::quotient<std::uint32_t>(7u, ~0u), 0u);
  EXPECT_EQ(evt::remainder<std::uint32_t>(7u, ~0u), 7u);
  EXPECT_EQ(reports, 0);
  evt::quotient<std::int32_t>(7, 0);
  evt::remainder<std::int64_t>(7, 0);
  evt::floordiv(7, 0);
  evt::ceildiv(7, 0);
  evt::mod(7, 0);
  EXPECT_EQ(reports, 5);
  evt::division_watch = {};
  evt::floordiv(7, 0);
  EXPECT_EQ(reports, 5);
}

TEST(Scalar, MaximumPropagatesNaNAndOrdersZeros) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(evt::maximum(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(evt::maximum(1.0f, nan)));
  EXPECT_TRUE(std::isnan(evt::minimum(nan, 1.0f)));
  EXPECT_TRUE(std::isnan(evt::minimum(1.0f, nan)));
  EXPECT_FALSE(std::signbit(evt::maximum(-0.0f, 0.0f)));
  EXPECT_FALSE(std::signbit(evt::maximum(0.0f, -0.0f)));
  EXPECT_TRUE(std::signbit(evt::minimum(-0.0f, 0.0f)));
  EXPECT_TRUE(std::signbit(evt::minimum(0.0f, -0.0f)));
  EXPECT_EQ(evt::maximum(-2.0f, -3.0f), -2.0f);
  EXPECT_EQ(evt::minimum(-2.0f, -3.0f), -3.0f);
}

TEST(Scalar, MaxnumPrefersNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(evt::maxnum(nan, 1.0f), 1.0f);
  EXPECT_EQ(evt::maxnum(1.0f, nan), 1.0f);
  EXPECT_EQ(evt::minnum(nan, 1.0f), 1.0f);
  EXPECT_EQ(evt::minnum(2.0f, 1.0f), 1.0f);
}

} // namespace
