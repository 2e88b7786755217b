// Reads of what a program promises to be settled: a step of two tokens that appends their keys to a cache of one head
// and attends to it.
#include "runtime/observe/HappensBefore.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <gtest/gtest.h>

namespace evt::observe {
namespace {

enum Call : uint32_t { Append, Attend };
constexpr uint32_t Keys = 0, Appended = 0;

ProgramDescription step() {
  ProgramDescription program;
  program.memories = {{"keys", {8, 64}}};
  program.events = {{"appended", {}}, {"read", {}}};
  program.calls = {{"append", "", {"t"}, {2}}, {"attend", "", {"t"}, {2}}};
  return program;
}

// Token t's key goes to slot 4 + t.
void append(Recorder &recorder, int64_t t) {
  ScriptedTask(recorder, 0, Append, t, {t}).write(Keys, {4 + t, 0}, {1, 64}).notify(Appended, 0);
}

// Attends to slots 0 … 4 + t, those below `settled` as settled ones, after all appends.
void attend(Recorder &recorder, int64_t t, int64_t settled) {
  ScriptedTask task(recorder, 0, Attend, t, {t});
  task.wait(Appended, 0, 2);
  for (int64_t slot = 0; slot <= 4 + t; ++slot)
    slot < settled ? task.readSettled(Keys, {slot, 0}, {1, 64}) : task.read(Keys, {slot, 0}, {1, 64});
}

std::string check(int64_t settledOfFirst, int64_t settledOfSecond) {
  Recorder recorder(1);
  append(recorder, 0);
  append(recorder, 1);
  attend(recorder, 0, settledOfFirst);
  attend(recorder, 1, settledOfSecond);
  return toText(checkHappensBefore(recorder, step()));
}

TEST(SettledReads, AKeptPromiseIsNoDefect) {
  EXPECT_EQ(check(4, 4), "checked 4 tasks, 13 accesses and 1 event elements: no defect\n");
  EXPECT_EQ(check(0, 0), "checked 4 tasks, 13 accesses and 1 event elements: no defect\n");
}

TEST(SettledReads, AWriteThatEventsPutBeforeItBreaksThePromise) {
  EXPECT_EQ(check(4, 5), "keys[4, 0:64] was promised to be settled, so attend(t=1) may read it before its waits, but "
                         "append(t=0) writes it\n"
                         "checked 4 tasks, 13 accesses and 1 event elements: 1 defect\n");
}

TEST(SettledReads, ATaskIsCountedOnceForEachWriter) {
  // attend(t=0) reads slot 4 as settled, attend(t=1) slots 4 and 5, written by two tasks.
  Recorder recorder(1);
  append(recorder, 0);
  append(recorder, 1);
  attend(recorder, 0, 8);
  attend(recorder, 1, 8);
  CheckOptions options;
  options.examples = 1;
  CheckReport report = checkHappensBefore(recorder, step(), options);
  EXPECT_EQ(toText(report),
            "keys[4, 0:64] was promised to be settled, so attend(t=0) may read it before its waits, but "
            "append(t=0) writes it\n"
            "… and 2 more promises to attend on keys that append breaks\n"
            "checked 4 tasks, 13 accesses and 1 event elements: 3 defects\n");
  EXPECT_EQ(report.total(FindingKind::BrokenPromise), 3u);
}

TEST(SettledReads, AWriteThatNothingOrdersIsOneDefect) {
  // Without events the read is no conflict besides.
  ProgramDescription program = step();
  program.calls = {{"append", "", {}, {}}, {"attend", "", {}, {}}};
  Recorder recorder(2);
  ScriptedTask(recorder, 0, Append, 0, {}).write(Keys, {2, 0}, {4, 64});
  ScriptedTask(recorder, 1, Attend, 0, {}).readSettled(Keys, {3, 8}, {1, 4});
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "keys[3, 8:12] was promised to be settled, so attend() may read it before its waits, but append() writes "
            "it\n"
            "checked 2 tasks, 2 accesses and 0 event elements: 1 defect\n");
}

TEST(SettledReads, AWriteThatEventsPutBehindItBreaksThePromise) {
  // "Not written while the graph runs" is what is promised: not "not written yet".
  ProgramDescription program = step();
  program.calls = {{"attend", "", {}, {}}, {"evict", "", {}, {}}};
  Recorder recorder(2);
  ScriptedTask(recorder, 0, 0, 0, {}).readSettled(Keys, {3, 0}, {1, 64}).notify(1, 0);
  ScriptedTask(recorder, 1, 1, 0, {}).wait(1, 0, 1).write(Keys, {0, 0}, {8, 64});
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "keys[3, 0:64] was promised to be settled, so attend() may read it before its waits, but evict() writes "
            "it\n"
            "checked 2 tasks, 2 accesses and 1 event elements: 1 defect\n");
}

TEST(SettledReads, ATaskThatWritesItItselfBreaksThePromise) {
  ProgramDescription program = step();
  program.calls = {{"attend", "", {}, {}}};
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 0, {}).write(Keys, {3, 0}, {1, 64}).readSettled(Keys, {3, 0}, {1, 64});
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "keys[3, 0:64] was promised to be settled, so attend() may read it before its waits, but it writes it "
            "itself\n"
            "checked 1 tasks, 2 accesses and 0 event elements: 1 defect\n");
}

TEST(SettledReads, OtherReadsOfTheSameElementsAreStillOrderedByEvents) {
  // One task has no promise and no wait: a conflict as ever, beside the other task's promise, which is kept.
  ProgramDescription program = step();
  Recorder recorder(1);
  append(recorder, 0);
  append(recorder, 1);
  attend(recorder, 0, 4);
  ScriptedTask(recorder, 0, Attend, 1, {1}).readSettled(Keys, {3, 0}, {1, 64}).read(Keys, {5, 0}, {1, 64});
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "no event orders append(t=1) and attend(t=1): the first writes keys[5, 0:64], the second reads "
            "keys[5, 0:64], they share keys[5, 0:64]; appended leads from append to attend, but append(t=1) notifies "
            "appended and attend(t=1) waits for none of its elements\n"
            "checked 4 tasks, 9 accesses and 1 event elements: 1 defect\n");
}

} // namespace
} // namespace evt::observe
