// Steps of tiny models on the CPU, against what transformers computed for them (bench/peers/golden.py).
#include "models/serve/StepRunner.h"
#include "models/weights/RandomWeights.h"
#include "models/weights/TemporaryFolder_fixture.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

namespace evt::models {
namespace {

struct Expected {
  std::vector<int32_t> prompt;
  std::vector<int32_t> positions;         // whose logits are there
  std::vector<std::vector<float>> logits; // in f32
  std::vector<double> error;              // of bf16, at each position
};

class Step : public testing::TestWithParam<std::string> {
protected:
  static constexpr int64_t pageSlots = 8;

  void SetUp() override {
    const std::string folder = std::string(EVT_GOLDEN) + "/" + GetParam();
    nlohmann::json file = nlohmann::json::parse(std::ifstream(folder + "/expected.json"));
    model = readModelConfig(folder + "/config.json");
    writeRandomCheckpoint(written.path, model, ElementType::bf16, file["seed"].get<uint64_t>(), {});
    for (const nlohmann::json &r : file["requests"])
      requests.push_back({r["prompt"], r["positions"], r["logits"], r["bf16_error"]});
  }

  /// `compiled`: the option with which the step was compiled.
  std::unique_ptr<StepRunner> runner(const std::string &schedule = "static", const std::string &compiled = "") {
    StepRunner::Options options{.pages = 96, .schedule = schedule, .workers = 3};
    return std::make_unique<StepRunner>(std::string(EVT_STEPS) + "/step-" + GetParam() + compiled + ".evt", model,
                                        openCheckpoint(written.path, model), options);
  }

  /// Pages in random order, none of them twice.
  std::vector<std::vector<int32_t>> deal(size_t times = 1) {
    std::vector<int32_t> all(96);
    for (size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<int32_t>(i);
    std::shuffle(all.begin(), all.end(), random);
    std::vector<std::vector<int32_t>> pages;
    for (size_t i = 0; i < times * requests.size(); ++i) {
      const size_t count = (requests[i % requests.size()].prompt.size() + pageSlots - 1) / pageSlots;
      pages.emplace_back(all.end() - static_cast<std::ptrdiff_t>(count), all.end());
      all.resize(all.size() - count);
    }
    return pages;
  }

  /// The logits at a position: not further from f32 than 1.5 times what bf16 is in transformers, and the same token
  /// wherever the two largest are further apart than that error.
  void compare(const Expected &r, int32_t position, std::span<const float> found) {
    for (size_t i = 0; i < r.positions.size(); ++i) {
      if (r.positions[i] != position)
        continue;
      double worst = 0;
      size_t best = 0, ours = 0;
      for (size_t c = 0; c < found.size(); ++c) {
        worst = std::max(worst, std::abs(static_cast<double>(found[c]) - r.logits[i][c]));
        best = r.logits[i][c] > r.logits[i][best] ? c : best;
        ours = found[c] > found[ours] ? c : ours;
      }
      worstOurs = std::max(worstOurs, worst);
      worstTheirs = std::max(worstTheirs, r.error[static_cast<size_t>(position)]);
      double second = -1e30;
      for (size_t c = 0; c < found.size(); ++c)
        if (c != best)
          second = std::max(second, static_cast<double>(r.logits[i][c]));
      if (r.logits[i][best] - second > 2 * r.error[static_cast<size_t>(position)]) {
        EXPECT_EQ(ours, best) << "position " << position;
      }
      ++compared;
    }
  }

  TemporaryFolder written;
  ModelConfig model;
  std::vector<Expected> requests;
  std::mt19937 random{11};
  double worstOurs = 0, worstTheirs = 0;
  int compared = 0;
};

// One token of one request at a time: the way of few tokens, as decoding goes.
TEST_P(Step, TokenByToken) {
  auto run = runner();
  auto pages = deal();
  for (size_t r = 0; r < requests.size(); ++r)
    for (size_t p = 0; p < requests[r].prompt.size(); ++p) {
      StepBatch batch;
      batch.add(std::span(requests[r].prompt).subspan(p, 1), static_cast<int32_t>(p), pages[r]);
      run->step(batch);
      compare(requests[r], static_cast<int32_t>(p), run->logits(0));
    }
  EXPECT_GT(compared, 20);
  EXPECT_LE(worstOurs, 1.5 * worstTheirs);
}

// All prompts in one step: the way of many tokens.
TEST_P(Step, AllPromptsAtOnce) {
  for (const char *schedule : {"static", "ticket", "dynamic"}) {
    auto run = runner(schedule);
    auto pages = deal();
    StepBatch batch;
    for (size_t r = 0; r < requests.size(); ++r)
      batch.add(requests[r].prompt, 0, pages[r]);
    run->step(batch);
    for (size_t r = 0; r < requests.size(); ++r)
      compare(requests[r], static_cast<int32_t>(requests[r].prompt.size()) - 1, run->logits(r));
  }
  EXPECT_GE(compared, 20);
  EXPECT_LE(worstOurs, 1.5 * worstTheirs);
}

// More than 256 tokens, whose products have larger tiles: every prompt twice, in pages of its own.
TEST_P(Step, MorePromptsAtOnce) {
  auto run = runner();
  auto pages = deal(2);
  StepBatch batch;
  for (size_t i = 0; i < 2 * requests.size(); ++i)
    batch.add(requests[i % requests.size()].prompt, 0, pages[i]);
  ASSERT_GT(batch.tokens.size(), 256U);
  run->step(batch);
  for (size_t i = 0; i < 2 * requests.size(); ++i) {
    const Expected &r = requests[i % requests.size()];
    compare(r, static_cast<int32_t>(r.prompt.size()) - 1, run->logits(i));
  }
  EXPECT_GE(compared, 20);
  EXPECT_LE(worstOurs, 1.5 * worstTheirs);
}

// Chunks of prompts, long runs and short ones, beside new tokens of other requests, in steps of many tokens.
TEST_P(Step, ChunksBesideNewTokens) {
  auto run = runner("ticket");
  auto pages = deal();
  std::vector<size_t> done(requests.size());
  for (size_t round = 0; round < 12; ++round) {
    StepBatch batch;
    std::vector<size_t> in;
    for (size_t r = 0; r < requests.size(); ++r) {
      const size_t left = requests[r].prompt.size() - done[r], sizes[] = {1, 16, 15, 1, 24, 2, 19};
      const size_t take = std::min(left, sizes[(round + r) % 7]);
      if (!take)
        continue;
      batch.add(std::span(requests[r].prompt).subspan(done[r], take), static_cast<int32_t>(done[r]), pages[r]);
      done[r] += take;
      in.push_back(r);
    }
    if (batch.tokens.size() <= 8)
      continue;
    run->step(batch);
    for (size_t i = 0; i < in.size(); ++i)
      compare(requests[in[i]], static_cast<int32_t>(done[in[i]]) - 1, run->logits(i));
  }
  EXPECT_GT(compared, 12);
  EXPECT_LE(worstOurs, 1.5 * worstTheirs);
}

// Requests that join and leave, chunks of prompts beside single tokens; every request's logits are those it gets alone,
// bit for bit, as long as steps are of one way.
TEST_P(Step, MixedBatchesAreTheRequestsAlone) {
  auto alone = runner(), mixed = runner();
  auto pages = deal();
  std::vector<size_t> done(requests.size());
  for (int round = 0; round < 40; ++round) {
    StepBatch batch;
    std::vector<size_t> in;
    for (size_t r = 0; r < requests.size() && batch.tokens.size() < 8; ++r) {
      const size_t left = requests[r].prompt.size() - done[r];
      if (!left || random() % 3 == 0)
        continue;
      const size_t take = std::min<size_t>({left, 1 + random() % 4, 8 - batch.tokens.size()});
      batch.add(std::span(requests[r].prompt).subspan(done[r], take), static_cast<int32_t>(done[r]), pages[r]);
      in.push_back(r);
      done[r] += take;
    }
    if (in.empty())
      continue;
    mixed->step(batch);
    for (size_t i = 0; i < in.size(); ++i) {
      const size_t r = in[i];
      StepBatch one;
      const size_t last = static_cast<size_t>(batch.last[i]), from = static_cast<size_t>(i ? batch.last[i - 1] + 1 : 0);
      one.add(std::span(batch.tokens).subspan(from, last - from + 1), batch.positions[from], pages[r]);
      alone->step(one);
      ASSERT_EQ(std::memcmp(alone->logits(0).data(), mixed->logits(i).data(), mixed->logits(i).size_bytes()), 0)
          << "request " << r << " with " << done[r] << " tokens, round " << round;
      EXPECT_EQ(alone->next()[0], mixed->next()[i]);
      compare(requests[r], static_cast<int32_t>(done[r]) - 1, mixed->logits(i));
    }
  }
  EXPECT_GT(compared, 5);
}

// Compiled for it, batches on both sides of the borders of 8 and 16 tokens.
TEST_P(Step, OneWayGivesTheSameBitsInAnyBatch) {
  for (const char *schedule : {"static", "dynamic"}) {
    auto run = runner(schedule, "--same-bits");
    for (size_t r : {3, 8}) {
      const std::vector<int32_t> &prompt = requests[r].prompt;
      std::vector<int32_t> free(96);
      std::iota(free.begin(), free.end(), 0);
      std::shuffle(free.begin(), free.end(), random);
      const auto own = free.begin() + static_cast<std::ptrdiff_t>((prompt.size() + pageSlots - 1) / pageSlots);
      const std::vector<int32_t> pages(free.begin(), own);
      free.erase(free.begin(), own);
      for (size_t p = 0; p < prompt.size(); ++p) {
        const auto token = std::span(prompt).subspan(p, 1);
        const auto position = static_cast<int32_t>(p);
        StepBatch one;
        one.add(token, position, pages);
        run->step(one);
        compare(requests[r], position, run->logits(0));
        const std::vector<float> alone(run->logits(0).begin(), run->logits(0).end());
        for (size_t size : {2, 8, 9, 16, 17, 40}) {
          StepBatch batch;
          const size_t at = random() % size;
          for (size_t i = 0; i < size; ++i) {
            const std::vector<int32_t> other = {static_cast<int32_t>(random() % static_cast<size_t>(model.vocabulary))};
            if (i == at)
              batch.add(token, position, pages);
            else
              batch.add(other, 0, {free[i]});
          }
          run->step(batch);
          ASSERT_EQ(std::memcmp(alone.data(), run->logits(at).data(), run->logits(at).size_bytes()), 0)
              << schedule << ", position " << p << " of " << prompt.size() << ", " << size << " at once";
        }
      }
    }
  }
  EXPECT_GT(compared, 10);
  EXPECT_LE(worstOurs, 1.5 * worstTheirs);
}

TEST_P(Step, TheNextTokenIsTheLargestLogit) {
  auto run = runner();
  StepBatch batch;
  batch.add(requests[1].prompt, 0, deal()[1]);
  run->step(batch);
  std::span<const float> logits = run->logits(0);
  EXPECT_EQ(run->next()[0], std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// A token that the host has not seen goes into the next step where it is: in place, or from another row.
TEST_P(Step, ChosenTokensAreTheNextOnes) {
  auto known = runner(), unseen = runner();
  auto pages = deal();
  auto prompts = [&](StepRunner &run) {
    StepBatch batch;
    for (size_t r : {0, 1, 2})
      batch.add(std::span(requests[r].prompt).first(1), 0, pages[r]);
    run.step(batch);
    return std::vector<int32_t>(run.next().begin(), run.next().end());
  };
  const std::vector<int32_t> chosen = prompts(*known);
  EXPECT_EQ(prompts(*unseen), chosen);
  for (const std::vector<size_t> &order : {std::vector<size_t>{0, 1, 2}, {2, 0}}) {
    StepBatch told, untold;
    const std::vector<int32_t> before(known->next().begin(), known->next().end());
    for (size_t r : order) {
      const auto position = static_cast<int32_t>(order.size() == 3 ? 1 : 2);
      const std::vector<int32_t> token = {before[r]}, row = {StepBatch::chosen(static_cast<int32_t>(r))};
      told.add(token, position, pages[r]);
      untold.add(row, position, pages[r]);
    }
    const std::vector<int32_t> fresh = {3}; // whose token the host knows
    told.add(fresh, 0, pages[3]);
    untold.add(fresh, 0, pages[3]);
    known->step(told);
    unseen->step(untold);
    for (size_t i = 0; i < told.pages.size(); ++i)
      EXPECT_EQ(std::memcmp(known->logits(i).data(), unseen->logits(i).data(), known->logits(i).size_bytes()), 0);
  }
}

TEST_P(Step, WhatIsNotAStepIsRefused) {
  auto run = runner();
  auto message = [&](const StepBatch &batch) -> std::string {
    try {
      run->step(batch);
    } catch (const std::invalid_argument &error) {
      return error.what();
    }
    return "nothing";
  };
  StepBatch unknown, nowhere, none;
  std::vector<int32_t> large = {static_cast<int32_t>(model.vocabulary)}, one = {1};
  unknown.add(large, 0, {0});
  EXPECT_NE(message(unknown).find("token 0 is number"), std::string::npos);
  nowhere.add(one, pageSlots, {0});
  EXPECT_NE(message(nowhere).find("has no page"), std::string::npos);
  EXPECT_NE(message(none).find("nothing in them"), std::string::npos);
  StepBatch first;
  std::vector<int32_t> nobodys = {StepBatch::chosen(0)};
  first.add(nobodys, 0, {0});
  EXPECT_NE(message(first).find("token 0 is number -1"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Families, Step, testing::Values("llama", "qwen3"),
                         [](const testing::TestParamInfo<std::string> &info) { return info.param; });

TEST(Schedules, PromptsOnAGpuTakeTickets) {
  EXPECT_EQ(StepRunner::usualSchedule(true, true, 257), "ticket");
  EXPECT_EQ(StepRunner::usualSchedule(true, true, 256), "");
  EXPECT_EQ(StepRunner::usualSchedule(true, false, 2048), ""); // compiled with --only-schedule
  EXPECT_EQ(StepRunner::usualSchedule(false, true, 2048), "");
}

} // namespace
} // namespace evt::models
