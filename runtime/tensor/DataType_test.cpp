#include "runtime/tensor/DataType.h"

#include <bit>
#include <cmath>
#include <gtest/gtest.h>

using namespace evt::runtime;

TEST(DataType, NamesAndSizes) {
  const std::pair<const char *, size_t> expected[] = {{"f32", 4}, {"bf16", 2}, {"f16", 2},
                                                      {"i32", 4}, {"i64", 8},  {"i1", 1}};
  for (auto [text, bytes] : expected) {
    std::optional<DataType> type = dataTypeNamed(text);
    ASSERT_TRUE(type) << text;
    EXPECT_EQ(name(*type), text);
    EXPECT_EQ(bytesOf(*type), bytes);
  }
  EXPECT_FALSE(dataTypeNamed("f64"));
}

TEST(DataType, AcceptsItsDLPackTypeOnly) {
  EXPECT_TRUE(accepts(DataType::f32, {kDLFloat, 32, 1}));
  EXPECT_FALSE(accepts(DataType::f32, {kDLFloat, 32, 4}));
  EXPECT_FALSE(accepts(DataType::f16, {kDLBfloat, 16, 1}));
  EXPECT_TRUE(accepts(DataType::i1, {6, 8, 1}));
  EXPECT_TRUE(accepts(DataType::i1, {kDLUInt, 8, 1}));
  EXPECT_FALSE(accepts(DataType::i32, {kDLUInt, 32, 1}));
}

TEST(DataType, DescribesForeignTypes) {
  EXPECT_EQ(describe({kDLBfloat, 16, 1}), "bf16");
  EXPECT_EQ(describe({kDLUInt, 32, 1}), "uint32");
  EXPECT_EQ(describe({kDLFloat, 32, 4}), "float32x4");
  EXPECT_EQ(describe({17, 4, 1}), "code17:4");
}

TEST(DataType, Bf16RoundsToNearestEven) {
  EXPECT_EQ(toBf16(1.0f), 0x3f80);
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x3f808000u)), 0x3f80); // a tie goes to the even neighbour, below ...
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x3f818000u)), 0x3f82); // ... and above
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_EQ(toBf16(std::bit_cast<float>(0x7f7fffffu)), 0x7f80); // the largest float is nearer to infinity
  EXPECT_EQ(toBf16(-0.0f), 0x8000);
  EXPECT_TRUE(std::isnan(fromBf16(toBf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(fromBf16(0xc040), -3.0f);
}

#ifdef __FLT16_MANT_DIG__
// The compiler's own half type is the reference: every half, and floats around every rounding boundary.
TEST(DataType, F16AgreesWithTheCompiler) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float expected = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
    float found = fromF16(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
      ASSERT_TRUE(std::isnan(fromF16(toF16(found)))) << bits;
      continue;
    }
    ASSERT_EQ(std::bit_cast<uint32_t>(found), std::bit_cast<uint32_t>(expected)) << bits;
    float next = static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits + 1)));
    float middle = std::isfinite(next) ? expected + (next - expected) / 2 : expected;
    for (float value : {expected, middle, std::nextafterf(middle, 1e9f), std::nextafterf(middle, -1e9f)})
      ASSERT_EQ(toF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
  for (float value : {65519.99f, 65520.0f, 1e30f, 0x1p-25f, 0x1.000002p-25f, -INFINITY})
    EXPECT_EQ(toF16(value), std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
}
#endif
