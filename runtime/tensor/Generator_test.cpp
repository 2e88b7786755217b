#include "runtime/tensor/Generator.h"

#include "runtime/Error.h"

#include <algorithm>
#include <gtest/gtest.h>

using namespace evt::runtime;

namespace {

HostTensor make(const char *text, DataType type, uint64_t seed = 0) {
  return generate(std::get<GeneratorSpec>(parseValue(text)), type, seed);
}

std::vector<double> values(const HostTensor &tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.elements(); ++i)
    list.push_back(tensor.get(i));
  return list;
}

std::string message(const char *text) {
  try {
    parseValue(text);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Generator, FixedContents) {
  EXPECT_EQ(values(make("zeros(2x2)", DataType::f32)), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(values(make("full(3,1.5)", DataType::bf16)), (std::vector<double>{1.5, 1.5, 1.5}));
  EXPECT_EQ(values(make("full(2,-7)", DataType::i64)), (std::vector<double>{-7, -7}));
  EXPECT_EQ(values(make("iota(2x3)", DataType::i32)), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(make("zeros()", DataType::f32).shape(), std::vector<int64_t>{});
  EXPECT_EQ(make("random(0x7)", DataType::f32).elements(), 0);
}

TEST(Generator, RandomStaysInRangeAndUsesIt) {
  std::vector<double> floats = values(make("random(1000)", DataType::f32));
  auto [least, most] = std::minmax_element(floats.begin(), floats.end());
  EXPECT_TRUE(*least >= -1 && *least < -0.9 && *most <= 1 && *most > 0.9) << *least << " " << *most;
  std::vector<double> integers = values(make("random(1000,lo=-2,hi=3)", DataType::i32));
  for (double value = -2; value < 3; ++value)
    EXPECT_GT(std::count(integers.begin(), integers.end(), value), 100) << value;
  EXPECT_EQ(*std::max_element(integers.begin(), integers.end()), 2);
  EXPECT_EQ(*std::min_element(integers.begin(), integers.end()), -2);
}

TEST(Generator, SeedsDecide) {
  EXPECT_EQ(values(make("random(8)", DataType::f32, 3)), values(make("random(8,seed=3)", DataType::f32, 9)));
  EXPECT_NE(values(make("random(8)", DataType::f32, 3)), values(make("random(8)", DataType::f32, 4)));
}

// The first outputs of SplitMix64 for seed 0 as published (0xe220a8397b1dcdaf, …), scaled to [-1, 1).
TEST(Generator, IsSplitMix64) {
  std::vector<double> found = values(make("random(2)", DataType::f32));
  EXPECT_EQ(found[0], static_cast<float>(-1 + 2 * ((0xe220a8397b1dcdafu >> 11) * 0x1p-53)));
  EXPECT_EQ(found[1], static_cast<float>(-1 + 2 * ((0x6e789e6aa1b965f4u >> 11) * 0x1p-53)));
}

TEST(Generator, PermutationsHoldEveryNumberOnce) {
  std::vector<double> found = values(make("perm(64)", DataType::i32));
  EXPECT_FALSE(std::is_sorted(found.begin(), found.end()));
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, values(make("iota(64)", DataType::i32)));
}

TEST(Generator, LengthsHoldZerosAndTheRange) {
  std::vector<double> found = values(make("lengths(400,max=5)", DataType::i32));
  for (double value = 0; value <= 5; ++value)
    EXPECT_GT(std::count(found.begin(), found.end(), value), 20) << value;
  EXPECT_EQ(*std::max_element(found.begin(), found.end()), 5);
  EXPECT_EQ(values(make("lengths(3,max=0)", DataType::i32)), (std::vector<double>{0, 0, 0}));
}

TEST(Generator, OtherValues) {
  EXPECT_EQ(std::get<int64_t>(parseValue("-12")), -12);
  EXPECT_EQ(std::get<NpyFile>(parseValue("a/b.npy")).path, "a/b.npy");
}

TEST(Generator, ErrorsSayWhatIsWrong) {
  EXPECT_EQ(message("ones(3)"),
            "cannot understand 'ones(3)': 'ones' is not one of random, zeros, full, iota, perm, lengths");
  EXPECT_EQ(message("random(3xn)"), "cannot understand 'random(3xn)': found 'n', required an integer of at least 0");
  EXPECT_EQ(message("random(-3)"), "cannot understand 'random(-3)': found '-3', required an integer of at least 0");
  EXPECT_EQ(message("random(3,max=2)"), "cannot understand 'random(3,max=2)': 'random' has no option 'max'");
  EXPECT_EQ(message("random(3,7)"), "cannot understand 'random(3,7)': '7' is not of the form name=value");
  EXPECT_EQ(message("full(3)"), "cannot understand 'full(3)': 'full' needs a value after the shape");
  EXPECT_EQ(message("full(3,x)"), "cannot understand 'full(3,x)': found 'x', required a number");
  EXPECT_EQ(message("lengths(3)"), "cannot understand 'lengths(3)': 'lengths' needs max=");
  EXPECT_EQ(message("perm(3x3)"), "cannot understand 'perm(3x3)': a permutation has rank 2, required 1");
  EXPECT_EQ(message("12a"),
            "cannot understand '12a': required a generator such as random(8x16), a .npy file or an integer");
  EXPECT_EQ(message(""), "cannot understand '': required a generator such as random(8x16), a .npy file or an integer");
  EXPECT_THROW(make("random(3,lo=2,hi=1)", DataType::f32), Error);
}

} // namespace
