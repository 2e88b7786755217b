#include "runtime/launch/Watchdog.h"

#include "runtime/launch/RowSum_fixture.h"

#include <chrono>
#include <thread>

using namespace evt::runtime;
using namespace std::chrono_literals;

namespace {

TEST(Watchdog, ExpiresOnlyWhenNothingMoves) {
  evt_status workers[2] = {};
  Watchdog::Clock::time_point start{};
  Watchdog watchdog(workers, 2.0, start);
  EXPECT_FALSE(watchdog.expired(start + 1999ms));
  EXPECT_TRUE(watchdog.expired(start + 2s));
  workers[1].finished = 1;
  EXPECT_FALSE(watchdog.expired(start + 3s)) << "a task finished: the time starts again";
  EXPECT_FALSE(watchdog.expired(start + 4999ms));
  EXPECT_TRUE(watchdog.expired(start + 5s));
  EXPECT_EQ(watchdog.interval(), 250ms);
}

TEST(Watchdog, ZeroSecondsNeverExpire) {
  evt_status worker{};
  Watchdog watchdog({&worker, 1}, 0, Watchdog::Clock::time_point{});
  EXPECT_FALSE(watchdog.expired(Watchdog::Clock::time_point{} + 1000h));
  EXPECT_EQ(watchdog.interval(), std::nullopt);
}

TEST(Stall, NamesTheElementItsWaiterAndTheMissingNotifier) {
  auto program = handWritten("row_sum");
  RowSumArguments arguments(3);
  LaunchOptions options{.workers = 1, .watchdogSeconds = 0.5, .injectCall = 0, .injectTask = 6};
  // With one worker: 12 partial sums, of which one is not done, then total(0), then total(1) blocks.
  EXPECT_EQ(
      messageOf(EVT_ERROR_STUCK, [&] { program->launch(arguments.values(), options); }),
      "graph 'row_sum' is stuck: no task finished for 0.5 s; 12 of 15 tasks are done (schedule static, 1 worker)\n"
      "  done[1] has received 3 of 4 notifications\n"
      "    waited for by total(1), on worker 0\n"
      "    not notified by partial(1, 2), on no worker");
  program->launch(arguments.values(), {.workers = 2});
  EXPECT_TRUE(arguments.correct()) << "the next launch works";
}

TEST(Stall, BlamesTheRootOfAChain) {
  auto program = handWritten("chain");
  std::vector<evt_value> values = {{nullptr, 4}};
  LaunchOptions options{.workers = 2, .watchdogSeconds = 0.8, .injectCall = 0, .injectTask = 2};
  // Worker 0 runs first(0), first(2), second(0), then waits in second(2); worker 1 runs all of its tasks.
  EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
            "graph 'chain' is stuck: no task finished for 0.8 s; 8 of 12 tasks are done (schedule static, 2 workers)\n"
            "  ready[2] has received 0 of 1 notifications\n"
            "    waited for by second(2), on worker 0\n"
            "    not notified by first(2), on no worker\n"
            "  1 more element is incomplete");
  EXPECT_EQ(messageOf(EVT_OK, [&] { program->launch(values, {.workers = 3}); }), "no error");
}

TEST(Stall, ReportsWorkersWhereTheKernelCannotExplain) {
  auto program = handWritten("faults");
  HostTensor flag(DataType::i32, {1});
  DLTensor view = flag.dlpack();
  std::vector<evt_value> values = {{&view, 0}, {nullptr, 6}};
  LaunchOptions options{.workers = 2, .watchdogSeconds = 0.8};
  EXPECT_EQ(
      messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
      "graph 'faults' is stuck: no task finished for 0.8 s; 0 of 128 tasks are done (schedule static, 2 workers)\n"
      "  worker 0 waits in task 5 of experts for ready[1, 1], which has received 0 of 7 notifications\n"
      "  worker 1 has left");
}

TEST(Stall, WorkersThatCannotBeStoppedAreLeftBehind) {
  HostTensor flag(DataType::i32, {1});
  DLTensor view = flag.dlpack();
  std::vector<evt_value> values = {{&view, 0}, {nullptr, 5}};
  {
    auto program = handWritten("faults");
    LaunchOptions options{.workers = 1, .watchdogSeconds = 0.5};
    EXPECT_EQ(
        messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
        "graph 'faults' is stuck: no task finished for 0.5 s; 0 of 128 tasks are done (schedule static, 1 worker)\n"
        "  worker 0 runs task 3 of experts\n"
        "  workers did not leave when told to: they still use the arguments, and the graph cannot be launched again");
    EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
              "graph 'faults' has workers of an earlier launch that never left; load it again");
  }
  // The program is gone; its worker still runs, on memory it owns a share of, and ends when it is let go.
  int32_t *shared = static_cast<int32_t *>(flag.data());
  __atomic_store_n(shared, 1, __ATOMIC_RELEASE);
  for (int i = 0; i < 1000 && __atomic_load_n(shared, __ATOMIC_ACQUIRE) != 2; ++i)
    std::this_thread::sleep_for(10ms);
  EXPECT_EQ(__atomic_load_n(shared, __ATOMIC_ACQUIRE), 2);
}

} // namespace
