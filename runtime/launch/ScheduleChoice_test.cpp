#include "runtime/launch/ScheduleChoice.h"

#include <gmock/gmock.h>

namespace evt::runtime {
namespace {

constexpr std::array<ScheduleSupport, 3> all{{{true, ""}, {true, ""}, {true, ""}}};

// A worker that does a byte in a second, so that times can be read off.
constexpr WorkerRates plain{1, 1e30, 0.1, 0.2, 2, 0, 3};

CallWork call(int64_t tasks, int64_t phases, int64_t waits, double bytes, bool ragged = false) {
  return {tasks, phases, waits, bytes, 0, ragged};
}

TEST(ScheduleChoice, OverheadsAreThoseOfTheModel) {
  // 80 tasks in 4 phases, on 4 workers: 4000 bytes take 1000 s, of which a tenth is skew; 4 phases of tickets; 80
  // tasks.
  std::vector<CallWork> one{call(80, 4, 1, 4000)};
  EXPECT_THAT(overheadsOf(one, 4, plain), testing::ElementsAre(100, 8, 240));
  // Nobody waits: nothing to be skewed against, and one phase costs no ticket.
  EXPECT_THAT(overheadsOf(std::vector{call(80, 1, 0, 4000)}, 4, plain), testing::ElementsAre(0, 0, 240));
  // A task for each worker: nothing can be divided otherwise.
  EXPECT_THAT(overheadsOf(std::vector{call(16, 4, 1, 4000)}, 4, plain), testing::ElementsAre(0, 8, 48));
  // Fewer tasks than workers: 2 work at a time, which only matters to a ragged call, half of whose time is lost.
  EXPECT_THAT(overheadsOf(std::vector{call(2, 1, 1, 4000, true)}, 4, plain), testing::ElementsAre(1000, 2, 6));
  EXPECT_THAT(overheadsOf(std::vector{call(0, 4, 1, 4000)}, 4, plain), testing::ElementsAre(0, 0, 0));
}

TEST(ScheduleChoice, OperationsCountWhereTheyTakeLonger) {
  WorkerRates rates = plain;
  rates.opsPerSecond = 1;
  CallWork work = call(80, 4, 1, 4000);
  work.ops = 8000; // 2000 s, of which a fifth is skew
  EXPECT_THAT(overheadsOf(std::vector{work}, 4, rates), testing::ElementsAre(400, 8, 240));
  // Nobody waits but who launched, for the slowest worker.
  work.phases = 1;
  work.waits = 0;
  EXPECT_THAT(overheadsOf(std::vector{work}, 4, rates), testing::ElementsAre(400, 0, 240));
}

TEST(ScheduleChoice, DynamicPhasesCostTheirOwn) {
  WorkerRates rates = plain;
  rates.dynamicPhase = 1000;
  EXPECT_THAT(overheadsOf(std::vector{call(80, 4, 1, 4000)}, 4, rates), testing::ElementsAre(100, 8, 4240));
}

TEST(ScheduleChoice, TheLeastWinsAndStaticIfNothingDiffers) {
  auto chosen = [](std::vector<CallWork> calls, unsigned workers) {
    return chooseSchedule(calls, workers, plain, all).schedule;
  };
  EXPECT_EQ(chosen({call(80, 4, 1, 4000)}, 4), EVT_TICKET);
  EXPECT_EQ(chosen({call(80, 4, 1, 40)}, 4), EVT_STATIC);
  EXPECT_EQ(chosen({call(80, 1, 0, 4000)}, 4), EVT_STATIC);
  EXPECT_EQ(chosen({}, 4), EVT_STATIC);
  // Handing out six tasks is cheaper than the tickets of ten phases, and a ragged call keeps half its workers idle.
  EXPECT_EQ(chosen({call(3, 1, 1, 4000, true), call(0, 1, 0, 0), call(3, 9, 1, 4000)}, 2), EVT_DYNAMIC);
  // One worker shares with nobody.
  EXPECT_EQ(chosen({call(80, 4, 1, 4000)}, 1), EVT_STATIC);
}

TEST(ScheduleChoice, OnlySupportedOnes) {
  std::array<ScheduleSupport, 3> support = all;
  support[EVT_TICKET] = {false, "no"};
  std::vector<CallWork> calls{call(80, 4, 1, 4000)};
  ScheduleChoice choice = chooseSchedule(calls, 4, plain, support);
  EXPECT_EQ(choice.schedule, EVT_STATIC);
  EXPECT_THAT(choice.why, testing::EndsWith("; ticket is not supported"));
  support[EVT_STATIC] = {false, "no"};
  EXPECT_EQ(chooseSchedule(calls, 1, plain, support).schedule, EVT_DYNAMIC);
}

TEST(ScheduleChoice, SaysWhy) {
  std::vector<CallWork> calls{call(80, 4, 1, 4000)};
  EXPECT_EQ(
      chooseSchedule(calls, 4, {1e6, 1e30, 0.1, 0.1, 2e-6, 0, 3e-6}, all).why,
      "ticket: waiting for the slowest worker would add 100.0 µs (static), taking tickets 8.0 µs, handing out ready "
      "tasks 240.0 µs (dynamic)");
  EXPECT_EQ(chooseSchedule(calls, 1, plain, all).why, "static: one worker has nobody to share with");
}

// The decode chains that the numbers were taken from: 132 SMs, one token, weights of bf16.
std::vector<CallWork> chain(int64_t layers, double hidden, double qkv, double feed, double vocabulary, int64_t pieces) {
  auto rows = [](double n) { return static_cast<int64_t>(n / 8); };
  double l = static_cast<double>(layers);
  return {call(rows(hidden) / 32, 1, 0, 0),
          call(layers * rows(qkv), layers, 2, l * 2 * qkv * hidden),
          call(layers * rows(hidden), layers, 1, l * 2 * hidden * hidden),
          call(layers * rows(feed), layers, 1, l * 4 * feed * hidden),
          call(layers * rows(hidden) * pieces, layers, 1, l * 2 * feed * hidden),
          call(layers * rows(hidden), layers, 1, 0),
          call(rows(vocabulary), 1, 2, 2 * vocabulary * hidden)};
}

// docs/perf/dependencies.md has the times: beyond static's, with 1 token tickets took 25 µs of Llama's 0.67 ms and 56
// µs of Qwen's 3.6 ms, dynamic 0.42 and 0.98 ms.
TEST(ScheduleChoice, ChainsTakeTheScheduleThatWasFaster) {
  std::vector<CallWork> qwen = chain(36, 4096, 6144, 12288, 151936, 3);
  std::vector<CallWork> llama = chain(16, 2048, 3072, 8192, 128256, 2);
  EXPECT_EQ(chooseSchedule(qwen, 132, gpuRates, all).schedule, EVT_STATIC);
  EXPECT_EQ(chooseSchedule(llama, 132, gpuRates, all).schedule, EVT_STATIC);
  auto lost = [](const std::vector<CallWork> &calls, evt_schedule schedule) {
    std::array<double, 3> added = overheadsOf(calls, 132, gpuRates);
    return (added[schedule] - added[EVT_STATIC]) * 1e6;
  };
  EXPECT_NEAR(lost(llama, EVT_TICKET), 25, 6);
  EXPECT_NEAR(lost(qwen, EVT_TICKET), 56, 6);
  EXPECT_NEAR(lost(llama, EVT_DYNAMIC), 424, 40);
  EXPECT_NEAR(lost(qwen, EVT_DYNAMIC), 982, 40);
}

// One product of 8192³ in 2048 tiles: tickets gained 48 µs of 1.6 ms. Its phases wait for nobody.
TEST(ScheduleChoice, LongArithmeticIsWorthTickets) {
  CallWork product{2048, 1, 0, 3.0 * 2 * 8192 * 8192, 2.0 * 8192 * 8192 * 8192, false};
  EXPECT_EQ(chooseSchedule(std::vector{product}, 132, gpuRates, all).schedule, EVT_TICKET);
  std::array<double, 3> added = overheadsOf(std::vector{product}, 132, gpuRates);
  EXPECT_NEAR((added[EVT_STATIC] - added[EVT_TICKET]) * 1e6, 48, 6);
}

TEST(ScheduleChoice, ManifestsWithoutCostsKeepTheFirstOne) {
  Manifest manifest;
  manifest.schedules = all;
  manifest.schedules[EVT_STATIC] = {false, "no"};
  ScheduleChoice choice = chooseSchedule(manifest, {}, {}, 4);
  EXPECT_EQ(choice.schedule, EVT_TICKET);
  EXPECT_EQ(choice.why, "ticket: the artifact says nothing about costs, so the first that it supports");
}

} // namespace
} // namespace evt::runtime
