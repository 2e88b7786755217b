#include "runtime/tensor/Compare.h"

#include "runtime/Error.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace evt::runtime;

namespace {

HostTensor vector(DataType type, std::vector<double> values) {
  HostTensor tensor(type, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    tensor.set(static_cast<int64_t>(i), values[i]);
  return tensor;
}

TEST(Compare, EqualTensors) {
  Comparison result = compare(vector(DataType::f32, {1, INFINITY}), vector(DataType::f32, {1, INFINITY}));
  EXPECT_EQ(result.relativeError, 0);
  EXPECT_EQ(result.maxIndex, -1);
  EXPECT_EQ(result.different, 0);
}

TEST(Compare, RelativeFrobeniusError) {
  // differences 3 and 4, reference norm 50: 5 / 50
  Comparison result = compare(vector(DataType::f32, {33, 36}), vector(DataType::f32, {30, 40}));
  EXPECT_DOUBLE_EQ(result.relativeError, 0.1);
  EXPECT_EQ(result.maxAbsolute, 4);
  EXPECT_EQ(result.maxIndex, 1);
  EXPECT_EQ(result.different, 2);
}

TEST(Compare, ZeroReferenceGivesTheNormItself) {
  EXPECT_EQ(compare(vector(DataType::f32, {3, 4}), vector(DataType::f32, {0, 0})).relativeError, 5);
}

TEST(Compare, NotANumber) {
  Comparison result = compare(vector(DataType::bf16, {NAN, 1, NAN, 2}), vector(DataType::bf16, {1, NAN, NAN, 2}));
  EXPECT_EQ(result.foundNaN, 2);
  EXPECT_EQ(result.expectedNaN, 2);
  EXPECT_EQ(result.mismatchedNaN, 2);
  EXPECT_EQ(result.relativeError, 0);
}

TEST(Compare, LargeIntegersThatAreTheSameDouble) {
  HostTensor found(DataType::i64, {1}), expected(DataType::i64, {1});
  found.setInteger(0, (int64_t(1) << 60) + 1);
  expected.setInteger(0, int64_t(1) << 60);
  EXPECT_EQ(compare(found, expected).maxAbsolute, 1);
}

TEST(Compare, AnInfiniteDifferenceIsSeen) {
  EXPECT_EQ(compare(vector(DataType::f32, {INFINITY}), vector(DataType::f32, {1})).maxAbsolute, INFINITY);
}

TEST(Compare, RefusesOtherTypesAndShapes) {
  auto message = [](const HostTensor &found, const HostTensor &expected) -> std::string {
    try {
      compare(found, expected);
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  EXPECT_EQ(message(vector(DataType::f32, {1}), vector(DataType::f16, {1})),
            "cannot compare: found type f32, required f16");
  EXPECT_EQ(message(vector(DataType::f32, {1}), HostTensor(DataType::f32, {})),
            "cannot compare: found shape 1, required scalar");
}

TEST(HostTensor, IsAlignedAndZero) {
  HostTensor tensor(DataType::i64, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 64, 0u);
  for (int64_t i = 0; i < 15; ++i)
    EXPECT_EQ(tensor.getInteger(i), 0);
}

TEST(HostTensor, RefusesImpossibleShapes) {
  EXPECT_THROW(HostTensor(DataType::f32, {-1}), Error);
  EXPECT_THROW(HostTensor(DataType::f32, {int64_t(1) << 40, int64_t(1) << 40}), Error);
  EXPECT_THROW(HostTensor(DataType::i64, {int64_t(1) << 61}), Error);
}

} // namespace
