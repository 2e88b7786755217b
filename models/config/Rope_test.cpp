#include "models/config/Rope.h"

#include <gtest/gtest.h>

namespace evt::models {
namespace {

TEST(Rope, DefaultFrequencies) {
  ModelConfig model;
  model.headDim = 8;
  model.ropeTheta = 10000;
  std::vector<double> frequencies = ropeFrequencies(model);
  ASSERT_EQ(frequencies.size(), 4u);
  double expected[] = {1, 0.1, 0.01, 0.001};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(frequencies[i], expected[i], 1e-16);
}

// The three cases of llama3, by hand: waves of 6.28, 62.8, 628.3 and 6283 positions.
TEST(Rope, Llama3Frequencies) {
  ModelConfig model;
  model.headDim = 8;
  model.ropeTheta = 10000;
  model.ropeScaling = Llama3Scaling{8, 1, 4, 1024};
  std::vector<double> frequencies = ropeFrequencies(model);
  ASSERT_EQ(frequencies.size(), 4u);
  EXPECT_NEAR(frequencies[0], 1, 1e-15);
  EXPECT_NEAR(frequencies[1], 0.1, 1e-15); // 62.8 < 1024 / 4
  double smooth = (1024 / 628.31853071795862 - 1) / 3;
  EXPECT_NEAR(frequencies[2], 0.01 * (1 - smooth) / 8 + 0.01 * smooth, 1e-15);
  EXPECT_NEAR(frequencies[2], 0.003087, 5e-7);
  EXPECT_NEAR(frequencies[3], 0.000125, 1e-17); // 6283 > 1024
}

// Llama-3.2-1B: which pairs are kept, between, slowed down follows from how many positions they take for a turn.
TEST(Rope, PublishedModel) {
  ModelConfig model;
  model.headDim = 64;
  model.ropeTheta = 500000;
  model.ropeScaling = Llama3Scaling{32, 1, 4, 8192};
  std::vector<double> frequencies = ropeFrequencies(model);
  ASSERT_EQ(frequencies.size(), 32u);
  ModelConfig plain = model;
  plain.ropeScaling.reset();
  std::vector<double> unscaled = ropeFrequencies(plain);
  EXPECT_EQ(frequencies[0], 1);
  EXPECT_EQ(frequencies[14], unscaled[14]); // 1956 positions a turn, 2048 are the border
  EXPECT_LT(frequencies[15], unscaled[15]); // 2948
  EXPECT_GT(frequencies[17], unscaled[17] / 32);
  EXPECT_EQ(frequencies[18], unscaled[18] / 32); // 10089
  EXPECT_EQ(frequencies[31], unscaled[31] / 32);
}

} // namespace
} // namespace evt::models
