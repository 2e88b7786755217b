// Random runs against an independent judge: reachability over single records by Warshall's algorithm, conflicts by
// comparing every pair of accesses cell by cell. And one run of the size the checker promises to handle.
#include "runtime/observe/HappensBefore.h"

#include "runtime/observe/ScriptedRun_test.h"

#include <algorithm>
#include <bitset>
#include <chrono>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace evt::observe {
namespace {

struct Operation {
  enum Kind { Wait, Read, ReadSettled, Write, Notify } kind;
  uint32_t id;
  int64_t element = 0;
  Index offset{}, size{};
};

struct RandomTask {
  uint32_t call;
  int64_t index;
  std::vector<Operation> operations;
};

struct RandomRun {
  ProgramDescription program;
  std::vector<RandomTask> tasks; // in program order
};

// Waits go to elements that earlier tasks notified, so there is no circle; operations come in any order inside a task.
RandomRun randomRun(std::mt19937 &random, bool orderly) {
  auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  RandomRun run;
  run.program.memories = {{"m", {4, 4}}, {"v", {6}}, {"s", {}}};
  run.program.events = {{"e", {3, 4}}, {"f", {8}}};
  int64_t extent = 1 + below(9);
  run.program.calls = {{"a", "", {"i"}, {extent}}, {"b", "", {"i"}, {extent}}, {"c", "", {"i"}, {extent}}};
  std::vector<std::vector<bool>> waited{std::vector<bool>(12), std::vector<bool>(8)};
  std::vector<std::vector<bool>> notified = waited;
  for (uint32_t call = 0; call < 3; ++call)
    for (int64_t index = 0; index < extent; ++index) {
      RandomTask task{call, index, {}};
      int64_t amount = 1 + below(7);
      for (int64_t o = 0; o < amount; ++o) {
        uint32_t event = static_cast<uint32_t>(below(2));
        int64_t element = below(event == 0 ? 12 : 8);
        switch (below(3)) {
        case 0:
          task.operations.push_back({Operation::Wait, event, element});
          break;
        case 1:
          task.operations.push_back({Operation::Notify, event, element});
          break;
        default:
          uint32_t memory = static_cast<uint32_t>(below(3));
          int64_t kind = below(12);
          Operation access{kind < 4 ? Operation::Write : kind == 4 ? Operation::ReadSettled : Operation::Read, memory};
          for (int64_t shape : run.program.memories[memory].shape) {
            access.offset.push_back(below(shape));
            access.size.push_back(1 + below(std::min<int64_t>(2, shape - access.offset.back())));
          }
          task.operations.push_back(access);
        }
      }
      if (orderly)
        std::ranges::stable_sort(task.operations, {}, [](const Operation &operation) {
          return operation.kind == Operation::Wait ? 0 : operation.kind == Operation::Notify ? 2 : 1;
        });
      // A notify of what was waited for, here or earlier, could close a circle: dropped.
      std::erase_if(task.operations, [&](const Operation &operation) {
        if (operation.kind == Operation::Wait)
          waited[operation.id][static_cast<size_t>(operation.element)] = true;
        return operation.kind == Operation::Notify && waited[operation.id][static_cast<size_t>(operation.element)];
      });
      run.tasks.push_back(task);
    }
  return run;
}

// Long loose chains over two cells, so that boxes collect many accessors: task t waits for some of the six tasks before
// it, and each cell is touched by a hundred tasks, most but not all of them ordered.
RandomRun chainedRun(std::mt19937 &random) {
  constexpr int64_t kTasks = 150;
  auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  RandomRun run;
  run.program.memories = {{"v", {2}}};
  run.program.events = {{"done", {kTasks}}};
  run.program.calls = {{"a", "", {"i"}, {kTasks}}};
  int64_t loose = below(12); // percent of tasks that do not wait for the one before
  for (int64_t index = 0; index < kTasks; ++index) {
    RandomTask task{0, index, {}};
    if (index > 0 && below(100) >= loose)
      task.operations.push_back({Operation::Wait, 0, index - 1});
    if (index > 0)
      task.operations.push_back({Operation::Wait, 0, index - 1 - below(std::min<int64_t>(6, index))});
    int64_t offset = below(2);
    task.operations.push_back(
        {below(3) == 0 ? Operation::Write : Operation::Read, 0, 0, {offset}, {1 + below(2 - offset)}});
    task.operations.push_back({Operation::Notify, 0, index});
    run.tasks.push_back(task);
  }
  return run;
}

using Pairs = std::map<std::string, uint64_t>; // subject -> pairs of tasks

Pairs judge(const RandomRun &run) {
  std::vector<std::pair<size_t, const Operation *>> all; // task, operation
  for (size_t t = 0; t < run.tasks.size(); ++t)
    for (const Operation &operation : run.tasks[t].operations)
      all.emplace_back(t, &operation);
  size_t n = all.size();
  EXPECT_LE(n, 1024u);
  std::vector<std::bitset<1024>> before(n);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b) {
      bool follows = all[a].first == all[b].first && a < b;
      bool wakes = all[a].second->kind == Operation::Notify && all[b].second->kind == Operation::Wait &&
                   all[a].second->id == all[b].second->id && all[a].second->element == all[b].second->element;
      before[a][b] = follows || wakes;
    }
  for (size_t k = 0; k < n; ++k)
    for (size_t a = 0; a < n; ++a)
      if (before[a][k])
        before[a] |= before[k];
  auto touches = [](const Operation &operation) {
    return operation.kind == Operation::Read || operation.kind == Operation::Write;
  };
  auto breaks = [](const Operation &write, const Operation &read) {
    return write.kind == Operation::Write && read.kind == Operation::ReadSettled && write.id == read.id;
  };
  auto cells = [](const Operation &operation) {
    std::vector<Index> list{{}};
    for (size_t d = 0; d < operation.offset.size(); ++d) {
      std::vector<Index> longer;
      for (const Index &cell : list)
        for (int64_t at = 0; at < operation.size[d]; ++at) {
          longer.push_back(cell);
          longer.back().push_back(operation.offset[d] + at);
        }
      list = longer;
    }
    return list;
  };
  auto overlap = [&](const Operation &one, const Operation &two) {
    std::vector<Index> mine = cells(one), other = cells(two);
    return std::ranges::any_of(mine, [&](const Index &cell) { return std::ranges::find(other, cell) != other.end(); });
  };
  std::set<std::tuple<size_t, size_t, uint32_t>> conflicts, broken; // broken: reader, writer
  for (size_t a = 0; a < n; ++a)
    for (size_t b = 0; b < n; ++b)
      if (breaks(*all[a].second, *all[b].second) && overlap(*all[a].second, *all[b].second))
        broken.emplace(all[b].first, all[a].first, all[a].second->id);
  for (size_t a = 0; a < n; ++a)
    for (size_t b = a + 1; b < n; ++b) {
      const Operation &one = *all[a].second, &two = *all[b].second;
      if (all[a].first == all[b].first || !touches(one) || !touches(two) || one.id != two.id ||
          (one.kind == Operation::Read && two.kind == Operation::Read) || before[a][b] || before[b][a])
        continue;
      if (overlap(one, two))
        conflicts.emplace(all[a].first, all[b].first, one.id);
    }
  Pairs pairs;
  for (auto [first, second, memory] : conflicts)
    ++pairs["conflicts of " + run.program.calls[run.tasks[first].call].name + " and " +
            run.program.calls[run.tasks[second].call].name + " on " + run.program.memories[memory].name];
  for (auto [reader, writer, memory] : broken)
    ++pairs["promises to " + run.program.calls[run.tasks[reader].call].name + " on " +
            run.program.memories[memory].name + " that " + run.program.calls[run.tasks[writer].call].name + " breaks"];
  return pairs;
}

// Deals the tasks to workers at random, each worker in an order of its own.
void replay(const RandomRun &run, Recorder &recorder, std::mt19937 &random) {
  std::vector<const RandomTask *> tasks;
  for (const RandomTask &task : run.tasks)
    tasks.push_back(&task);
  std::ranges::shuffle(tasks, random);
  for (const RandomTask *task : tasks) {
    uint32_t worker = static_cast<uint32_t>(random() % recorder.workers());
    ScriptedTask script(recorder, worker, task->call, task->index, {task->index});
    for (const Operation &operation : task->operations)
      switch (operation.kind) {
      case Operation::Wait:
        script.wait(operation.id, operation.element, 1);
        break;
      case Operation::Notify:
        script.notify(operation.id, operation.element);
        break;
      case Operation::Read:
        script.read(operation.id, operation.offset, operation.size);
        break;
      case Operation::ReadSettled:
        script.readSettled(operation.id, operation.offset, operation.size);
        break;
      case Operation::Write:
        script.write(operation.id, operation.offset, operation.size);
        break;
      }
  }
}

struct Verdicts {
  int conflicting = 0;
  int clean = 0;
};

template <typename Make> void compareWithJudge(Make make, uint32_t seed, int rounds, Verdicts &verdicts) {
  std::mt19937 random(seed);
  for (int round = 0; round < rounds; ++round) {
    RandomRun run = make(random);
    Pairs expected = judge(run);
    (expected.empty() ? verdicts.clean : verdicts.conflicting) += 1;
    std::string text;
    for (uint32_t workers : {1u, 3u, 7u}) {
      Recorder recorder(workers);
      replay(run, recorder, random);
      CheckReport report = checkHappensBefore(recorder, run.program);
      ASSERT_EQ(report.refusal, "");
      ASSERT_EQ(report.total(FindingKind::Circle), 0u);
      Pairs got;
      for (const Finding &finding : report.findings)
        if (finding.kind == FindingKind::Conflict || finding.kind == FindingKind::BrokenPromise)
          got[finding.subject] = finding.total;
      ASSERT_EQ(got, expected) << "round " << round;
      // The same run dealt differently gives the same report, letter by letter.
      if (workers > 1) {
        ASSERT_EQ(toText(report), text) << "round " << round;
      }
      text = toText(report);
    }
  }
}

// Each kind of run must come out both ways often enough to mean something.
TEST(HappensBeforeRandom, AgreesWithTheJudgeOnOrderlyTasks) {
  Verdicts verdicts;
  compareWithJudge([](std::mt19937 &random) { return randomRun(random, true); }, 1, 400, verdicts);
  EXPECT_GT(verdicts.conflicting, 100);
  EXPECT_GT(verdicts.clean, 10);
}

TEST(HappensBeforeRandom, AgreesWithTheJudgeOnTasksInAnyOrder) {
  Verdicts verdicts;
  compareWithJudge([](std::mt19937 &random) { return randomRun(random, false); }, 2, 400, verdicts);
  EXPECT_GT(verdicts.conflicting, 100);
  EXPECT_GT(verdicts.clean, 10);
}

TEST(HappensBeforeRandom, AgreesWithTheJudgeOnLongChains) {
  Verdicts verdicts;
  compareWithJudge(chainedRun, 3, 40, verdicts);
  EXPECT_GT(verdicts.conflicting, 10);
  EXPECT_GT(verdicts.clean, 1);
}

// 50 layers of 1 000 tasks. Task (l, i) waits for 64 elements of layer l-1 and writes one row of a buffer that two
// layers share in turn; 3.2 million waits, 3.2 million reads, 50 000 different ancestor sets.
void largeRun(Recorder &recorder, ProgramDescription &program, int64_t layers, int64_t width, bool broken) {
  constexpr int64_t kReach = 64;
  program.memories = {{"ping", {2, width, 8}}};
  program.events = {{"done", {layers, width}}, {"read", {layers, width}}};
  program.calls = {{"layer", "layer", {"l", "i"}, {layers, width}, false, {}, 0}};
  for (int64_t l = 0; l < layers; ++l)
    for (int64_t i = 0; i < width; ++i) {
      ScriptedTask task(recorder, static_cast<uint32_t>(i) % recorder.workers(), 0, l * width + i, {l, i});
      for (int64_t k = 0; l > 0 && k < kReach; ++k)
        task.wait(0, (l - 1) * width + (i + k) % width, 1);
      // Row i of this half of the buffer was read in layer l-1 by tasks i-63 … i.
      for (int64_t k = 0; l > 1 && k < kReach; ++k)
        if (!(broken && l == 7 && i == 5 && k == 1))
          task.wait(1, (l - 1) * width + (i + width - k) % width, 1);
      for (int64_t k = 0; l > 0 && k < kReach; ++k)
        task.read(0, {(l - 1) % 2, (i + k) % width, 0}, {1, 1, 8});
      task.write(0, {l % 2, i, 0}, {1, 1, 8});
      task.notify(0, l * width + i);
      task.notify(1, l * width + i);
    }
}

TEST(HappensBeforeScale, FiftyThousandTasksAndMillionsOfWaits) {
  ProgramDescription program;
  Recorder recorder(4);
  largeRun(recorder, program, 50, 1000, false);
  auto start = std::chrono::steady_clock::now();
  CheckReport report = checkHappensBefore(recorder, program);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(toText(report), "checked 50000 tasks, 3186000 accesses and 100000 event elements: no defect\n");
  RecordProperty("seconds", std::to_string(seconds));
  EXPECT_LT(seconds, 60.0); // seconds on an idle machine; the bound only catches a change of complexity
}

TEST(HappensBeforeScale, OneMissingWaitAmongMillionsIsFound) {
  ProgramDescription program;
  Recorder recorder(4);
  largeRun(recorder, program, 20, 500, true);
  EXPECT_EQ(toText(checkHappensBefore(recorder, program)),
            "no event orders layer(l=6, i=4) and layer(l=7, i=5): the first reads ping[1, 5, 0:8], the second writes "
            "ping[1, 5, 0:8], they share ping[1, 5, 0:8]; done leads from layer to layer, but layer(l=6, i=4) notifies "
            "done[6, 4] and layer(l=7, i=5) waits for done[6, 5], done[6, 6], done[6, 7], …\n"
            "checked 10000 tasks, 618000 accesses and 20000 event elements: 1 defect\n");
}

} // namespace
} // namespace evt::observe
