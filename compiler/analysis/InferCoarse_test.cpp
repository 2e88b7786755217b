// Needs for which no precise event can be written: the events found are coarser, and still prove the program.
#include "compiler/analysis/AffineFold.h"
#include "compiler/analysis/Infer.h"
#include "compiler/analysis/TestPrograms.h"
#include "compiler/analysis/Verify.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using test::GraphText;

testing::AssertionResult isExpression(const isl::pw_aff &found, const std::string &text, const isl::set &where) {
  isl::set same = found.eq_set(isl::pw_aff(found.ctx(), text));
  if (where.is_subset(same))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "found " << isl_pw_aff_to_str(found.get()) << ", expected " << text;
}

void expectProved(const TaskGraph &graph, const Inference &inference) {
  EXPECT_TRUE(inference.failures.empty());
  Findings findings = verify(withEvents(graph, inference));
  EXPECT_TRUE(findings.violations.empty()) << findings.violations[0].message;
  EXPECT_TRUE(findings.obligations.empty()) << findings.obligations[0].name;
}

/// A task reads squares on the diagonal and beside its own place, so which tasks have read an element is a cross with
/// an arm on the diagonal only.
constexpr const char *crossings = " -> M0[a, b] : (i <= a <= i + 1 and i - 1 <= b <= i) or "
                                  "(i - 1 <= a <= i and j <= b <= j + 1) or (a = i and i <= b <= i + 1) }";

TEST(InferCoarse, NeedWithoutAffineBoundsWaitsForTheWholeCall) {
  GraphText text;
  text.symbol("n", 0, 100000).memory("x", "{ M0[a, b] : 0 <= a < n and 0 <= b < n }");
  text.call("look", {"i", "j"}, "{ C0[i, j] : 0 <= i < n and 0 <= j < n }", "{ C0[i, j] -> [0, i, j] }")
      .reads(std::string("{ C0[i, j]") + crossings);
  text.call("change", {"i", "j"}, "{ C1[i, j] : 0 <= i < n and 0 <= j < n }", "{ C1[i, j] -> [1, i, j] }")
      .writes("{ C1[i, j] -> M0[i, j] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  EXPECT_TRUE(event.shape.empty());
  EXPECT_EQ(event.countFactors.size(), 2u); // n * n
  ASSERT_EQ(event.waits.size(), 1u);
  EXPECT_TRUE(event.waits[0].coarser);
  EXPECT_EQ(event.waits[0].why, "the tasks of look that change needs are in no box with affine bounds, so all that "
                                "come earlier are waited for");
  expectProved(text.graph, inference);
}

TEST(InferCoarse, InARepeatWholeIterationsAreWaitedFor) {
  GraphText text;
  text.symbol("n", 0, 100000).symbol("t", 0, 100000).memory("x", "{ M0[a, b] : 0 <= a < n and 0 <= b < n }");
  text.call("look", {"l", "i", "j"}, "{ C0[l, i, j] : 0 <= l < t and 0 <= i < n and 0 <= j < n }",
            "{ C0[l, i, j] -> [0, l, 0, i, j] }")
      .reads(std::string("{ C0[l, i, j]") + crossings);
  text.call("change", {"l", "i", "j"}, "{ C1[l, i, j] : 0 <= l < t and 0 <= i < n and 0 <= j < n }",
            "{ C1[l, i, j] -> [0, l, 1, i, j] }")
      .writes("{ C1[l, i, j] -> M0[i, j] }");
  for (Call &call : text.graph.calls)
    call.iterationDims = 1;
  Inference inference = inferEvents(text.graph);
  const InferredEvent *looked = nullptr;
  for (const InferredEvent &event : inference.events)
    looked = event.producer == 0 ? &event : looked;
  ASSERT_TRUE(looked);
  ASSERT_EQ(looked->shape.size(), 1u);
  const isl::set &tasks = text.graph.calls[1].domain;
  EXPECT_TRUE(isExpression(looked->notify[0], "{ C0[l, i, j] -> [l] }", text.graph.calls[0].domain));
  ASSERT_EQ(looked->waits.size(), 1u);
  // The same iteration is in the last box, and nothing later in any.
  EXPECT_TRUE(isExpression(looked->waits[0].boxes.back().hi[0], "{ C1[l, i, j] -> [l] }", tasks));
  expectProved(text.graph, inference);
}

TEST(InferCoarse, GroupsWhoseSizesHaveNoAffineFormAreUndone) {
  GraphText text;
  text.symbol("n", 0, 100000).symbol("m", 0, 100000).memory("x", "{ M0[a, b] : 0 <= a < n and 0 <= b < m }");
  text.memory("y", "{ M1[i, j] : 0 <= i < m and 0 <= 2 j < n }");
  text.call("make", {"i", "j"}, "{ C0[i, j] : 0 <= 2 i < n and 0 <= 2 j < m }", "{ C0[i, j] -> [0, i, j] }")
      .writes("{ C0[i, j] -> M0[a, b] : 2 i <= a <= 2 i + 1 and 2 j <= b <= 2 j + 1 }");
  text.call("use", {"i", "j"}, "{ C1[i, j] : 0 <= i < m and 0 <= 2 j < n }", "{ C1[i, j] -> [1, i, j] }")
      .reads("{ C1[i, j] -> M0[a, b] : 2 j - 1 <= a <= 2 j + 3 and 0 <= b <= 3 }")
      .writes("{ C1[i, j] -> M1[i, j] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  EXPECT_TRUE(event.countFactors.empty());
  EXPECT_TRUE(isExpression(event.notify[1], "{ C0[i, j] -> [j] }", text.graph.calls[0].domain));
  expectProved(text.graph, inference);
}

TEST(InferCoarse, WithoutAnyWorkNothingIsFound) {
  TaskGraph graph = test::withoutEvents(test::rowSum());
  Inference inference = inferEvents(graph, {1});
  EXPECT_TRUE(inference.events.empty());
  ASSERT_EQ(inference.failures.size(), 1u);
  EXPECT_EQ(inference.failures[0].message,
            "total needs partial through p, but no event was found that orders them: declare one");
  EXPECT_EQ(inference.failures[0].location, "call total");
}

/// Half of an even size: isl writes it as a fraction, and finds no extreme values of fractions.
TEST(InferCoarse, HalfOfAnEvenSizeIsACount) {
  GraphText text;
  text.symbol("n", 2, 100000).memory("x", "{ M0[a, b] : 0 <= 2 a < n and 0 <= b < n }");
  text.memory("y", "{ M1[b] : 0 <= b < n }");
  text.graph.context = text.graph.context.intersect(isl::set(text.graph.ctx(), "[n] -> { : n mod 2 = 0 }"));
  text.call("make", {"i", "j"}, "{ C0[i, j] : 0 <= 2 i < n and 0 <= j < n }", "{ C0[i, j] -> [0, i, j] }")
      .writes("{ C0[i, j] -> M0[i, j] }");
  text.call("sum", {"j"}, "{ C1[j] : 0 <= j < n }", "{ C1[j] -> [1, j, 0] }")
      .reads("{ C1[j] -> M0[a, j] }")
      .writes("{ C1[j] -> M1[j] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  ASSERT_EQ(inference.events[0].countFactors.size(), 1u);
  EXPECT_TRUE(isExpression(inference.events[0].countFactors[0], "[n] -> { E0[j] -> [n/2] : n mod 2 = 0 }",
                           inference.events[0].elements));
  expectProved(text.graph, inference);
}

TEST(AffineFold, ExtremeValuesOfFractions) {
  ContextOwner owner;
  isl::pw_aff ofTask(owner.get(), "{ C[i] -> [i/2] : i mod 2 = 0 and 3 <= i <= 9 }");
  EXPECT_EQ(leastValue(ofTask).num_si(), 2);
  EXPECT_EQ(largestValue(ofTask).num_si(), 4);
  isl::pw_aff ofSymbol(owner.get(), "[n] -> { [n/2] : n mod 2 = 0 and 0 <= n <= 9; "
                                    "[(n + 1)/2] : n mod 2 = 1 and 0 <= n <= 9 }");
  EXPECT_EQ(leastValue(ofSymbol).num_si(), 0);
  EXPECT_EQ(largestValue(ofSymbol).num_si(), 5);
  EXPECT_FALSE(largestValue(isl::pw_aff(owner.get(), "[n] -> { [n] : n >= 0 }")).is_int());
}

TEST(AffineFold, OnlyOneComparisonGivesAForm) {
  ContextOwner owner;
  isl::set all(owner.get(), "{ [i] }");
  auto fold = [&](const std::string &text) { return foldOf(isl::pw_aff(owner.get(), text), all); };
  std::optional<AffineFold> least = fold("{ [i] -> [7] : i >= 7; [i] -> [i] : i < 7 }");
  ASSERT_TRUE(least);
  EXPECT_FALSE(least->largest);
  EXPECT_EQ(least->terms.size(), 2u);
  std::optional<AffineFold> most = fold("{ [i] -> [7] : i <= 7; [i] -> [i] : i > 7 }");
  ASSERT_TRUE(most);
  EXPECT_TRUE(most->largest);
  EXPECT_FALSE(fold("{ [i] -> [i] : i <= 2; [i] -> [-i] : 2 < i < 9; [i] -> [3] : i >= 9 }"));
  EXPECT_FALSE(fold("{ [i] -> [i] : i >= 0 }")); // not defined everywhere
}

} // namespace
} // namespace evt
