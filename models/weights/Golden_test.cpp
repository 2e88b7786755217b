// What transformers computed for the tiny models of test/models/golden (bench/peers/golden.py says what the files hold)
// is for the weights that this project writes and the configurations that it reads: both must stay what they were.
#include "models/config/Rope.h"
#include "models/weights/Checkpoint.h"
#include "models/weights/RandomWeights.h"
#include "models/weights/StepWeights.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace evt::models {
namespace {

class Golden : public testing::TestWithParam<std::string> {
protected:
  Golden()
      : model(readModelConfig(folder + "/config.json")),
        expected(nlohmann::json::parse(std::ifstream(folder + "/expected.json"))) {}

  std::string folder = std::string(EVT_GOLDEN) + "/" + GetParam();
  ModelConfig model;
  nlohmann::json expected;
};

std::string fnv1a64(const std::string &bytes) {
  uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char byte : bytes)
    hash = (hash ^ byte) * 0x100000001b3;
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

TEST_P(Golden, Frequencies) {
  std::vector<double> found = ropeFrequencies(model);
  const nlohmann::json &frequencies = expected["inv_freq"];
  ASSERT_EQ(found.size(), frequencies.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i] / frequencies[i].get<double>(), 1, 1e-6) << i; // single precision, a few roundings
}

TEST_P(Golden, WeightsAreTheSame) {
  TemporaryFolder written;
  writeRandomCheckpoint(written.path, model, ElementType::bf16, expected["seed"].get<uint64_t>(), {});
  for (const auto &[file, checksum] : expected["files"].items())
    EXPECT_EQ(fnv1a64(written.read(file)), checksum) << file;

  // The first state is the embedding of the last token.
  Checkpoint checkpoint = openCheckpoint(written.path, model);
  StepArgument embedding = stepArguments(model)[0];
  std::vector<float> values(embedding.elements());
  assemble(checkpoint, embedding, ElementType::f32, std::as_writable_bytes(std::span(values)));
  for (const nlohmann::json &request : expected["requests"]) {
    int64_t token = request["prompt"].back();
    for (int64_t i = 0; i < model.hidden; ++i) {
      double value = request["hidden"][0][i];
      EXPECT_NEAR(values[token * model.hidden + i], value, 1e-5 * std::abs(value));
    }
  }
}

TEST_P(Golden, IsComplete) {
  ASSERT_GE(expected["requests"].size(), 8u);
  for (const nlohmann::json &request : expected["requests"]) {
    EXPECT_EQ(request["bf16_error"].size(), request["prompt"].size());
    EXPECT_EQ(request["hidden"].size(), static_cast<size_t>(model.layers + 1));
    EXPECT_EQ(request["positions"].size(), request["logits"].size());
    EXPECT_EQ(request["positions"].back(), request["prompt"].size() - 1);
    for (const nlohmann::json &logits : request["logits"])
      EXPECT_EQ(logits.size(), static_cast<size_t>(model.vocabulary));
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Golden, testing::Values("llama", "qwen3"),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

} // namespace
} // namespace evt::models
