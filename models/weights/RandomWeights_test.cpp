#include "models/weights/RandomWeights.h"

#include "models/weights/Checkpoint.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace evt::models {
namespace {

// The quantile function is the inverse of the distribution function, which the C library has.
TEST(RandomWeights, Quantiles) {
  for (double p = 0x1p-53; p < 0.5; p *= 1.37) {
    double x = normalQuantile(p);
    EXPECT_NEAR(std::erfc(-x / std::sqrt(2)) / 2 / p, 1, 1e-7) << p; // 1e-9 of x, times its slope
    EXPECT_NEAR(normalQuantile(1 - p), -normalQuantile(1 - (1 - p)), 1e-12);
  }
  EXPECT_NEAR(normalQuantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normalQuantile(0.975), 1.959963984540054, 2e-9 * 1.96);
}

// The first numbers, from a computation of SplitMix64 and the quantile function elsewhere (Python's integers and its
// statistics.NormalDist): they are part of what a seed means and must never change.
TEST(RandomWeights, SequenceIsFixed) {
  NormalSequence sequence(7, "model.norm.weight");
  EXPECT_NEAR(sequence.at(0), 1.7229179436041764, 3e-9);
  EXPECT_NEAR(sequence.at(1), 0.2002445938016994, 3e-9);
  EXPECT_NEAR(sequence.at(1000000000000), 0.198352893567121, 3e-9);
}

TEST(RandomWeights, Moments) {
  NormalSequence sequence(1, "w");
  constexpr int count = 200000;
  double sum = 0, squares = 0, fourth = 0, product = 0, before = 0;
  for (int i = 0; i < count; ++i) {
    double x = sequence.at(i);
    sum += x, squares += x * x, fourth += x * x * x * x, product += x * before;
    before = x;
  }
  EXPECT_NEAR(sum / count, 0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1, 5 * std::sqrt(2.0 / count));
  EXPECT_NEAR(fourth / count, 3, 5 * std::sqrt(96.0 / count));
  EXPECT_NEAR(product / count, 0, 5 / std::sqrt(count));
}

ModelConfig tinyModel() {
  ModelConfig model;
  model.family = Family::qwen3;
  model.hasQkNorm = true;
  model.hidden = 64;
  model.layers = 2;
  model.heads = 4;
  model.kvHeads = 2;
  model.headDim = 32;
  model.feedForward = 160;
  model.vocabulary = 320;
  return model;
}

std::vector<float> valuesOf(const Checkpoint &checkpoint, const std::string &name) {
  const Checkpoint::Tensor *tensor = checkpoint.find(name);
  std::vector<float> values(tensor->elements());
  convert(tensor->type, tensor->data.data(), ElementType::f32, values.data(), values.size());
  return values;
}

// Neither files, threads nor chunks change a value; the type only rounds it.
TEST(RandomWeights, ValuesDependOnNothingElse) {
  TemporaryFolder one, many, wide;
  ModelConfig model = tinyModel();
  WriteOptions options;
  options.threads = 1;
  writeRandomCheckpoint(one.path, model, ElementType::bf16, 3, options);
  options.threads = 4;
  options.shardBytes = 30000;
  EXPECT_GT(writeRandomCheckpoint(many.path, model, ElementType::bf16, 3, options).size(), 5u);
  writeRandomCheckpoint(wide.path, model, ElementType::f32, 3, options);
  Checkpoint a = openCheckpoint(one.path, model), b = openCheckpoint(many.path, model),
             c = openCheckpoint(wide.path, model);
  for (const auto &[name, tensor] : a.tensors()) {
    EXPECT_EQ(valuesOf(a, name), valuesOf(b, name)) << name;
    std::vector<float> exact = valuesOf(c, name), rounded(exact.size());
    std::vector<uint16_t> bits(exact.size());
    convert(ElementType::f32, exact.data(), ElementType::bf16, bits.data(), exact.size());
    EXPECT_EQ(std::memcmp(bits.data(), tensor.data.data(), tensor.data.size()), 0) << name;
  }
}

TEST(RandomWeights, MatricesAndNorms) {
  TemporaryFolder folder;
  ModelConfig model = tinyModel();
  model.initializerRange = 0.15;
  writeRandomCheckpoint(folder.path, model, ElementType::f32, 5, {});
  Checkpoint checkpoint = openCheckpoint(folder.path, model);
  auto moments = [&](const std::string &name) {
    double sum = 0, squares = 0;
    std::vector<float> values = valuesOf(checkpoint, name);
    for (double value : values)
      sum += value, squares += value * value;
    double mean = sum / values.size();
    return std::pair(mean, std::sqrt(squares / values.size() - mean * mean));
  };
  auto [mean, deviation] = moments("model.embed_tokens.weight");
  EXPECT_NEAR(mean, 0, 0.005);
  EXPECT_NEAR(deviation, 0.15, 0.005);
  std::tie(mean, deviation) = moments("model.norm.weight");
  EXPECT_NEAR(mean, 1, 0.06);
  EXPECT_NEAR(deviation, 0.1, 0.04);
  EXPECT_NE(valuesOf(checkpoint, "model.layers.0.mlp.up_proj.weight"),
            valuesOf(checkpoint, "model.layers.1.mlp.up_proj.weight"));
}

} // namespace
} // namespace evt::models
