// Continuations of tiny models on the CPU, against what transformers generated (bench/peers/golden.py).
#include "models/serve/Generator.h"
#include "models/weights/RandomWeights.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <random>

namespace evt::models {
namespace {

struct Expected {
  std::vector<int32_t> prompt, answer;
  size_t certain = 0; // tokens of the answer that rounding cannot change
};

class Generation : public testing::TestWithParam<std::string> {
protected:
  void SetUp() override {
    const std::string folder = std::string(EVT_GOLDEN) + "/" + GetParam();
    nlohmann::json file = nlohmann::json::parse(std::ifstream(folder + "/expected.json"));
    model = readModelConfig(folder + "/config.json");
    writeRandomCheckpoint(written.path, model, ElementType::bf16, file["seed"].get<uint64_t>(), {});
    for (const nlohmann::json &r : file["requests"]) {
      Expected e{r["prompt"], r["greedy"]["tokens"]};
      std::vector<double> errors = r["bf16_error"];
      const double error = *std::max_element(errors.begin(), errors.end());
      for (double margin : r["greedy"]["margins"].get<std::vector<double>>()) {
        if (margin <= 2 * error)
          break;
        ++e.certain;
      }
      requests.push_back(std::move(e));
    }
  }

  /// `compiled`: the option with which the step was compiled.
  StepRunner runner(int64_t pages, int64_t ahead = 0, const std::string &compiled = "") {
    return StepRunner(std::string(EVT_STEPS) + "/step-" + GetParam() + compiled + ".evt", model,
                      openCheckpoint(written.path, model),
                      {.pages = pages, .schedule = "static", .workers = 2, .ahead = ahead});
  }

  GenerateRequest request(size_t i) const {
    return {std::to_string(i), requests[i].prompt, static_cast<int64_t>(requests[i].answer.size()), false};
  }

  std::map<std::string, GenerateAnswer> run(Generator &generator) {
    std::map<std::string, GenerateAnswer> answers;
    for (int i = 0; !generator.isIdle() && i < 1000; ++i)
      for (GenerateAnswer &answer : generator.step())
        answers[answer.id] = std::move(answer);
    return answers;
  }

  TemporaryFolder written;
  ModelConfig model;
  std::vector<Expected> requests;
};

// In whatever batch and in whatever chunks a request goes, its answer is the one of transformers as far as that is
// certain.
TEST_P(Generation, ContinuesAsTransformersDoes) {
  size_t certain = 0;
  for (const Expected &e : requests)
    certain += e.certain;
  ASSERT_GT(certain, 8u);
  for (auto [pages, tokens] : {std::pair<int, int>{96, 0}, {96, 8}, {96, 20}, {8, 3}}) {
    StepRunner steps = runner(pages);
    Generator generator(steps, tokens);
    for (size_t i = 0; i < requests.size(); ++i)
      generator.add(request(i));
    auto answers = run(generator);
    ASSERT_EQ(answers.size(), requests.size()) << pages << " pages, " << tokens << " tokens a step";
    for (size_t i = 0; i < requests.size(); ++i) {
      const std::vector<int32_t> &found = answers[std::to_string(i)].tokens;
      ASSERT_EQ(found.size(), requests[i].answer.size());
      for (size_t t = 0; t < requests[i].certain; ++t)
        EXPECT_EQ(found[t], requests[i].answer[t]) << "request " << i << ", token " << t << ", " << tokens << " a step";
    }
  }
}

// Up to 8 tokens a step, an answer does not depend on who else is there.
TEST_P(Generation, TheSameAloneAndTogether) {
  StepRunner steps = runner(96);
  Generator together(steps, 8);
  for (size_t i = 0; i < requests.size(); ++i)
    together.add(request(i));
  auto answers = run(together);
  for (size_t i = 0; i < requests.size(); ++i) {
    Generator alone(steps, 8);
    alone.add(request(i));
    EXPECT_EQ(run(alone)[std::to_string(i)].tokens, answers[std::to_string(i)].tokens) << i;
  }
}

// Nor in larger steps, where the step was compiled for it and prompts are cut where nobody else has a say: to the last
// bit of its tokens' log-probabilities.
TEST_P(Generation, TheSameBitsAloneAndTogether) {
  StepRunner steps = runner(96, 0, "--same-bits");
  auto asked = [&](size_t i) {
    GenerateRequest r = request(i);
    r.sampling.logprobs = true;
    return r;
  };
  for (int64_t chunk : {5, 24}) {
    Generator together(steps, 50, chunk);
    for (size_t i = 0; i < requests.size(); ++i)
      together.add(asked(i));
    auto answers = run(together);
    ASSERT_EQ(answers.size(), requests.size());
    int64_t alone = 0;
    for (size_t i = 0; i < requests.size(); ++i) {
      Generator one(steps, 50, chunk);
      one.add(asked(i));
      const GenerateAnswer answer = run(one)[std::to_string(i)];
      EXPECT_EQ(answer.tokens, answers[std::to_string(i)].tokens) << i;
      EXPECT_EQ(answer.logprobs, answers[std::to_string(i)].logprobs) << i;
      alone += one.steps();
    }
    EXPECT_LT(together.steps() * 3, alone);
  }
  EXPECT_THROW(Generator(steps, 50, 51), std::invalid_argument);
}

// A chunk that a step has no room for waits, and those behind it with it; what decodes goes on.
TEST_P(Generation, ChunksAreWhole) {
  StepRunner steps = runner(96);
  for (auto [tokens, chunk, expected] : {std::tuple<int, int, int>{16, 16, 4}, {16, 12, 4}, {16, 3, 6}, {16, 0, 3}}) {
    Generator generator(steps, tokens, chunk);
    // A token of an answer each, so the steps are those of the prompts.
    for (const auto &[id, length] : {std::pair{"a", 1}, {"b", 16}, {"c", 8}, {"d", 15}})
      generator.add({id, std::vector<int32_t>(static_cast<size_t>(length), 3), 1});
    EXPECT_EQ(run(generator).size(), 4U);
    EXPECT_EQ(generator.steps(), expected) << tokens << " tokens, chunks of " << chunk;
    EXPECT_EQ(generator.tokens(), 40);
  }
}

// One token of a prompt is a chunk as well: those that came later do not pass a longer one.
TEST_P(Generation, ChunksAreInOrder) {
  StepRunner steps = runner(96);
  Generator generator(steps, 16, 16);
  generator.add({"long", std::vector<int32_t>(16, 3), 1});
  for (int i = 0; i < 30; ++i)
    generator.add({std::to_string(i), {3}, 1});
  std::vector<std::string> order;
  while (!generator.isIdle())
    for (const GenerateAnswer &answer : generator.step())
      order.push_back(answer.id);
  ASSERT_EQ(order.size(), 31U);
  EXPECT_EQ(order.front(), "long");
}

TEST_P(Generation, EndsAtEos) {
  StepRunner steps = runner(96);
  GenerateRequest asked = request(2);
  Generator first(steps);
  first.add(asked);
  const std::vector<int32_t> all = run(first)["2"].tokens;
  ModelConfig ending = model;
  ending.eos = {all[1]};
  StepRunner ends(std::string(EVT_STEPS) + "/step-" + GetParam() + ".evt", ending, openCheckpoint(written.path, model),
                  {.pages = 96, .schedule = "dynamic", .workers = 2});
  Generator generator(ends);
  asked.endsAtEos = true;
  generator.add(asked);
  const GenerateAnswer answer = run(generator)["2"];
  EXPECT_TRUE(answer.endedAtEos);
  const auto end = std::find(all.begin(), all.end(), all[1]) + 1;
  EXPECT_EQ(answer.tokens, std::vector<int32_t>(all.begin(), end));
}

// However many steps are in flight, answers are those of one after the other: also those that end early, whose pages
// others get while what was computed beyond their end is still on its way.
TEST_P(Generation, TheSameHoweverFarAhead) {
  std::mt19937 random(3);
  for (int i = 0; i < 60; ++i)
    model.eos.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(model.vocabulary)));
  std::vector<GenerateRequest> asked;
  for (int i = 0; i < 30; ++i) {
    GenerateRequest request{std::to_string(i), {}, static_cast<int64_t>(1 + random() % 12), i % 4 != 0};
    for (size_t t = 0; t < 1 + random() % 12; ++t)
      request.prompt.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(model.vocabulary)));
    asked.push_back(std::move(request));
  }
  std::map<std::string, GenerateAnswer> first;
  for (int64_t ahead : {1, 2, 5}) {
    StepRunner steps = runner(12, ahead);
    Generator generator(steps, 8);
    for (const GenerateRequest &request : asked)
      generator.add(request);
    auto answers = run(generator);
    ASSERT_EQ(answers.size(), asked.size());
    EXPECT_EQ(generator.dropped() > 0, ahead > 1);
    int64_t generated = 0, ended = 0;
    for (const auto &[id, answer] : answers) {
      generated += static_cast<int64_t>(answer.tokens.size());
      ended += answer.endedAtEos;
      if (ahead > 1) {
        EXPECT_EQ(answer.tokens, first[id].tokens) << id << ", " << ahead << " ahead";
      }
    }
    EXPECT_EQ(generator.generated(), generated);
    EXPECT_GT(ended, 3);
    if (ahead == 1)
      first = std::move(answers);
  }
}

TEST_P(Generation, WhatCanNeverRunIsRefused) {
  StepRunner steps = runner(4);
  Generator generator(steps);
  auto message = [&](GenerateRequest request) -> std::string {
    try {
      generator.add(std::move(request));
    } catch (const std::invalid_argument &error) {
      return error.what();
    }
    return "nothing";
  };
  EXPECT_EQ(message({"a", {}, 1}), "request 'a' has no tokens, required at least one");
  EXPECT_EQ(message({"b", {1}, 0}), "request 'b' asks for 0 tokens, required at least one");
  EXPECT_NE(message({"c", {1, -1}, 1}).find("has token -1"), std::string::npos);
  EXPECT_EQ(message({"d", {1, 2}, 32}), "request 'd' needs 33 positions, there are 32");
  EXPECT_EQ(message({"e", {1, 2}, 31}), "nothing");
}

INSTANTIATE_TEST_SUITE_P(Families, Generation, testing::Values("llama", "qwen3"),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

} // namespace
} // namespace evt::models
