#include "models/weights/ElementType.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace evt::models {
namespace {

template <typename To, typename From> To converted(ElementType from, From value, ElementType to) {
  To result{};
  convert(from, &value, to, &result, 1);
  return result;
}

uint16_t toBf16(float value) { return converted<uint16_t>(ElementType::f32, value, ElementType::bf16); }
uint16_t toF16(float value) { return converted<uint16_t>(ElementType::f32, value, ElementType::f16); }

TEST(ElementType, Names) {
  EXPECT_EQ(name(ElementType::bf16), "bf16");
  EXPECT_EQ(safetensorsName(ElementType::f32), "F32");
  EXPECT_EQ(elementTypeNamed("f16"), ElementType::f16);
  EXPECT_EQ(elementTypeNamed("F16"), std::nullopt);
  EXPECT_EQ(elementTypeOfSafetensors("BF16"), ElementType::bf16);
  EXPECT_EQ(elementTypeOfSafetensors("I64"), std::nullopt);
  EXPECT_EQ(bytesOf(ElementType::f32), 4u);
}

TEST(ElementType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(1.0f + 0x1p-8f), 0x3f80);            // halfway: to the even one below
  EXPECT_EQ(toBf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81); // just above halfway
  EXPECT_EQ(toBf16(1.0f + 0x1p-7f + 0x1p-8f), 0x3f82);  // halfway: to the even one above
  EXPECT_EQ(toBf16(-1.0f - 0x1p-7f - 0x1p-8f), 0xbf82);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(toBf16(std::numeric_limits<float>::infinity()), 0x7f80);
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x7f800001u)), 0x7fc0); // NaN stays NaN
  EXPECT_EQ(toBf16(-0.0f), 0x8000);
  EXPECT_EQ(toBf16(0x1p-133f), 0x0001); // the least one
}

// Every f16, by its definition; and back.
TEST(ElementType, F16AllValues) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 0x3ff;
    double magnitude = exponent ? std::ldexp(1024 + fraction, exponent - 25) : std::ldexp(fraction, -24);
    if (exponent == 31)
      magnitude = fraction ? std::nan("") : INFINITY;
    float found = converted<float>(ElementType::f16, static_cast<uint16_t>(bits), ElementType::f32);
    if (std::isnan(magnitude)) {
      EXPECT_TRUE(std::isnan(found));
      continue;
    }
    ASSERT_EQ(found, static_cast<float>(bits & 0x8000 ? -magnitude : magnitude)) << bits;
    ASSERT_EQ(toF16(found), bits);
  }
}

// Between two neighbours, the nearer one; halfway, the even one.
TEST(ElementType, F16Rounds) {
  for (uint32_t bits = 0; bits < 0x7bff; ++bits) {
    float low = converted<float>(ElementType::f16, static_cast<uint16_t>(bits), ElementType::f32);
    float high = converted<float>(ElementType::f16, static_cast<uint16_t>(bits + 1), ElementType::f32);
    float middle = (low + high) / 2;
    ASSERT_EQ(toF16(middle), bits + (bits & 1)) << bits;
    ASSERT_EQ(toF16(std::nextafter(middle, low)), bits) << bits;
    ASSERT_EQ(toF16(-std::nextafter(middle, high)), 0x8000 | (bits + 1)) << bits;
  }
  EXPECT_EQ(toF16(65519.0f), 0x7bff);
  EXPECT_EQ(toF16(65520.0f), 0x7c00);
  EXPECT_EQ(toF16(1e30f), 0x7c00);
}

TEST(ElementType, UnalignedAndF16ToBf16) {
  std::vector<std::byte> in(1 + 3 * 2), out(1 + 3 * 2);
  uint16_t values[] = {toF16(1.5f), toF16(-2.0f), toF16(1.0f + 0x1p-8f)};
  std::memcpy(in.data() + 1, values, sizeof values);
  convert(ElementType::f16, in.data() + 1, ElementType::bf16, out.data() + 1, 3);
  std::memcpy(values, out.data() + 1, sizeof values);
  EXPECT_EQ(values[0], 0x3fc0);
  EXPECT_EQ(values[1], 0xc000);
  EXPECT_EQ(values[2], 0x3f80);
}

} // namespace
} // namespace evt::models
