#include "runtime/launch/RowSum_fixture.h"

#include <atomic>
#include <thread>

using namespace evt::runtime;

namespace {

TEST(Launch, ComputesForEveryShapeAndWorkerCount) {
  auto program = handWritten("row_sum");
  for (int64_t n : {5, 1, 0, 37, 2}) // larger and smaller in turn: the workspace is kept
    for (unsigned workers : {1u, 2u, 3u, 7u}) {
      RowSumArguments arguments(n);
      LaunchStats stats = program->launch(arguments.values(), {.workers = workers});
      EXPECT_TRUE(arguments.correct()) << n << " rows, " << workers << " workers";
      EXPECT_EQ(stats.tasks, 5 * n);
      EXPECT_EQ(stats.workers, workers);
      uint64_t finished = 0;
      for (uint64_t count : stats.finished)
        finished += count;
      EXPECT_EQ(finished, static_cast<uint64_t>(5 * n));
    }
}

TEST(Launch, ManyLaunchesReuseWorkersAndRegions) {
  auto program = handWritten("row_sum");
  RowSumArguments arguments(3);
  for (int i = 0; i < 200; ++i) {
    arguments.y.set(2, -1);
    program->launch(arguments.values(), {.workers = 1u + i % 4, .perturb = static_cast<uint64_t>(i)});
    ASSERT_TRUE(arguments.correct()) << i;
  }
}

TEST(Launch, ConcurrentLaunchesOfOneProgramTakeTurns) {
  auto program = handWritten("row_sum");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      RowSumArguments arguments(4);
      for (int i = 0; i < 20; ++i)
        program->launch(arguments.values(), {.workers = 2});
      wrong += !arguments.correct();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Launch, DefaultWorkersAreThisProcessCpus) {
  auto program = handWritten("row_sum");
  RowSumArguments arguments(2);
  EXPECT_GE(program->launch(arguments.values()).workers, 1u);
  EXPECT_TRUE(arguments.correct());
}

TEST(Launch, HooksSeeEveryTask) {
  auto program = handWritten("row_sum");
  RowSumArguments arguments(6);
  struct Seen {
    std::atomic<int> begun = 0, ended = 0, waits = 0, notifies = 0;
  } seen;
  evt_hooks hooks{};
  hooks.user = &seen;
  auto self = [](void *user) -> Seen & { return *static_cast<Seen *>(user); };
  static auto of = self;
  hooks.task_begin = [](void *u, uint32_t, uint32_t, int64_t, const int64_t *, uint32_t) { ++of(u).begun; };
  hooks.task_end = [](void *u, uint32_t) { ++of(u).ended; };
  hooks.wait_begin = [](void *u, uint32_t, uint32_t, int64_t, int64_t) { ++of(u).waits; };
  hooks.wait_end = [](void *, uint32_t) {};
  hooks.notify = [](void *u, uint32_t, uint32_t, int64_t) { ++of(u).notifies; };
  hooks.access = [](void *, uint32_t, uint32_t, uint32_t, const int64_t *, const int64_t *, uint32_t) {};
  program->launch(arguments.values(), {.workers = 2, .hooks = &hooks});
  EXPECT_TRUE(arguments.correct());
  program->explain(arguments.values(), hooks);
  EXPECT_EQ(seen.begun, 60); // 30 tasks, run once and explained once
  EXPECT_EQ(seen.ended, 60);
  EXPECT_EQ(seen.waits, 12);
  EXPECT_EQ(seen.notifies, 48);
}

TEST(Launch, TheScheduleIsChosenForTheLaunch) {
  Artifact artifact = loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/row_sum");
  // Costs as the compiler would count them, but of rows that take long.
  Manifest &manifest = artifact.manifest;
  manifest.cost = GraphCost{Expression::constant(0), Expression::constant(0)};
  for (Call &call : manifest.calls)
    call.cost = CallCost{Expression::constant(0), Expression::constant(1 << 20), Expression::constant(1), 1, {}};
  Program program(std::move(artifact));
  RowSumArguments arguments(5);
  LaunchStats stats = program.launch(arguments.values(), {.schedule = "auto", .workers = 2});
  EXPECT_TRUE(arguments.correct());
  EXPECT_EQ(stats.schedule, EVT_STATIC); // the kernel holds no other
  // Two calls of a megabyte at 20 GB/s, 8 % of it; two phases of tickets; 25 tasks.
  EXPECT_EQ(stats.why,
            "static: waiting for the slowest worker would add 8.4 µs (static), taking tickets 0.6 µs, handing "
            "out ready tasks 0.5 µs (dynamic); ticket is not supported; dynamic is not supported");
  EXPECT_EQ(program.choose(arguments.values(), {.workers = 1}).why, "static: one worker has nobody to share with");
  EXPECT_EQ(program.launch(arguments.values(), {.schedule = "static"}).why, "");
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program.choose(arguments.values(), {.workers = 5000}); }),
            "workers is 5000, required at most 4096");
}

TEST(Launch, OptionsAreChecked) {
  auto program = handWritten("row_sum");
  RowSumArguments arguments(2);
  auto message = [&](const LaunchOptions &options) {
    return messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), options); });
  };
  EXPECT_EQ(message({.schedule = "greedy"}), "schedule is 'greedy', required one of static ticket dynamic auto");
  EXPECT_EQ(message({.schedule = "ticket"}),
            "schedule 'ticket' is not supported by graph 'row_sum': this kernel was written by hand");
  EXPECT_EQ(message({.workers = 5000}), "workers is 5000, required at most 4096");
  EXPECT_EQ(message({.watchdogSeconds = -1}), "watchdog is -1.000000 s, required 0..31536000");
  EXPECT_EQ(message({.watchdogSeconds = 0.0 / 0.0}).substr(0, 11), "watchdog is");
  EXPECT_EQ(message({.injectCall = 2}), "call to inject a fault into is 2, required -1..1");
  EXPECT_EQ(message({.injectCall = 1, .injectTask = 2}),
            "task to inject a fault into is 2, required 0..1 for call 'total'");
  LaunchTrace trace;
  EXPECT_EQ(message({.trace = &trace}), "a trace is asked for, required hooks: the cpu target reports to an observer");
  EXPECT_EQ(arguments.y.get(0), -1) << "nothing ran";
}

TEST(Launch, RefusesAWorkspaceLargerThanTheMachine) {
  Artifact artifact = loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/row_sum");
  artifact.manifest.memories[2].dims[1] = Expression::constant(int64_t(1) << 55);
  Program program(std::move(artifact));
  RowSumArguments arguments(2);
  std::string found = messageOf(EVT_ERROR_MEMORY, [&] { program.launch(arguments.values()); });
  EXPECT_TRUE(found.starts_with(
      "graph 'row_sum' needs a workspace of 288230376151711756 bytes, this machine has ")) // 2 * 2^55 * 4 + 8 + 4
      << found;
}

TEST(Fault, KernelFaultsAreToldInTheNamesOfTheManifest) {
  auto program = handWritten("faults");
  HostTensor flag(DataType::i32, {1});
  DLTensor view = flag.dlpack();
  auto message = [&](int64_t mode) {
    std::vector<evt_value> values = {{&view, 0}, {nullptr, mode}};
    return messageOf(EVT_ERROR_FAULT, [&] { program->launch(values, {.workers = 2}); });
  };
  EXPECT_EQ(message(0), "no error");
  EXPECT_EQ(message(1), "ragged grid of call 'experts' needs 130 row tiles, its declared bound is 128");
  EXPECT_EQ(message(2), "element ready[1, 1] received more notifications than its count of 7");
  EXPECT_EQ(message(3), "a notify of event 'ready' has index 9 in dimension 1, required 0..2");
  EXPECT_EQ(message(4), "kernel stopped with fault 77 (1, 2, 3), which this runtime does not know");
  EXPECT_EQ(message(9), "kernel stopped with fault 3 (12, 0, 1), which this runtime does not know");
  EXPECT_EQ(message(0), "no error");
}

TEST(Fault, RegionsAreZeroAgainAfterAFault) {
  auto program = handWritten("faults");
  HostTensor flag(DataType::i32, {1});
  DLTensor view = flag.dlpack();
  std::vector<evt_value> dirty = {{&view, 0}, {nullptr, 7}}, look = {{&view, 0}, {nullptr, 8}};
  EXPECT_EQ(messageOf(EVT_ERROR_FAULT, [&] { program->launch(dirty, {.workers = 1}); }),
            "element ready[0, 0] received more notifications than its count of 1");
  flag.setInteger(0, -5);
  program->launch(look, {.workers = 1});
  EXPECT_EQ(flag.getInteger(0), 0);
}

} // namespace
