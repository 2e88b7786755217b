#include "runtime/observe/Timeline.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <gtest/gtest.h>

namespace evt::observe {
namespace {

// A clock that gives out a list of times.
std::vector<uint64_t> times;
size_t nextTime = 0;
uint64_t scripted() { return times.at(nextTime++); }

Recorder &start(Recorder &recorder, std::vector<uint64_t> list) {
  times = std::move(list);
  nextTime = 0;
  return recorder;
}

RecorderOptions scriptedClock() {
  RecorderOptions options;
  options.clock = scripted;
  return options;
}

TEST(Timeline, JoinsWaitsThatFollowEachOther) {
  Recorder recorder(1, scriptedClock());
  //                 begin  wait 7    wait 8    wait 9    end
  start(recorder, {1000, 1010, 1020, 1030, 1090, 1090, 1095, 1200});
  ScriptedTask(recorder, 0, 2, 5, {5}).wait(1, 7, 1).wait(1, 8, 1).read(0, {}, {}).wait(1, 9, 1).notify(1, 3);
  Timeline run = timeline(recorder);
  EXPECT_EQ(run.span, 200u);
  ASSERT_EQ(run.workers.size(), 1u);
  ASSERT_EQ(run.workers[0].size(), 1u);
  const TimelineTask &task = run.workers[0][0];
  EXPECT_EQ(task.call, 2u);
  EXPECT_EQ(task.coord, (Index{5}));
  EXPECT_EQ(task.begin, 0u);
  EXPECT_EQ(task.end, 200u);
  EXPECT_TRUE(task.finished);
  ASSERT_EQ(task.waits.size(), 2u); // the read parts them
  EXPECT_EQ(task.waits[0].begin, 10u);
  EXPECT_EQ(task.waits[0].end, 90u);
  EXPECT_EQ(task.waits[0].element, 8); // 60 ns, the longest
  EXPECT_EQ(task.waits[0].elements, 2u);
  EXPECT_EQ(task.waits[1].begin, 90u);
  EXPECT_EQ(task.waits[1].end, 95u);
  EXPECT_EQ(task.waits[1].element, 9);
  EXPECT_EQ(task.waits[1].elements, 1u);
}

TEST(Timeline, DrawsWhatIsOpenToTheEnd) {
  Recorder recorder(2, scriptedClock());
  start(recorder, {100, 110, 100, 500});
  ScriptedTask open(recorder, 0, 0, 0, {});
  recorder.hooks()->wait_begin(recorder.hooks()->user, 0, 3, 4, 1);
  open.leaveOpen();
  ScriptedTask(recorder, 1, 0, 1, {}).end();
  Timeline run = timeline(recorder);
  EXPECT_EQ(run.span, 400u);
  const TimelineTask &task = run.workers[0][0];
  EXPECT_FALSE(task.finished);
  EXPECT_EQ(task.end, 400u);
  ASSERT_EQ(task.waits.size(), 1u);
  EXPECT_EQ(task.waits[0].end, 400u);
  EXPECT_EQ(task.waits[0].event, 3u);
  EXPECT_EQ(task.waits[0].element, 4);
}

TEST(Timeline, OfNothingIsEmpty) {
  Timeline run = timeline(Recorder(3));
  EXPECT_EQ(run.span, 0u);
  EXPECT_EQ(run.workers.size(), 3u);
  EXPECT_FALSE(run.truncated);
}

} // namespace
} // namespace evt::observe
