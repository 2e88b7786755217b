// Random small programs, judged twice: by the symbolic proof, and task by task by code that shares nothing with it.
#include "compiler/analysis/Verify.h"

#include "compiler/analysis/Infer.h"
#include "compiler/analysis/RandomProgram.h"
#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using test::Instance;
using test::largestN;
using test::Program;
using test::smallestN;

/// The proof never accepts what some n refutes, never rejects what all n accept, and leaves almost nothing open.
TEST(VerifyRandom, AgreesWithEnumeration) {
  int accepted = 0, rejected = 0, open = 0;
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) {
    Program program = test::randomProgram(seed, /*withData=*/false);
    Findings findings = verify(toGraph(program));
    bool good = true;
    for (int n = smallestN; n <= largestN; ++n)
      good &= Instance(program, n, 0).wellFormed();
    if (!findings.ok()) {
      EXPECT_FALSE(good) << "seed " << seed << ": " << findings.violations[0].message;
      for (const Violation &violation : findings.violations)
        EXPECT_FALSE(Instance(program, static_cast<int>(violation.symbols[0]), 0).wellFormed()) << "seed " << seed;
      ++rejected;
    } else if (findings.obligations.empty()) {
      EXPECT_TRUE(good) << "seed " << seed;
      ++accepted;
    } else {
      ++open;
    }
  }
  EXPECT_GE(accepted, 25);
  EXPECT_GE(rejected, 40);
  EXPECT_LE(open, 2);
}

/// Where data decides, every run is one choice of the data. Whatever the choice: a pair of tasks that is not ordered is
/// under an obligation by name, unless the program is rejected; a rejected program is wrong for every choice.
TEST(VerifyRandom, ObligationsCoverEveryChoiceOfData) {
  int rejected = 0, covered = 0, quiet = 0;
  for (unsigned seed = 0; seed < 200 && !HasFailure(); ++seed) {
    Program program = test::randomProgram(seed, /*withData=*/true);
    Findings findings = verify(toGraph(program));
    std::set<std::string> open;
    for (const Obligation &obligation : findings.obligations)
      if (obligation.text.find("proved if") == std::string::npos) // these rest on counts, which hold in every run here
        open.insert(obligation.name);
    for (unsigned data = 0; data < 6; ++data) {
      if (!findings.ok()) {
        for (const Violation &violation : findings.violations)
          EXPECT_FALSE(Instance(program, static_cast<int>(violation.symbols[0]), data).wellFormed())
              << "seed " << seed << ": " << violation.message;
        ++rejected;
        continue;
      }
      for (int n = smallestN; n <= largestN; ++n) {
        Instance run(program, n, data);
        if (run.notifiesOutside()) {
          bool bound = std::any_of(open.begin(), open.end(), [](const std::string &name) { return name[0] == 'b'; });
          EXPECT_TRUE(bound) << "seed " << seed;
          continue;
        }
        if (run.waitsBackward()) {
          bool progress = std::any_of(open.begin(), open.end(), [](const std::string &name) { return name[0] == 'p'; });
          EXPECT_TRUE(progress) << "seed " << seed;
          continue;
        }
        for (auto [source, sink, memory] : run.unorderedDirect()) {
          std::string name =
              "order:c" + std::to_string(source) + "->c" + std::to_string(sink) + ":m" + std::to_string(memory);
          EXPECT_TRUE(open.count(name)) << "seed " << seed << " n " << n << " data " << data << " " << name;
          ++covered;
        }
        quiet += !run.anyUnordered();
      }
    }
  }
  EXPECT_GE(rejected, 100);
  EXPECT_GE(covered, 100);
  EXPECT_GE(quiet, 100);
}

TEST(InferRandom, InferredEventsAreProved) {
  int withEventsFound = 0, failed = 0;
  for (unsigned seed = 0; seed < 150; ++seed) {
    TaskGraph graph = test::withoutEvents(toGraph(test::randomProgram(seed, /*withData=*/false)));
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
