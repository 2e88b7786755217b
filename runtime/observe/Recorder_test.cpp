#include "runtime/observe/Recorder.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <gtest/gtest.h>
#include <thread>

namespace evt::observe {
namespace {

uint64_t ticking = 0;
uint64_t tick() { return ticking += 10; }

std::vector<int64_t> list(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

TEST(Recorder, GivesBackEveryHookInOrder) {
  ticking = 0;
  RecorderOptions options;
  options.clock = tick;
  Recorder recorder(2, options);
  ScriptedTask(recorder, 1, 3, 7, {1, 2})
      .wait(4, 5, 6)
      .read(8, {9, 10}, {11, 12})
      .write(13, {}, {})
      .readSettled(16, {17}, {18})
      .notify(14, 15);

  LogReader empty = recorder.read(0);
  Record record;
  EXPECT_FALSE(empty.next(record));

  LogReader reader = recorder.read(1);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::TaskBegin);
  EXPECT_EQ(record.id, 3u);
  EXPECT_EQ(record.index, 7);
  EXPECT_EQ(record.time, 10u);
  EXPECT_EQ(list(record.coord), (Index{1, 2}));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::WaitBegin);
  EXPECT_EQ(record.id, 4u);
  EXPECT_EQ(record.index, 5);
  EXPECT_EQ(record.count, 6);
  EXPECT_EQ(record.time, 20u);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::WaitEnd);
  EXPECT_EQ(record.time, 30u);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::Access);
  EXPECT_EQ(record.access, EVT_READ);
  EXPECT_EQ(record.id, 8u);
  EXPECT_EQ(list(record.coord), (Index{9, 10}));
  EXPECT_EQ(list(record.size), (Index{11, 12}));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::Access);
  EXPECT_EQ(record.access, EVT_WRITE);
  EXPECT_EQ(record.id, 13u);
  EXPECT_TRUE(record.coord.empty());
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::Access);
  EXPECT_EQ(record.access, EVT_READ_SETTLED);
  EXPECT_EQ(record.id, 16u);
  EXPECT_EQ(list(record.coord), (Index{17}));
  EXPECT_EQ(list(record.size), (Index{18}));
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::Notify);
  EXPECT_EQ(record.id, 14u);
  EXPECT_EQ(record.index, 15);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::TaskEnd);
  EXPECT_EQ(record.time, 40u);
  EXPECT_FALSE(reader.next(record));
}

TEST(Recorder, KeepsWorkersApartAndRecordsWholeAcrossBlocks) {
  // 40 000 tasks of 14 words each fill many blocks of 32 768 words.
  constexpr int kWorkers = 4, kTasks = 40000;
  Recorder recorder(kWorkers);
  std::vector<std::thread> threads;
  for (uint32_t worker = 0; worker < kWorkers; ++worker)
    threads.emplace_back([&, worker] {
      for (int64_t task = 0; task < kTasks; ++task)
        ScriptedTask(recorder, worker, worker, task, {task, -task}).write(1, {task}, {1}).notify(2, task);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (uint32_t worker = 0; worker < kWorkers; ++worker) {
    EXPECT_FALSE(recorder.truncated(worker));
    LogReader reader = recorder.read(worker);
    Record record;
    for (int64_t task = 0; task < kTasks; ++task) {
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.kind, RecordKind::TaskBegin);
      ASSERT_EQ(record.id, worker);
      ASSERT_EQ(list(record.coord), (Index{task, -task}));
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(list(record.coord), (Index{task}));
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.index, task);
      ASSERT_TRUE(reader.next(record));
      ASSERT_EQ(record.kind, RecordKind::TaskEnd);
    }
    EXPECT_FALSE(reader.next(record));
  }
}

TEST(Recorder, LeavesOutWhatATraceDoesNotNeed) {
  RecorderOptions options;
  options.accesses = options.notifies = false;
  Recorder recorder(1, options);
  ScriptedTask(recorder, 0, 0, 0, {}).read(0, {0}, {1}).notify(0, 0);
  LogReader reader = recorder.read(0);
  Record record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::TaskBegin);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.kind, RecordKind::TaskEnd);
  EXPECT_FALSE(reader.next(record));
}

TEST(Recorder, EndsALogAtItsLimitAndClearBeginsAgain) {
  RecorderOptions options;
  options.maxBytesPerWorker = 300 << 10; // one block of 256 KiB fits, two do not
  Recorder recorder(2, options);
  for (int task = 0; task < 10000; ++task)
    ScriptedTask(recorder, 0, 0, task, {task}).end();
  EXPECT_TRUE(recorder.truncated(0));
  EXPECT_FALSE(recorder.truncated(1));
  LogReader reader = recorder.read(0);
  Record record;
  size_t records = 0;
  while (reader.next(record))
    ++records;
  EXPECT_GT(records, 10000u);
  EXPECT_LT(records, 20000u);
  recorder.clear();
  EXPECT_FALSE(recorder.truncated(0));
  LogReader again = recorder.read(0);
  EXPECT_FALSE(again.next(record));
}

} // namespace
} // namespace evt::observe
