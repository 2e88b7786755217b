// Random small programs, judged twice: by the symbolic proof, and task by task by code that shares nothing with it.
//
// A program is kept as plain numbers (Program below). From these it is written once as integer sets for verify(), and
// evaluated once with loops over every value of n, every task and every element. The proof must never accept what the
// loops refute, and never reject what they accept.
#include "compiler/analysis/Verify.h"

#include "compiler/analysis/Infer.h"
#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

#include <random>

namespace evt {
namespace {

constexpr int smallestN = 1, largestN = 4;

/// a * i + b * j + d, for a task (i, j).
struct Form {
  int a = 0, b = 0, d = 0;
  int at(int i, int j) const { return a * i + b * j + d; }
  std::string text() const { return std::to_string(a) + " * i + " + std::to_string(b) + " * j + " + std::to_string(d); }
};

/// The elements form .. form + length - 1, clipped to the shape.
struct Span {
  Form form;
  int length = 1;
};

struct Use {
  int target = 0; // memory or event
  bool write = false;
  Span span;
};

/// An extent: plus + (n if symbolic).
struct Extent {
  bool symbolic = false;
  int plus = 0;
  int at(int n) const { return (symbolic ? n : 0) + plus; }
  std::string text() const { return (symbolic ? "n + " : "") + std::to_string(plus); }
};

struct ProgramCall {
  Extent rows, columns;
  std::vector<Use> accesses, waits, notifies;
};

struct Program {
  std::vector<Extent> memories, events;
  std::vector<ProgramCall> calls;
  bool repeated = false; // rows are iterations: all calls of row i come before those of row i + 1
  int wrongCount = -1;   // the event whose count is one too large at its element 0
};

//===----------------------------------------------------------------------===//
// Evaluation with loops
//===----------------------------------------------------------------------===//

struct ConcreteTask {
  int call, i, j;
};

std::vector<ConcreteTask> tasksInOrder(const Program &program, int n) {
  std::vector<ConcreteTask> tasks;
  int calls = static_cast<int>(program.calls.size());
  if (program.repeated) {
    for (int i = 0; i < 8; ++i)
      for (int c = 0; c < calls; ++c)
        for (int j = 0; i < program.calls[c].rows.at(n) && j < program.calls[c].columns.at(n); ++j)
          tasks.push_back({c, i, j});
    return tasks;
  }
  for (int c = 0; c < calls; ++c)
    for (int i = 0; i < program.calls[c].rows.at(n); ++i)
      for (int j = 0; j < program.calls[c].columns.at(n); ++j)
        tasks.push_back({c, i, j});
  return tasks;
}

bool touches(const Use &use, const ConcreteTask &task, int target, int element) {
  int first = use.span.form.at(task.i, task.j);
  return use.target == target && first <= element && element < first + use.span.length;
}

bool touches(const std::vector<Use> &uses, const ConcreteTask &task, int target, int element, bool writesOnly = false) {
  for (const Use &use : uses)
    if (touches(use, task, target, element) && (use.write || !writesOnly))
      return true;
  return false;
}

int notifications(const Program &program, const std::vector<ConcreteTask> &tasks, int event, int element) {
  int number = 0;
  for (const ConcreteTask &task : tasks)
    for (const Use &use : program.calls[task.call].notifies)
      number += touches(use, task, event, element);
  return number;
}

bool wellFormed(const Program &program, int n) {
  std::vector<ConcreteTask> tasks = tasksInOrder(program, n);
  for (const ConcreteTask &task : tasks)
    for (const Use &use : program.calls[task.call].notifies) {
      int first = use.span.form.at(task.i, task.j);
      if (first < 0 || first + use.span.length > program.events[use.target].at(n))
        return false;
    }
  if (program.wrongCount >= 0 && program.events[program.wrongCount].at(n) > 0)
    return false;
  size_t number = tasks.size();
  std::vector<std::vector<char>> before(number, std::vector<char>(number, 0));
  for (size_t a = 0; a < number; ++a)
    for (size_t b = 0; b < number; ++b)
      for (size_t event = 0; event < program.events.size(); ++event)
        for (int element = 0; element < program.events[event].at(n); ++element)
          if (touches(program.calls[tasks[a].call].notifies, tasks[a], static_cast<int>(event), element) &&
              touches(program.calls[tasks[b].call].waits, tasks[b], static_cast<int>(event), element)) {
            if (a >= b)
              return false;
            before[a][b] = 1;
          }
  for (size_t c = 0; c < number; ++c)
    for (size_t a = 0; a < number; ++a)
      for (size_t b = 0; before[a][c] && b < number; ++b)
        before[a][b] |= before[c][b];
  for (size_t a = 0; a < number; ++a)
    for (size_t b = a + 1; b < number; ++b)
      for (size_t memory = 0; memory < program.memories.size(); ++memory)
        for (int element = 0; element < program.memories[memory].at(n); ++element) {
          const auto &first = program.calls[tasks[a].call].accesses, &second = program.calls[tasks[b].call].accesses;
          int m = static_cast<int>(memory);
          bool conflict = (touches(first, tasks[a], m, element, true) && touches(second, tasks[b], m, element)) ||
                          (touches(first, tasks[a], m, element) && touches(second, tasks[b], m, element, true));
          if (conflict && !before[a][b])
            return false;
        }
  return true;
}

//===----------------------------------------------------------------------===//
// The same program as integer sets
//===----------------------------------------------------------------------===//

std::string relation(int call, char kind, const Use &use) {
  std::string target = kind + std::to_string(use.target);
  return "{ C" + std::to_string(call) + "[i, j] -> " + target + "[e] : " + use.span.form.text() + " <= e < " +
         use.span.form.text() + " + " + std::to_string(use.span.length) + " }";
}

TaskGraph toGraph(const Program &program) {
  test::GraphText text;
  text.symbol("n", smallestN, largestN);
  for (size_t memory = 0; memory < program.memories.size(); ++memory)
    text.memory("m" + std::to_string(memory),
                "{ M" + std::to_string(memory) + "[e] : 0 <= e < " + program.memories[memory].text() + " }");
  for (size_t event = 0; event < program.events.size(); ++event) {
    std::string name = "E" + std::to_string(event), count;
    for (int n = smallestN; n <= largestN; ++n)
      for (int element = 0; element < program.events[event].at(n); ++element) {
        int value = notifications(program, tasksInOrder(program, n), static_cast<int>(event), element) +
                    (program.wrongCount == static_cast<int>(event) && element == 0);
        count += (count.empty() ? "" : "; ") + name + "[e] -> " + std::to_string(value) +
                 " : n = " + std::to_string(n) + " and e = " + std::to_string(element);
      }
    text.event("e" + std::to_string(event), "{ " + name + "[e] : 0 <= e < " + program.events[event].text() + " }",
               "{ " + count + " }");
  }
  for (size_t c = 0; c < program.calls.size(); ++c) {
    const ProgramCall &call = program.calls[c];
    std::string name = "C" + std::to_string(c);
    std::string place = program.repeated ? "[i, " + std::to_string(c) + ", j]" : "[" + std::to_string(c) + ", i, j]";
    text.call("c" + std::to_string(c), {"i", "j"},
              "{ " + name + "[i, j] : 0 <= i < " + call.rows.text() + " and 0 <= j < " + call.columns.text() + " }",
              "{ " + name + "[i, j] -> " + place + " }");
    for (const Use &use : call.waits)
      text.waits(relation(static_cast<int>(c), 'E', use));
    for (const Use &use : call.accesses)
      use.write ? text.writes(relation(static_cast<int>(c), 'M', use))
                : text.reads(relation(static_cast<int>(c), 'M', use));
    for (const Use &use : call.notifies)
      text.notifies(relation(static_cast<int>(c), 'E', use));
  }
  return text.graph;
}

//===----------------------------------------------------------------------===//
// Generation
//===----------------------------------------------------------------------===//

class Generator {
public:
  explicit Generator(unsigned seed) : random(seed) {}

  Program program() {
    Program result;
    result.repeated = chance(40);
    int calls = between(1, 3);
    for (int m = between(1, 2); m > 0; --m)
      result.memories.push_back({chance(50), between(1, 4)});
    for (int c = 0; c < calls; ++c) {
      ProgramCall call;
      call.rows = chance(70) ? Extent{true, 0} : Extent{false, between(1, 3)};
      call.columns = chance(60) ? Extent{false, 1} : Extent{false, between(2, 3)};
      for (int a = between(1, 2); a > 0; --a)
        call.accesses.push_back(
            {between(0, static_cast<int>(result.memories.size()) - 1), chance(50), {form(), between(1, 2)}});
      result.calls.push_back(call);
    }
    // Events between calls; an event inside one call or from a later one orders iterations.
    for (int from = 0; from < calls; ++from)
      for (int to = 0; to < calls; ++to) {
        if (from < to ? !chance(75) : !chance(result.repeated || from == to ? 40 : 3))
          continue;
        int event = static_cast<int>(result.events.size());
        Use notify, wait;
        notify.target = wait.target = event;
        int style = between(0, 3);
        if (style == 0 && from < to && !result.repeated) { // one element for everything
          result.events.push_back({false, 1});
        } else if (style <= 2) { // one element a row
          result.events.push_back({true, 2});
          notify.span.form = {1, 0, 0};
          int shift = from < to ? between(-1, 0) : -1;
          wait.span = {{1, 0, chance(90) ? shift : 0}, between(1, 1 - shift)};
          if (!result.repeated && from < to && chance(40))
            wait.span = {{0, 0, 0}, 6};
        } else { // anything
          result.events.push_back({true, between(1, 4)});
          notify.span.form = form();
          wait.span = {form(), between(1, 3)};
        }
        result.calls[from].notifies.push_back(notify);
        result.calls[to].waits.push_back(wait);
      }
    if (!result.events.empty() && chance(5))
      result.wrongCount = between(0, static_cast<int>(result.events.size()) - 1);
    return result;
  }

private:
  bool chance(int percent) { return between(1, 100) <= percent; }
  int between(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); }
  Form form() {
    return {between(0, 9) < 7 ? 1 : between(-1, 2), between(0, 9) < 7 ? 0 : 1, between(0, 9) < 7 ? 0 : between(-1, 1)};
  }

  std::mt19937 random;
};

TEST(VerifyRandom, AgreesWithEnumeration) {
  int accepted = 0, rejected = 0, open = 0;
  for (unsigned seed = 0; seed < 200; ++seed) {
    Program program = Generator(seed).program();
    TaskGraph graph = toGraph(program);
    Findings findings = verify(graph);
    bool good = true;
    for (int n = smallestN; n <= largestN; ++n)
      good &= wellFormed(program, n);
    if (!findings.ok()) {
      EXPECT_FALSE(good) << "seed " << seed << ": " << findings.violations[0].message;
      // The counterexample is one.
      EXPECT_FALSE(wellFormed(program, static_cast<int>(findings.violations[0].symbols[0]))) << "seed " << seed;
      ++rejected;
    } else if (findings.obligations.empty()) {
      EXPECT_TRUE(good) << "seed " << seed;
      ++accepted;
    } else {
      ++open;
    }
    if (HasFailure())
      break;
  }
  // The programs are of both kinds, and the proof decides nearly all of them.
  EXPECT_GE(accepted, 25);
  EXPECT_GE(rejected, 40);
  EXPECT_LE(open, 2);
}

TEST(InferRandom, InferredEventsAreProved) {
  int withEventsFound = 0, failed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    TaskGraph graph = test::withoutEvents(toGraph(Generator(seed).program()));
    Inference inference = inferEvents(graph);
    failed += !inference.failures.empty();
    if (!inference.failures.empty())
      continue;
    withEventsFound += !inference.events.empty();
    Findings findings = verify(withEvents(graph, inference));
    EXPECT_TRUE(findings.ok()) << "seed " << seed << ": " << findings.violations[0].message;
    EXPECT_TRUE(findings.obligations.empty()) << "seed " << seed << ": " << findings.obligations[0].name;
  }
  EXPECT_GE(withEventsFound, 60);
  EXPECT_LE(failed, 5);
}

} // namespace
} // namespace evt
