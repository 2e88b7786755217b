#include "device/common/types.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace {

std::uint32_t to_bits(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
float from_bits(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// What a format's bit pattern stands for, computed from its definition.
double value_of(std::uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1, top = (1 << exponent_bits) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits) & top;
  const double fraction = static_cast<double>(bits & ((1u << mantissa_bits) - 1)) / (1 << mantissa_bits);
  const double sign = (bits >> (exponent_bits + mantissa_bits)) & 1 ? -1.0 : 1.0;
  if (exponent == top)
    return fraction == 0.0 ? sign * INFINITY : NAN;
  return sign * (exponent == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1.0 + fraction, exponent - bias));
}

template <typename T> struct Format;
template <> struct Format<evt::bf16> { static constexpr int exponent = 8, mantissa = 7; };
template <> struct Format<evt::f16> { static constexpr int exponent = 5, mantissa = 10; };

template <typename T> class SixteenBits : public ::testing::Test {};
using Types = ::testing::Types<evt::bf16, evt::f16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, ToFloatIsExactForEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float got = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    const double want = value_of(bits, Format<TypeParam>::exponent, Format<TypeParam>::mantissa);
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got)) << bits;
    else
      ASSERT_EQ(to_bits(got), to_bits(static_cast<float>(want))) << bits;
  }
}

TYPED_TEST(SixteenBits, EveryPatternSurvivesARoundTrip) {
  constexpr std::uint32_t quiet = 1u << (Format<TypeParam>::mantissa - 1);
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = TypeParam::from_bits(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(TypeParam(x).bits, std::isnan(x) ? bits | quiet : bits) << bits;
  }
}

// Rounding, tested through its definition: no pattern is nearer to x, and of two equally near the even one is taken.
TYPED_TEST(SixteenBits, RoundsToNearestEven) {
  constexpr int exponent = Format<TypeParam>::exponent, mantissa = Format<TypeParam>::mantissa;
  constexpr std::uint32_t infinity = ((1u << exponent) - 1) << mantissa;
  // Past the largest value rounding goes on as if one more binade existed; its first value is then the infinity.
  auto magnitude = [&](std::uint32_t bits) {
    return bits == infinity ? std::ldexp(1.0, 1 << (exponent - 1)) : value_of(bits, exponent, mantissa);
  };
  auto check = [&](float x) {
    const std::uint16_t got = TypeParam(x).bits;
    ASSERT_EQ(got >> 15, to_bits(x) >> 31) << x;
    const std::uint32_t bits = got & 0x7fffu;
    ASSERT_LE(bits, infinity) << x;
    const double distance = std::abs(magnitude(bits) - std::abs(static_cast<double>(x)));
    if (bits > 0) {
      const double below = std::abs(magnitude(bits - 1) - std::abs(static_cast<double>(x)));
      ASSERT_TRUE(distance < below || (distance == below && bits % 2 == 0) || std::isinf(x)) << x;
    }
    if (bits < infinity) {
      const double above = std::abs(magnitude(bits + 1) - std::abs(static_cast<double>(x)));
      ASSERT_TRUE(distance < above || (distance == above && bits % 2 == 0)) << x;
    }
  };
  for (std::uint64_t bits = 0; bits < (1ull << 32); bits += 4093) {
    const float x = from_bits(static_cast<std::uint32_t>(bits));
    if (!std::isnan(x) && !std::isinf(x))
      check(x);
  }
  // Ties and their neighbours on both sides, between all patterns.
  for (std::uint32_t bits = 0; bits < infinity; ++bits) {
    const float tie = static_cast<float>((magnitude(bits) + magnitude(bits + 1)) / 2);
    for (float x : {tie, std::nextafterf(tie, 0.0f), std::nextafterf(tie, INFINITY), -tie})
      if (!std::isinf(x))
        check(x);
  }
  EXPECT_EQ(TypeParam(INFINITY).bits, infinity);
  EXPECT_EQ(TypeParam(-INFINITY).bits, infinity | 0x8000u);
}

TYPED_TEST(SixteenBits, NanStaysNan) {
  for (std::uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu, 0xff800001u, 0xffc00000u, 0xffffffffu}) {
    const TypeParam x(from_bits(bits));
    EXPECT_TRUE(std::isnan(static_cast<float>(x))) << bits;
    EXPECT_EQ(x.bits >> 15, bits >> 31);
  }
}

TYPED_TEST(SixteenBits, LoopsGiveTheBitsOfSingleConversions) {
  std::mt19937 random(3);
  std::vector<float> xs(1003);
  for (float &x : xs)
    x = from_bits(static_cast<std::uint32_t>(random()));
  std::vector<TypeParam> packed(xs.size());
  for (std::size_t i = 0; i < xs.size(); ++i)
    packed[i] = TypeParam(xs[i]);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    volatile float x = xs[i];
    ASSERT_EQ(packed[i].bits, TypeParam(x).bits);
  }
}

TEST(SixteenBits, KnownValues) {
  EXPECT_EQ(evt::bf16(1.0f).bits, 0x3f80);
  EXPECT_EQ(evt::bf16(3.14159265f).bits, 0x4049);
  EXPECT_EQ(evt::f16(1.0f).bits, 0x3c00);
  EXPECT_EQ(evt::f16(65504.0f).bits, 0x7bff);
  EXPECT_EQ(evt::f16(65519.996f).bits, 0x7bff);
  EXPECT_EQ(evt::f16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(evt::f16(0x1p-24f).bits, 0x0001);
  EXPECT_EQ(evt::f16(0x1p-25f).bits, 0x0000);
  static_assert(sizeof(evt::bf16) == 2 && sizeof(evt::f16) == 2 && sizeof(evt::i1) == 1);
}

} // namespace
