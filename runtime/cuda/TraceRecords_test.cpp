#include "runtime/cuda/TraceRecords.h"

#include "runtime/cuda/FakeGpu_fixture.h"
#include "runtime/launch/HostLaunch.h"

#include <set>

namespace evt::runtime::cuda {
namespace {

TEST(TraceRecords, RoomForEveryTaskOnEveryWorkerWithinABound) {
  EXPECT_EQ(recordsForEachWorker(100, 4), 100u);
  EXPECT_EQ(recordsForEachWorker(0, 4), 1u);
  EXPECT_EQ(recordsForEachWorker(int64_t(1) << 40, 1), 1677721u); // 64 MiB in records of 40 bytes
  EXPECT_EQ(recordsForEachWorker(int64_t(1) << 40, 132), 12710u);
}

TEST(TraceRecords, GetCoordinatesAndWaitsFromTheKernel) {
  Artifact artifact = loadArtifact(std::string(EVT_TEST_ARTIFACTS) + "/row_sum_cuda");
  Binding binding;
  binding.symbols = {2};
  binding.shapes = resolveShapes(artifact.manifest, binding.symbols);
  std::vector<uint64_t> storage(64);
  std::vector<void *> memories(3, nullptr), regions(2, storage.data());
  HostLaunch host(binding, memories, regions, EVT_STATIC, 2);
  host.status[0].status.finished = 2;
  host.status[1].status.finished = 5;
  // Two workers with room for three records each: worker 0 used two, worker 1 had more tasks than room.
  std::vector<evt_cuda_record> records(6);
  records[0] = {0, 0, 6, 1000, 1000, 1100};
  records[1] = {1, 0, 1, 1100, 1500, 1600};
  records[3] = {0, 1, 1, 1300, 1310, 1400}; // not in order of time
  records[4] = {0, 1, 0, 1010, 1010, 1200};
  records[5] = {1, 1, 0, 1450, 1460, 1700};
  LaunchTrace trace = readRecords(records, 3, *artifact.kernel, host.launch);
  EXPECT_TRUE(trace.truncated);
  ASSERT_EQ(trace.workers.size(), 2u);
  ASSERT_EQ(trace.workers[0].size(), 2u);
  EXPECT_EQ(trace.workers[0][0].coord, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(trace.workers[0][0].waits, 0u);
  const TracedTask &total = trace.workers[0][1];
  EXPECT_EQ(total.call, 1u);
  EXPECT_EQ(total.coord, (std::vector<int64_t>{1}));
  EXPECT_EQ(total.taken, 1100u);
  EXPECT_EQ(total.started, 1500u);
  EXPECT_EQ(total.finished, 1600u);
  EXPECT_EQ(total.waits, 1u);
  EXPECT_EQ(total.event, 0u);
  EXPECT_EQ(total.element, 1);
  ASSERT_EQ(trace.workers[1].size(), 3u);
  EXPECT_EQ(trace.workers[1][0].taken, 1010u);
  EXPECT_EQ(trace.workers[1][1].taken, 1300u);
  host.status[1].status.finished = 3;
  EXPECT_FALSE(readRecords(records, 3, *artifact.kernel, host.launch).truncated);
}

TEST_F(FakeGpu, ATraceHoldsEveryTaskOnce) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(5);
  LaunchTrace trace;
  program->launch(arguments.values(), {.workers = 3, .trace = &trace});
  EXPECT_TRUE(arguments.correct());
  EXPECT_FALSE(trace.truncated);
  ASSERT_EQ(trace.workers.size(), 3u);
  std::set<std::pair<uint32_t, int64_t>> seen;
  for (const std::vector<TracedTask> &worker : trace.workers)
    for (const TracedTask &task : worker) {
      EXPECT_TRUE(seen.emplace(task.call, task.task).second) << "twice";
      EXPECT_LE(task.taken, task.started);
      EXPECT_LE(task.started, task.finished);
      EXPECT_EQ(task.coord.size(), task.call == 0 ? 2u : 1u);
      EXPECT_EQ(task.waits, task.call == 0 ? 0u : 1u);
    }
  EXPECT_EQ(seen.size(), 25u);
}

TEST_F(FakeGpu, ATraceOfALaunchThatWasStopped) {
  auto program = onGpu("row_sum");
  RowSumArguments arguments(3);
  LaunchTrace trace;
  LaunchOptions options{.workers = 1, .watchdogSeconds = 0.1, .injectCall = 0, .injectTask = 6, .trace = &trace};
  EXPECT_NE(messageOf(EVT_ERROR_STUCK, [&] { program->launch(arguments.values(), options); }), "no error");
  ASSERT_EQ(trace.workers.size(), 1u);
  EXPECT_EQ(trace.workers[0].size(), 13u) << "12 partial sums and one total; the task that waits has not finished";
}

} // namespace
} // namespace evt::runtime::cuda
