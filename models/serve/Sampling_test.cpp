// How requests choose their tokens in whole steps of tiny models, against the definitions, computed here from the
// steps' own logits. The operations themselves are tested by device/cpu/tile/sample_test.cpp and examples/sampling.
#include "models/serve/Generator.h"
#include "models/serve/Sampling.h"
#include "models/weights/RandomWeights.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

namespace evt::models {
namespace {

class StepSampling : public testing::Test {
protected:
  void SetUp() override {
    const std::string folder = std::string(EVT_GOLDEN) + "/llama";
    model = readModelConfig(folder + "/config.json");
    writeRandomCheckpoint(written.path, model, ElementType::bf16, 1, {});
  }
  StepRunner runner(const std::string &schedule = "static") {
    return StepRunner(std::string(EVT_STEPS) + "/step-llama.evt", model, openCheckpoint(written.path, model),
                      {.pages = 32, .schedule = schedule, .workers = 2});
  }
  std::vector<int32_t> prompt(int length) const {
    std::vector<int32_t> tokens;
    for (int i = 0; i < length; ++i)
      tokens.push_back(static_cast<int32_t>(i * i * 37 % 11)); // few different ones
    return tokens;
  }
  static std::map<std::string, GenerateAnswer> run(Generator &generator) {
    std::map<std::string, GenerateAnswer> answers;
    for (int i = 0; !generator.isIdle() && i < 1000; ++i)
      for (GenerateAnswer &answer : generator.step())
        answers[answer.id] = std::move(answer);
    return answers;
  }

  TemporaryFolder written;
  ModelConfig model;
};

double logprobOf(std::span<const float> logits, int32_t token) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (float x : logits)
    sum += std::exp(x - largest);
  return logits[static_cast<size_t>(token)] - largest - std::log(sum);
}

// The prompt is taken by either way through the step, in chunks or as a whole: its tokens are remembered all the same.
TEST_F(StepSampling, PenaltiesAndLogprobs) {
  const std::vector<int32_t> given = prompt(30);
  const Sampling how{.repetitionPenalty = 1.7, .presencePenalty = 0.75, .frequencyPenalty = 0.5, .logprobs = true};
  int changed = 0;
  for (size_t piece : {30u, 7u}) {
    StepRunner steps = runner(piece == 30 ? "dynamic" : "ticket");
    std::vector<int32_t> all = given;
    const std::vector<int32_t> pages = {9, 3, 30, 11, 5, 0};
    for (size_t done = 0; all.size() < 44;) {
      const size_t take = std::min(piece, all.size() - done);
      StepBatch batch;
      const std::vector<int32_t> other = {4, 4, 4};
      batch.add(other, 0, {7}); // somebody else comes first
      batch.add(std::span(all).subspan(done, take), static_cast<int32_t>(done), pages, how,
                static_cast<int64_t>(given.size()));
      steps.step(batch);
      done += take;
      if (done < all.size())
        continue;
      std::vector<float> x(steps.logits(1).begin(), steps.logits(1).end());
      std::vector<int> output(x.size());
      std::set<int32_t> seen(all.begin(), all.end());
      for (size_t i = given.size(); i < all.size(); ++i)
        ++output[static_cast<size_t>(all[i])];
      for (int32_t token : seen) {
        float &logit = x[static_cast<size_t>(token)];
        logit = logit > 0 ? logit / 1.7f : logit * 1.7f;
        if (const int count = output[static_cast<size_t>(token)])
          logit = logit - 0.5f * static_cast<float>(count) - 0.75f;
      }
      const int32_t token = steps.next()[1];
      EXPECT_EQ(token, std::max_element(x.begin(), x.end()) - x.begin()) << "after " << all.size();
      EXPECT_NEAR(steps.logprobs()[1], logprobOf(steps.logits(1), token), 2e-6);
      EXPECT_EQ(steps.logprobs()[0], 0);
      const std::span<const float> raw = steps.logits(1);
      changed += token != std::max_element(raw.begin(), raw.end()) - raw.begin();
      all.push_back(token);
    }
  }
  EXPECT_GT(changed, 4); // penalties mattered
}

TEST_F(StepSampling, TheSameSeedTheSameTokens) {
  std::vector<GenerateRequest> requests;
  const Sampling ways[] = {{},
                           {.temperature = 1.5, .seed = 5, .logprobs = true},
                           {.temperature = 1.5, .topP = 0.9, .seed = 5},
                           {.temperature = 2, .topK = 20, .minP = 0.01, .seed = 6, .logprobs = true},
                           {.temperature = 1.5, .repetitionPenalty = 1.2, .seed = uint64_t{5} << 40}};
  for (const Sampling &how : ways)
    requests.push_back({std::to_string(requests.size()), prompt(5 + static_cast<int>(requests.size())), 6, false, how});
  StepRunner steps = runner();
  Generator together(steps, 8);
  for (const GenerateRequest &request : requests)
    together.add(request);
  auto answers = run(together);
  for (size_t i = 0; i < requests.size(); ++i) {
    StepRunner other = runner("dynamic");
    Generator alone(other, 8);
    alone.add(requests[i]);
    const GenerateAnswer found = run(alone)[requests[i].id];
    EXPECT_EQ(found.tokens, answers[requests[i].id].tokens) << i;
    EXPECT_EQ(found.logprobs, answers[requests[i].id].logprobs) << i;
    EXPECT_EQ(found.logprobs.size(), ways[i].logprobs ? found.tokens.size() : 0);
  }
  // Another seed, other tokens.
  GenerateRequest reseeded = requests[1];
  reseeded.sampling.seed = 7;
  Generator again(steps, 8);
  again.add(reseeded);
  EXPECT_NE(run(again)["1"].tokens, answers["1"].tokens);
}

TEST_F(StepSampling, FiltersKeepTheMostLikely) {
  StepRunner steps = runner();
  const std::vector<int32_t> given = prompt(3);
  std::set<int32_t> seen;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    StepBatch batch;
    batch.add(given, 0, {1}, {.temperature = 3, .topK = 3, .seed = seed}, 3);
    steps.step(batch);
    seen.insert(steps.next()[0]);
  }
  std::span<const float> logits = steps.logits(0);
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + 3, order.end(), [&](int32_t a, int32_t b) {
    return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
  });
  EXPECT_EQ(seen, std::set<int32_t>(order.begin(), order.begin() + 3));
}

// What sampling reads and writes is proved to be in order, too: only the slots of keys and values are left to data.
TEST(StepProof, LeavesNothingButTheCacheToData) {
  for (const char *family : {"llama", "qwen3"}) {
    std::ifstream file(std::string(EVT_STEPS) + "/step-" + family + ".evt/manifest.json");
    const nlohmann::json manifest = nlohmann::json::parse(file);
    for (const std::string &obligation : manifest["obligations"].get<std::vector<std::string>>())
      EXPECT_EQ(obligation.find("order:wide_append_"), 0u) << obligation;
    EXPECT_FALSE(manifest["obligations"].empty());
  }
}

TEST(SamplingFields, AreReadAndChecked) {
  Sampling s;
  auto read = [&](const std::string &text) -> std::string {
    const nlohmann::json json = nlohmann::json::parse(text);
    try {
      return readSamplingField(s, json.begin().key(), json.begin().value()) ? "taken" : "unknown";
    } catch (const std::invalid_argument &error) {
      return error.what();
    }
  };
  for (const char *good :
       {R"({"temperature": 0.7})", R"({"temperature": 0})", R"({"temperature": 1})", R"({"top_k": 40})",
        R"({"top_p": 0})", R"({"min_p": 0.25})", R"({"seed": 18446744073709551615})", R"({"repetition_penalty": 1.1})",
        R"({"presence_penalty": -1})", R"({"frequency_penalty": 0.5})", R"({"logprobs": true})"})
    EXPECT_EQ(read(good), "taken") << good;
  EXPECT_TRUE(s.temperature == 1 && s.topK == 40 && s.topP == 0 && s.minP == 0.25 && s.seed == UINT64_MAX &&
              s.repetitionPenalty == 1.1 && s.presencePenalty == -1 && s.frequencyPenalty == 0.5 && s.logprobs);
  EXPECT_EQ(read(R"({"beams": 2})"), "unknown");
  EXPECT_EQ(read(R"({"temperature": -1})"), "'temperature' is -1, required 0, or 0.001 to 1000");
  EXPECT_EQ(read(R"({"temperature": "hot"})"), "'temperature' is \"hot\", required 0, or 0.001 to 1000");
  EXPECT_EQ(read(R"({"top_p": 1.5})"), "'top_p' is 1.5, required 0 to 1");
  EXPECT_EQ(read(R"({"min_p": null})"), "'min_p' is null, required 0 to 1");
  EXPECT_EQ(read(R"({"top_k": 2.5})"), "'top_k' is 2.5, required a whole number; 0 is all tokens");
  EXPECT_EQ(read(R"({"seed": -1})"), "'seed' is -1, required a whole number of 0 to 18446744073709551615");
  EXPECT_EQ(read(R"({"repetition_penalty": 0})"), "'repetition_penalty' is 0, required 0.001 to 1000");
  EXPECT_EQ(read(R"({"presence_penalty": 1e9})"), "'presence_penalty' is 1000000000.0, required -100 to 100");
  EXPECT_EQ(read(R"({"frequency_penalty": [1]})"), "'frequency_penalty' is [1], required -100 to 100");
  EXPECT_EQ(read(R"({"logprobs": 5})"), "'logprobs' is 5, required true or false");
}

} // namespace
} // namespace evt::models
