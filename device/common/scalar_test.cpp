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
