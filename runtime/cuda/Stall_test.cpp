#include "runtime/cuda/FakeGpu_fixture.h"

#include "runtime/cuda/Reports.h"

namespace evt::runtime::cuda {
namespace {

TEST_F(FakeGpu, NamesTheElementItsWaiterAndTheMissingNotifier) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(3);
  LaunchOptions options{.workers = 1, .watchdogSeconds = 0.2, .injectCall = 0, .injectTask = 6};
  // With one worker: 12 partial sums, of which one is not done, then total(0), then total(1) blocks.
  EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(arguments.values(), options); }),
            "graph 'row_sum' is stuck: a wait lasted longer than 0.2 s; 12 of 15 tasks are done (schedule static, 1 "
            "worker)\n"
            "  done[1] has received 3 of 4 notifications\n"
            "    waited for by total(1), on worker 0\n"
            "    not notified by partial(1, 2), on no worker");
  EXPECT_EQ(arguments.y.get(0), -1) << "an aborted launch copies nothing back";
  program->launch(arguments.values(), {.workers = 2});
  EXPECT_TRUE(arguments.correct()) << "the next launch works";
}

TEST_F(FakeGpu, BlamesTheRootOfAChain) {
  auto program = onGpu("chain");
  std::vector<evt_value> values = {{nullptr, 4}};
  LaunchOptions options{.workers = 2, .watchdogSeconds = 0.5, .injectCall = 0, .injectTask = 2};
  EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
            "graph 'chain' is stuck: a wait lasted longer than 0.5 s; 8 of 12 tasks are done (schedule static, 2 "
            "workers)\n"
            "  ready[2] has received 0 of 1 notifications\n"
            "    waited for by second(2), on worker 0\n"
            "    not notified by first(2), on no worker\n"
            "  1 more element is incomplete");
  EXPECT_EQ(messageOf(EVT_OK, [&] { program->launch(values, {.workers = 3}); }), "no error");
}

class Faults : public FakeGpu {
protected:
  Faults() : flag(DataType::i32, {1}), view(flag.dlpack()) {}
  std::vector<evt_value> mode(int64_t number) const { return {{&view, 0}, {nullptr, number}}; }

  HostTensor flag;
  DLTensor view;
};

// The kernel is busy, so its own limit on waits does not stop it.
TEST_F(Faults, TheHostStopsAKernelInWhichNothingFinishes) {
  auto program = onGpu("faults");
  EXPECT_EQ(
      messageOf(EVT_ERROR_STUCK, [&] { program->launch(mode(10), {.workers = 2, .watchdogSeconds = 0.1}); }),
      "graph 'faults' is stuck: no task finished for 2.1 s; 0 of 128 tasks are done (schedule static, 2 workers)\n"
      "  no task waits for an incomplete element\n"
      "  worker 0 runs task 4 of experts\n"
      "  worker 1 has left");
  program->launch(mode(0), {.workers = 2});
}

TEST_F(Faults, KernelsThatCannotBeStoppedAreLeftBehind) {
  Caller *caller = new Caller(driver); // never given back, like the kernel's own memory
  DLTensor device = caller->onDevice(flag);
  std::vector<evt_value> values = {{&device, 0}, {nullptr, 5}};
  {
    auto program = onGpu("faults");
    LaunchOptions options{.workers = 1, .watchdogSeconds = 0.1};
    EXPECT_EQ(
        messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
        "graph 'faults' is stuck: no task finished for 2.1 s; 0 of 128 tasks are done (schedule static, 1 worker)\n"
        "  no task waits for an incomplete element\n"
        "  worker 0 runs task 3 of experts\n"
        "  workers did not leave when told to: they still use the arguments, and the graph cannot be launched again");
    EXPECT_EQ(messageOf(EVT_ERROR_STUCK, [&] { program->launch(values, options); }),
              "graph 'faults' has workers of an earlier launch that never left; load it again");
  }
  // The program is gone; its kernel still runs, on memory that is not freed, and ends when it is let go.
  flag.setInteger(0, 1);
  Gpu::Scope scope(caller->gpu);
  driver->MemcpyHtoDAsync(reinterpret_cast<Address>(device.data), static_cast<const void *>(flag.data()), size_t(4),
                          caller->stream);
  for (int i = 0; i < 1000 && flag.getInteger(0) != 2; ++i) {
    caller->fetch(flag, device);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(flag.getInteger(0), 2);
  EXPECT_GT(fake->allocations, 0);
  *fake = {};
}

TEST_F(Faults, AreToldInTheNamesOfTheManifest) {
  auto program = onGpu("faults");
  auto message = [&](int64_t number) {
    return messageOf(EVT_ERROR_FAULT, [&] { program->launch(mode(number), {.workers = 2}); });
  };
  EXPECT_EQ(message(0), "no error");
  EXPECT_EQ(message(1), "ragged grid of call 'experts' needs 130 row tiles, its declared bound is 128");
  EXPECT_EQ(message(2), "element ready[1, 1] received more notifications than its count of 7");
  EXPECT_EQ(message(3), "a notify of event 'ready' has index 9 in dimension 1, required 0..2");
  EXPECT_EQ(message(4), "kernel stopped with fault 77 (1, 2, 3), which this runtime does not know");
  EXPECT_EQ(message(0), "no error");
}

TEST_F(Faults, RegionsAreZeroAgainAfterOne) {
  auto program = onGpu("faults");
  EXPECT_EQ(messageOf(EVT_ERROR_FAULT, [&] { program->launch(mode(7), {.workers = 1}); }),
            "element ready[0, 0] received more notifications than its count of 1");
  flag.setInteger(0, -5);
  program->launch(mode(8), {.workers = 1});
  EXPECT_EQ(flag.getInteger(0), 0);
}

// No GPU and no launch: what a report says is in the copies alone.
TEST(Report, OfSyntheticCopies) {
  Artifact artifact = loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/row_sum_cuda");
  Binding binding;
  binding.symbols = {2};
  binding.shapes = resolveShapes(artifact.manifest, binding.symbols);
  LaunchOptions options{.watchdogSeconds = 4};
  Request request{binding, options, EVT_STATIC, 3};
  KernelReport report;
  report.abort = EVT_ABORT_LIMIT;
  report.status.resize(3);
  report.status[1] = {EVT_WAITING, 1, 1, 0, 0, 1, 4, 3, {}};
  report.status[2].state = EVT_LEFT;
  std::vector<uint32_t> counters = {4, 3};
  uint32_t left = 0;
  HostCopy copy;
  copy.memories = {nullptr, nullptr, nullptr};
  copy.regions = {counters.data(), &left};
  std::vector<uint8_t> done = {1, 1, 1, 1, 1, 1, 1, 0, 1, 0};
  EXPECT_EQ(describeReport(artifact.manifest, *artifact.kernel, request, report, copy, &done),
            "graph 'row_sum' is stuck: a wait lasted longer than 4 s; 8 of 10 tasks are done (schedule static, 3 "
            "workers)\n"
            "  done[1] has received 3 of 4 notifications\n"
            "    waited for by total(1), on worker 1\n"
            "    not notified by partial(1, 3), on no worker");
  EXPECT_EQ(describeReport(artifact.manifest, *artifact.kernel, request, report, copy, nullptr),
            "graph 'row_sum' is stuck: a wait lasted longer than 4 s; it has 10 tasks (schedule static, 3 workers)\n"
            "  worker 0 runs task 0 of partial\n"
            "  worker 1 waits in task 1 of total for done[1], which has received 3 of 4 notifications\n"
            "  worker 2 has left");
  report.status.assign(40, report.status[2]);
  report.status[33] = {EVT_WAITING, 1, 1, 0, 0, 1, 4, 3, {}};
  Request many{binding, options, EVT_STATIC, 40};
  EXPECT_EQ(describeReport(artifact.manifest, *artifact.kernel, many, report, copy, nullptr),
            "graph 'row_sum' is stuck: a wait lasted longer than 4 s; it has 10 tasks (schedule static, 40 workers)\n"
            "  worker 33 waits in task 1 of total for done[1], which has received 3 of 4 notifications\n"
            "  39 more workers");
}

} // namespace
} // namespace evt::runtime::cuda
