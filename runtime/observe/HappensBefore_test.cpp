// Runs written by hand, with reports worked out by hand. The program is the row sums of Description.h with n = 2.
#include "runtime/observe/HappensBefore.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <gtest/gtest.h>

namespace evt::observe {
namespace {

enum Memory : uint32_t { X, P, Y };
enum Call : uint32_t { Partial, Total };
constexpr uint32_t Done = 0;

ProgramDescription rowSum() {
  ProgramDescription program;
  program.name = "row_sum";
  program.memories = {{"x", {2, 4096}}, {"p", {2, 4}}, {"y", {2}}};
  program.events = {{"done", {2}}};
  program.calls = {{"partial", "partial", {"i", "j"}, {2, 4}}, {"total", "total", {"i"}, {2}}};
  return program;
}

void partial(Recorder &recorder, uint32_t worker, int64_t i, int64_t j) {
  ScriptedTask(recorder, worker, Partial, i * 4 + j, {i, j})
      .read(X, {i, j * 1024}, {1, 1024})
      .write(P, {i, j}, {1, 1})
      .notify(Done, i);
}

void partials(Recorder &recorder) {
  for (int64_t i = 0; i < 2; ++i)
    for (int64_t j = 0; j < 4; ++j)
      partial(recorder, 0, i, j);
}

void total(Recorder &recorder, uint32_t worker, int64_t i, int64_t waitsFor, int64_t count = 4) {
  ScriptedTask(recorder, worker, Total, i, {i}).wait(Done, waitsFor, count).read(P, {i, 0}, {1, 4}).write(Y, {i}, {1});
}

std::vector<std::string> messages(const CheckReport &report) {
  EXPECT_EQ(report.refusal, "");
  std::vector<std::string> all;
  for (const Finding &finding : report.findings)
    all.insert(all.end(), finding.messages.begin(), finding.messages.end());
  return all;
}

using Lines = std::vector<std::string>;

TEST(HappensBefore, ACleanRunIsClean) {
  Recorder recorder(2);
  partials(recorder);
  total(recorder, 1, 0, 0);
  total(recorder, 1, 1, 1);
  CheckReport report = checkHappensBefore(recorder, rowSum());
  EXPECT_TRUE(report.clean());
  EXPECT_EQ(toText(report), "checked 10 tasks, 20 accesses and 2 event elements: no defect\n");
}

TEST(HappensBefore, AWorkersOwnOrderOrdersNothing) {
  // One worker ran everything in a good order, but total(1) waits for the wrong row.
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  total(recorder, 0, 1, 0);
  CheckReport report = checkHappensBefore(recorder, rowSum());
  EXPECT_EQ(toText(report),
            "no event orders partial(i=1, j=0) and total(i=1): the first writes p[1, 0], the second reads p[1, 0:4], "
            "they share p[1, 0]; done leads from partial to total, but partial(i=1, j=0) notifies done[1] and "
            "total(i=1) waits for done[0]\n"
            "no event orders partial(i=1, j=1) and total(i=1): the first writes p[1, 1], the second reads p[1, 0:4], "
            "they share p[1, 1]; done leads from partial to total, but partial(i=1, j=1) notifies done[1] and "
            "total(i=1) waits for done[0]\n"
            "no event orders partial(i=1, j=2) and total(i=1): the first writes p[1, 2], the second reads p[1, 0:4], "
            "they share p[1, 2]; done leads from partial to total, but partial(i=1, j=2) notifies done[1] and "
            "total(i=1) waits for done[0]\n"
            "… and 1 more conflicts of partial and total on p\n"
            "checked 10 tasks, 20 accesses and 2 event elements: 4 defects\n");
}

TEST(HappensBefore, AnAccessIsOrderedOnlyByTheWaitsBeforeIt) {
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  ScriptedTask(recorder, 0, Total, 1, {1}).read(P, {1, 3}, {1, 1}).wait(Done, 1, 4).read(P, {1, 0}, {1, 4});
  EXPECT_EQ(messages(checkHappensBefore(recorder, rowSum())),
            (Lines{"no event orders partial(i=1, j=3) and total(i=1): the first writes p[1, 3], the second reads "
                   "p[1, 3], they share p[1, 3]; total(i=1) waits for done[1] only after that access"}));
}

TEST(HappensBefore, AnAccessAfterANotifyIsReportedAndUnordered) {
  Recorder recorder(1);
  partials(recorder);
  recorder.clear();
  for (int64_t j = 0; j < 4; ++j)
    partial(recorder, 0, 0, j);
  for (int64_t j = 0; j < 3; ++j)
    partial(recorder, 0, 1, j);
  ScriptedTask(recorder, 0, Partial, 7, {1, 3}).notify(Done, 1).write(P, {1, 3}, {1, 1});
  total(recorder, 0, 0, 0);
  total(recorder, 0, 1, 1);
  EXPECT_EQ(messages(checkHappensBefore(recorder, rowSum())),
            (Lines{"no event orders partial(i=1, j=3) and total(i=1): the first writes p[1, 3], the second reads "
                   "p[1, 0:4], they share p[1, 3]; partial(i=1, j=3) notifies done[1] before that access",
                   "partial(i=1, j=3) writes p[1, 3] after it notified done[1], a notify must follow every access of "
                   "its task"}));
}

TEST(HappensBefore, SaysWhichEventIsMissingWhenThereIsNone) {
  // Two totals write the same y, and nothing leads from total to total.
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  ScriptedTask(recorder, 0, Total, 1, {1}).wait(Done, 1, 4).read(P, {1, 0}, {1, 4}).write(Y, {0}, {2});
  CheckReport report = checkHappensBefore(recorder, rowSum());
  EXPECT_EQ(messages(report),
            (Lines{"no event orders total(i=0) and total(i=1): the first writes y[0], the second writes y[0:2], they "
                   "share y[0]; an event that total notifies and total waits for would have to"}));
  EXPECT_EQ(report.findings[0].subject, "conflicts of total and total on y");
}

TEST(HappensBefore, AReadThatAWriteMayOvertakeIsAConflict) {
  // WAR: total reads p and partial of a later call overwrites it.
  ProgramDescription program = rowSum();
  program.calls.push_back({"clear", "clear", {}, {}});
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 2, 0, {}).write(P, {0, 0}, {2, 4}); // logged first, last in program order
  partials(recorder);
  total(recorder, 0, 0, 0);
  total(recorder, 0, 1, 1);
  CheckReport report = checkHappensBefore(recorder, program);
  EXPECT_EQ(report.total(FindingKind::Conflict), 10u); // 8 partials write, 2 totals read
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[1].messages[0],
            "no event orders total(i=0) and clear(): the first reads p[0, 0:4], the second writes p[0:2, 0:4], they "
            "share p[0, 0:4]; an event that total notifies and clear waits for would have to");
}

TEST(HappensBefore, OrderIsTransitive) {
  // a -> b -> c through two events; c reads what a wrote, b touches nothing.
  ProgramDescription program;
  program.memories = {{"m", {}}};
  program.events = {{"e", {}}, {"f", {}}};
  program.calls = {{"a", "", {}, {}}, {"b", "", {}, {}}, {"c", "", {}, {}}};
  Recorder recorder(3);
  ScriptedTask(recorder, 2, 0, 0, {}).write(0, {}, {}).notify(0, 0);
  ScriptedTask(recorder, 1, 1, 0, {}).wait(0, 0, 1).notify(1, 0);
  ScriptedTask(recorder, 0, 2, 0, {}).wait(1, 0, 1).read(0, {}, {});
  EXPECT_TRUE(checkHappensBefore(recorder, program).clean());
}

TEST(HappensBefore, CountsNotifications) {
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0, 3);
  total(recorder, 0, 1, 1, 5);
  EXPECT_EQ(
      messages(checkHappensBefore(recorder, rowSum())),
      (Lines{"done[0] received 4 notifications, its count is 3", "done[1] received 4 notifications, its count is 5"}));
}

TEST(HappensBefore, AnElementNobodyNotifiedHasReceivedNone) {
  ProgramDescription program = rowSum();
  program.events.push_back({"flag", {}});
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  ScriptedTask(recorder, 0, Total, 1, {1}).wait(Done, 1, 4).wait(1, 0, 1).read(P, {1, 0}, {1, 4});
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)), (Lines{"flag received 0 notifications, its count is 1"}));
}

TEST(HappensBefore, WaitsMustAgreeOnTheCount) {
  ProgramDescription program = rowSum();
  program.calls[Total].extents = {3};
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  total(recorder, 0, 1, 1);
  ScriptedTask(recorder, 0, Total, 2, {2}).wait(Done, 1, 3);
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)), (Lines{"waits for done[1] gave the counts 3 and 4"}));
}

TEST(HappensBefore, AnElementNobodyWaitedForHoldsAtMostItsCount) {
  ProgramDescription program = rowSum();
  program.calls.pop_back();
  Recorder recorder(1);
  partials(recorder);
  EXPECT_TRUE(checkHappensBefore(recorder, program).clean());
  CheckOptions options;
  options.count = [](uint32_t, int64_t element) { return std::optional<int64_t>(element == 0 ? 3 : 9); };
  EXPECT_EQ(messages(checkHappensBefore(recorder, program, options)),
            (Lines{"done[0] received 4 notifications, its count is 3"}));
}

TEST(HappensBefore, AnElementOutsideItsEventIsReported) {
  Recorder recorder(1);
  partials(recorder);
  total(recorder, 0, 0, 0);
  ScriptedTask(recorder, 0, Total, 1, {1}).wait(Done, 1, 4).read(P, {1, 0}, {1, 4}).notify(Done, 2);
  EXPECT_EQ(messages(checkHappensBefore(recorder, rowSum())), (Lines{"element 2 of done is outside its 2 elements"}));
}

TEST(HappensBefore, CountsRunsOfTasks) {
  Recorder recorder(2);
  for (int64_t j = 0; j < 4; ++j)
    partial(recorder, 0, 0, j);
  partial(recorder, 1, 0, 2); // a second time
  total(recorder, 0, 0, 0, 5);
  ScriptedTask(recorder, 0, Total, 1, {1}).leaveOpen();
  CheckReport report = checkHappensBefore(recorder, rowSum());
  EXPECT_EQ(toText(report), "partial(i=0, j=2) ran 2 times\n"
                            "partial(i=1, j=0) never ran\n"
                            "partial(i=1, j=1) never ran\n"
                            "… and 2 more wrong runs of partial\n"
                            "total(i=1) began but did not end\n"
                            "checked 6 tasks, 10 accesses and 1 event elements: 6 defects\n");
}

TEST(HappensBefore, ARaggedCallHasABoundAndPerhapsANumber) {
  ProgramDescription program;
  program.calls = {{"gemm", "gemm", {"e", "r"}, {5}, true}};
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 0, {0, 0}).end();
  ScriptedTask(recorder, 0, 0, 1, {2, 0}).end();
  EXPECT_TRUE(checkHappensBefore(recorder, program).clean());
  program.calls[0].tasks = 3;
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)), (Lines{"gemm ran 2 tasks, 3 were expected"}));
  program.calls[0].tasks.reset();
  ScriptedTask(recorder, 0, 0, 5, {4, 0}).end();
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)), (Lines{"task 5 of gemm is outside its grid of 5 tasks"}));
}

TEST(HappensBefore, NamesACircle) {
  ProgramDescription program;
  program.events = {{"e", {}}, {"f", {}}};
  program.calls = {{"a", "", {}, {}}, {"b", "", {}, {}}};
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 0, {}).wait(1, 0, 1).notify(0, 0);
  ScriptedTask(recorder, 0, 1, 0, {}).wait(0, 0, 1).notify(1, 0);
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)),
            (Lines{"tasks wait for each other in a circle: a() notifies e, b() notifies f, for which a() waits; "
                   "conflicts were not searched"}));
}

TEST(HappensBefore, TheTaskOfAnEarlierIterationComesFirst) {
  // Two calls in one repeat: program order is a(0) b(0) a(1) b(1).
  ProgramDescription program;
  program.memories = {{"m", {2}}};
  program.calls = {{"a", "", {"l"}, {2}, false, {}, 0}, {"b", "", {"l"}, {2}, false, {}, 0}};
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 1, {1}).write(0, {0}, {1});
  ScriptedTask(recorder, 0, 1, 0, {0}).read(0, {0}, {2});
  ScriptedTask(recorder, 0, 0, 0, {0}).end();
  ScriptedTask(recorder, 0, 1, 1, {1}).end();
  EXPECT_EQ(messages(checkHappensBefore(recorder, program)),
            (Lines{"no event orders b(l=0) and a(l=1): the first reads m[0:2], the second writes m[0], they share "
                   "m[0]; an event that b notifies and a waits for would have to"}));
}

TEST(HappensBefore, RefusesWhatItCannotJudge) {
  RecorderOptions trace;
  trace.accesses = false;
  EXPECT_EQ(checkHappensBefore(Recorder(1, trace), rowSum()).refusal,
            "the recorder kept no accesses or no notifies, the check needs both");

  RecorderOptions small;
  small.maxBytesPerWorker = 1 << 20;
  Recorder full(2, small);
  for (int64_t task = 0; task < 100000; ++task)
    ScriptedTask(full, 1, Total, task, {task}).end();
  EXPECT_EQ(checkHappensBefore(full, rowSum()).refusal,
            "the log of worker 1 is incomplete: it reached its limit of 1 MiB or memory ran out");

  auto refusalOf = [](auto script) {
    Recorder recorder(1);
    script(recorder);
    CheckReport report = checkHappensBefore(recorder, rowSum());
    EXPECT_FALSE(report.clean());
    return report.refusal;
  };
  EXPECT_EQ(refusalOf([](Recorder &r) { ScriptedTask(r, 0, 2, 0, {}).end(); }),
            "the log names call 2, the program has 2");
  EXPECT_EQ(refusalOf([](Recorder &r) {
              ScriptedTask(r, 0, 0, 0, {0, 0}).notify(1, 0);
            }),
            "the log names event 1, the program has 1");
  EXPECT_EQ(refusalOf([](Recorder &r) {
              ScriptedTask(r, 0, 0, 0, {0, 0}).read(3, {}, {});
            }),
            "the log names memory 3, the program has 3");
  EXPECT_EQ(refusalOf([](Recorder &r) {
              ScriptedTask(r, 0, 0, 0, {0, 0}).read(P, {0}, {1});
            }),
            "the log accesses p with rank 1, it has rank 2");
  EXPECT_EQ(refusalOf([](Recorder &r) {
              ScriptedTask(r, 0, 0, 0, {0, 0}).leaveOpen();
              ScriptedTask(r, 0, 1, 1, {1}).end();
            }),
            "worker 0 began total(i=1) before it ended partial(i=0, j=0)");
  EXPECT_EQ(refusalOf([](Recorder &r) {
              ScriptedTask(r, 0, 0, 0, {0, 0}).end();
              r.hooks()->notify(r.hooks()->user, 0, 0, 0);
            }),
            "worker 0 reported something outside every task");
}

TEST(HappensBefore, RefusesARunBeyondTheMemoryLimit) {
  // A chain of 20 000 tasks: set t has t bits; two are alive at a time, the larger of 19 999 bits = 313 words.
  ProgramDescription program;
  program.events = {{"e", {20000}}};
  program.calls = {{"a", "", {"i"}, {20000}}};
  Recorder recorder(1);
  for (int64_t i = 0; i < 20000; ++i) {
    ScriptedTask task(recorder, 0, 0, i, {i});
    if (i > 0)
      task.wait(0, i - 1, 1);
    task.notify(0, i);
  }
  CheckOptions options;
  options.maxAncestorBytes = 2 * 313 * 8;
  EXPECT_TRUE(checkHappensBefore(recorder, program, options).clean());
  options.maxAncestorBytes -= 1;
  CheckReport report = checkHappensBefore(recorder, program, options);
  EXPECT_FALSE(report.clean());
  EXPECT_EQ(toText(report),
            "the check of 20000 tasks needs 5008 bytes for their ancestors, at most 5007 bytes are allowed; "
            "check a smaller shape\n");
}

} // namespace
} // namespace evt::observe
