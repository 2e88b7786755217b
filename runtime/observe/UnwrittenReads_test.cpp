// Reads of planned memory: a row of four parts that are summed.
#include "runtime/observe/HappensBefore.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <gtest/gtest.h>

namespace evt::observe {
namespace {

enum Call : uint32_t { Partial, Total };
constexpr uint32_t P = 0, Done = 0;

ProgramDescription rowSum(bool planned = true) {
  ProgramDescription program;
  program.memories = {{"p", {2, 4}, planned}};
  program.events = {{"done", {2}}};
  program.calls = {{"partial", "", {"i", "j"}, {2, 4}, /*ragged=*/true}, {"total", "", {"i"}, {2}}};
  return program;
}

/// All parts of both rows, but part `left` of row 1.
void partials(Recorder &recorder, int64_t left) {
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 4; ++j)
      if (i == 0 || j != left)
        ScriptedTask(recorder, 0, Partial, 4 * i + j, {i, j}).write(P, {i, j}, {1, 1}).notify(Done, i);
}

TEST(UnwrittenReads, WhatAllTasksTogetherWriteIsThere) {
  Recorder recorder(1);
  partials(recorder, -1);
  ScriptedTask(recorder, 0, Total, 0, {0}).wait(Done, 0, 4).read(P, {0, 0}, {1, 4});
  ScriptedTask(recorder, 0, Total, 1, {1}).wait(Done, 0, 4).wait(Done, 1, 4).read(P, {0, 1}, {2, 2});
  EXPECT_EQ(toText(checkHappensBefore(recorder, rowSum())),
            "checked 10 tasks, 10 accesses and 2 event elements: no defect\n");
}

TEST(UnwrittenReads, TheFirstElementIsNamedOnceForEachTask) {
  Recorder recorder(1);
  partials(recorder, 2);
  ScriptedTask(recorder, 0, Total, 0, {0}).wait(Done, 0, 4).read(P, {0, 0}, {1, 4});
  ScriptedTask(recorder, 0, Total, 1, {1})
      .wait(Done, 0, 4)
      .wait(Done, 1, 3)
      .read(P, {1, 0}, {1, 4})
      .read(P, {0, 0}, {2, 4});
  CheckReport report = checkHappensBefore(recorder, rowSum());
  EXPECT_EQ(toText(report), "total(i=1) reads p[1, 0:4], but no task writes p[1, 2]\n"
                            "checked 9 tasks, 10 accesses and 2 event elements: 1 defect\n");
  EXPECT_EQ(report.total(FindingKind::Unwritten), 1u);
}

TEST(UnwrittenReads, ArgumentsHoldSomethingFromTheStart) {
  Recorder recorder(1);
  ScriptedTask(recorder, 0, Total, 0, {0}).read(P, {0, 0}, {1, 4});
  ScriptedTask(recorder, 0, Total, 1, {1}).read(P, {1, 0}, {1, 4});
  EXPECT_TRUE(checkHappensBefore(recorder, rowSum(/*planned=*/false)).clean());
  EXPECT_EQ(checkHappensBefore(recorder, rowSum()).total(FindingKind::Unwritten), 2u);
}

TEST(UnwrittenReads, AScalarHasOneElement) {
  ProgramDescription program;
  program.memories = {{"s", {}, true}};
  program.events = {{"set", {}}};
  program.calls = {{"set", "", {}, {}}, {"get", "", {}, {}}};
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 0, {}).write(0, {}, {}).notify(0, 0);
  ScriptedTask(recorder, 0, 1, 0, {}).wait(0, 0, 1).read(0, {}, {});
  EXPECT_TRUE(checkHappensBefore(recorder, program).clean());
  recorder.clear();
  ScriptedTask(recorder, 0, 0, 0, {}).notify(0, 0);
  ScriptedTask(recorder, 0, 1, 0, {}).wait(0, 0, 1).read(0, {}, {});
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "get() reads s, but no task writes s\n"
            "checked 2 tasks, 1 accesses and 1 event elements: 1 defect\n");
}

} // namespace
} // namespace evt::observe
