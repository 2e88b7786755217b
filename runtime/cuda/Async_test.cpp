// Launches on a stream of the caller.
#include "runtime/cuda/FakeGpu_fixture.h"
#include "runtime/cuda/Session.h"

#include <thread>

namespace evt::runtime::cuda {
namespace {

class Async : public FakeGpu {
protected:
  Async() : caller(std::make_unique<Caller>(driver)), program(onGpu("row_sum")) {}
  void TearDown() override {
    program.reset();
    caller.reset();
    FakeGpu::TearDown();
  }

  LaunchOptions options() const { return {.workers = 2, .watchdogSeconds = 0.1, .stream = caller->stream}; }
  static void untilTheNextLook() { std::this_thread::sleep_for(2 * Session::lookInterval); }

  std::unique_ptr<Caller> caller;
  std::unique_ptr<Program> program;
};

TEST_F(Async, LaunchesFollowEachOtherWithoutTheHost) {
  DeviceRowSum arguments(*caller, 6);
  program->launch(arguments.values(), options());
  fakecuda::State before = *fake;
  auto begin = std::chrono::steady_clock::now();
  LaunchStats stats{};
  for (int i = 0; i < 20; ++i)
    stats = program->launch(arguments.values(), options());
  int64_t looks = (std::chrono::steady_clock::now() - begin) / Session::lookInterval + 1;
  EXPECT_EQ(fake->launches, before.launches + 20);
  EXPECT_EQ(fake->memsets, before.memsets);
  EXPECT_EQ(fake->allocations, before.allocations);
  EXPECT_LE(fake->hostCopies, before.hostCopies + looks);
  EXPECT_LE(fake->synchronizations, before.synchronizations + looks);
  EXPECT_EQ(stats.workers, 2u);
  EXPECT_EQ(stats.tasks, 30);
  EXPECT_EQ(stats.seconds, 0);
  EXPECT_TRUE(stats.finished.empty());
  EXPECT_EQ(fake->launched.back().stream, caller->stream);
  uint64_t done, trace;
  std::memcpy(&done, fake->launched.back().parameters.data() + 40, sizeof done);
  std::memcpy(&trace, fake->launched.back().parameters.data() + 48, sizeof trace);
  EXPECT_EQ(done, 0u);
  EXPECT_EQ(trace, 0u);
  EXPECT_TRUE(arguments.correct());
}

TEST_F(Async, PartsOfAGraphAreEndedBeforeAllOfItIsLaunched) {
  DeviceRowSum arguments(*caller, 6);
  auto part = [&](int64_t call) {
    LaunchOptions options = this->options();
    options.firstCall = options.lastCall = call;
    program->launch(arguments.values(), options);
  };
  LaunchOptions alone{.firstCall = 0, .lastCall = 0};
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), alone); }),
            "a part of the graph is asked for, required a stream: parts follow each other on it");
  part(0);
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), options()); }),
            "all of the graph is asked for, required the rest of its parts: the last launch on this stream was one of "
            "them");
  part(1);
  program->launch(arguments.values(), options());
  EXPECT_EQ(fake->launches, 3);
}

TEST_F(Async, TakesTensorsOfTheGpuOnly) {
  RowSumArguments host(2);
  EXPECT_EQ(messageOf(EVT_ERROR_ARGUMENT, [&] { program->launch(host.values(), options()); }),
            "argument 'x' is on cpu, required cuda:0");
  DeviceRowSum arguments(*caller, 2);
  LaunchTrace trace;
  LaunchOptions traced = options();
  traced.trace = &trace;
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), traced); }),
            "a trace is asked for, required no stream: a launch on a stream is not waited for");
}

TEST_F(Async, GrowsWhenLaunchesNeedMore) {
  DeviceRowSum small(*caller, 2), large(*caller, 50);
  program->launch(small.values(), options());
  program->launch(large.values(), options());
  program->launch(small.values(), options());
  EXPECT_TRUE(large.correct());
  EXPECT_TRUE(small.correct());
}

TEST_F(Async, AStallIsReportedByALaterLaunch) {
  DeviceRowSum arguments(*caller, 3);
  LaunchOptions broken = options();
  broken.workers = 1;
  broken.injectCall = 0;
  broken.injectTask = 6;
  program->launch(arguments.values(), broken);
  caller->synchronize();
  untilTheNextLook();
  EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(arguments.values(), options()); }),
            "an earlier launch on this stream: graph 'row_sum' is stuck: a wait lasted longer than 0.1 s; it has 15 "
            "tasks (schedule static, 1 worker)\n"
            "  worker 0 waits in task 1 of total for done[1], which has received 3 of 4 notifications");
  arguments.spoil();
  untilTheNextLook();
  program->launch(arguments.values(), options());
  EXPECT_TRUE(arguments.correct());
  untilTheNextLook();
  EXPECT_EQ(messageOf(EVT_OK, [&] { program->launch(arguments.values(), options()); }), "no error");
}

TEST_F(Async, AFaultIsReportedByALaterLaunch) {
  auto faults = onGpu("faults");
  HostTensor flag(DataType::i32, {1});
  DLTensor device = caller->onDevice(flag);
  std::vector<evt_value> bad = {{&device, 0}, {nullptr, 7}}, look = {{&device, 0}, {nullptr, 8}};
  faults->launch(bad, options());
  caller->synchronize();
  untilTheNextLook();
  EXPECT_EQ(messageOf(EVT_ERROR_FAULT, [&] { faults->launch(look, options()); }),
            "an earlier launch on this stream: element ready[0, 0] received more notifications than its count of 1");
  flag.setInteger(0, -5);
  DLTensor fresh = caller->onDevice(flag);
  std::vector<evt_value> again = {{&fresh, 0}, {nullptr, 8}};
  faults->launch(again, options());
  caller->fetch(flag, fresh);
  EXPECT_EQ(flag.getInteger(0), 0) << "the region is zero again";
}

TEST_F(Async, EachStreamHasAWorkspaceOfItsOwn) {
  Caller other(driver);
  DeviceRowSum here(*caller, 8), there(other, 8);
  LaunchOptions elsewhere = options();
  elsewhere.stream = other.stream;
  for (int i = 0; i < 10; ++i) {
    program->launch(here.values(), options());
    program->launch(there.values(), elsewhere);
  }
  auto words = [&](size_t launch) {
    std::vector<uint64_t> list(6);
    std::memcpy(list.data(), fake->launched[launch].parameters.data() + 112, 48);
    return list;
  };
  EXPECT_NE(words(0)[2], words(1)[2]) << "the buffer";
  EXPECT_NE(words(0)[4], words(1)[4]) << "the counters";
  EXPECT_EQ(words(0)[4], words(2)[4]);
  EXPECT_TRUE(here.correct());
  EXPECT_TRUE(there.correct());
}

TEST_F(Async, CanBeCapturedOnceTheMemoryIsThere) {
  DeviceRowSum arguments(*caller, 4), larger(*caller, 40);
  fake->capturing = caller->stream;
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program->launch(arguments.values(), options()); }),
            "stream is being captured, required a launch of graph 'row_sum' on it before: the capture cannot allocate "
            "its workspace");
  fake->capturing = nullptr;
  program->launch(arguments.values(), options());
  caller->synchronize();
  fake->capturing = caller->stream;
  EXPECT_EQ(messageOf(EVT_ERROR_OPTION, [&] { program->launch(larger.values(), options()); }),
            "stream is being captured, required a launch with arguments of this size on it before: the capture cannot "
            "make the workspace of graph 'row_sum' larger");
  untilTheNextLook();
  fakecuda::State before = *fake;
  program->launch(arguments.values(), options()); // would look, were it not captured
  EXPECT_EQ(fake->hostCopies, before.hostCopies);
  EXPECT_EQ(fake->synchronizations, before.synchronizations);
  fake->capturing = nullptr;
  ASSERT_EQ(fake->captured.size(), 1u);
  // The graph keeps its memory when the workspace grows for others.
  program->launch(larger.values(), options());
  EXPECT_TRUE(larger.correct());
  arguments.spoil();
  replay();
  EXPECT_TRUE(arguments.correct());
}

// While somebody else captures, on another stream.
TEST_F(Async, GoesOnBesideACapture) {
  Caller other(driver);
  fake->capturing = other.stream;
  DeviceRowSum arguments = [&] {
    Gpu::Scope relaxed(caller->gpu);
    return DeviceRowSum(*caller, 4);
  }();
  program->launch(arguments.values(), options());
  untilTheNextLook();
  program->launch(arguments.values(), options());
  RowSumArguments host(9);
  program->launch(host.values());
  EXPECT_TRUE(host.correct());
  fake->capturing = nullptr;
  EXPECT_TRUE(arguments.correct());
}

} // namespace
} // namespace evt::runtime::cuda
