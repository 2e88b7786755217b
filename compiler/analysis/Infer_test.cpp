#include "compiler/analysis/Infer.h"

#include "compiler/analysis/TestPrograms.h"
#include "compiler/analysis/Verify.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using test::GraphText;
using test::withoutEvents;

/// Whether an expression is the one written, for all symbols in range and all tasks of `where`.
testing::AssertionResult isExpression(const isl::pw_aff &found, const std::string &text, const isl::set &where) {
  isl::pw_aff expected(found.ctx(), text);
  isl::set differs = found.ne_set(expected).intersect(where);
  isl::set undefined = where.subtract(found.domain());
  if (differs.is_empty() && undefined.is_empty())
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "found " << isl_pw_aff_to_str(found.get()) << ", expected " << text;
}

void expectProved(const TaskGraph &graph, const Inference &inference) {
  EXPECT_TRUE(inference.failures.empty());
  Findings findings = verify(withEvents(graph, inference));
  EXPECT_TRUE(findings.violations.empty()) << findings.violations[0].message;
  EXPECT_TRUE(findings.obligations.empty()) << findings.obligations[0].name;
}

TEST(Infer, RowSumGetsTheEventOfTheDesign) {
  TaskGraph graph = withoutEvents(test::rowSum());
  Inference inference = inferEvents(graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  EXPECT_EQ(event.name, "partial_done");
  EXPECT_EQ(event.producer, 0);
  ASSERT_EQ(event.shape.size(), 1u);
  EXPECT_TRUE(isExpression(event.shape[0], "[n] -> { [n] }", graph.context));
  EXPECT_TRUE(isExpression(event.notify[0], "{ C0[i, j] -> [i] }", graph.calls[0].domain));
  ASSERT_EQ(event.countFactors.size(), 1u);
  EXPECT_TRUE(isExpression(event.countFactors[0], "{ E0[e] -> [4] }", event.elements));
  ASSERT_EQ(event.waits.size(), 1u);
  EXPECT_EQ(event.waits[0].consumer, 1);
  EXPECT_FALSE(event.waits[0].coarser);
  ASSERT_EQ(event.waits[0].boxes.size(), 1u);
  EXPECT_TRUE(isExpression(event.waits[0].boxes[0].lo[0], "{ C1[i] -> [i] }", graph.calls[1].domain));
  EXPECT_TRUE(isExpression(event.waits[0].boxes[0].hi[0], "{ C1[i] -> [i] }", graph.calls[1].domain));
  expectProved(graph, inference);
}

TEST(Infer, SymbolicExtentsBecomeTheCount) {
  TaskGraph graph = withoutEvents(test::chainedMatmuls());
  Inference inference = inferEvents(graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  ASSERT_EQ(event.countFactors.size(), 1u);
  EXPECT_TRUE(isExpression(event.countFactors[0], "[m, k] -> { E0[e] -> [floor((k + 63)/64)] }", event.elements));
  EXPECT_TRUE(isExpression(event.shape[0], "[m, k] -> { [floor((m + 15)/16)] }", graph.context));
  expectProved(graph, inference);
}

TEST(Infer, ProductOfSymbolsBecomesTheCount) {
  TaskGraph graph = withoutEvents(test::allToAll());
  Inference inference = inferEvents(graph);
  ASSERT_EQ(inference.events.size(), 1u);
  EXPECT_TRUE(inference.events[0].shape.empty());
  EXPECT_EQ(inference.events[0].countFactors.size(), 2u);
  expectProved(graph, inference);
}

TEST(Infer, StencilWaitsForACrossOfTwoBoxes) {
  TaskGraph graph = withoutEvents(test::stencil());
  Inference inference = inferEvents(graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  EXPECT_TRUE(event.countFactors.empty());
  ASSERT_EQ(event.waits.size(), 1u);
  EXPECT_FALSE(event.waits[0].coarser);
  // The dependence over two steps (one buffer written again) follows from two hops, so only one step is waited for.
  EXPECT_EQ(event.waits[0].boxes.size(), 2u);
  for (const IndexBox &box : event.waits[0].boxes)
    EXPECT_TRUE(isExpression(box.lo[0], "{ C0[t, i, j] -> [t - 1] }", graph.calls[0].domain));
  expectProved(graph, inference);
}

/// The stencil after a call that fills the first buffer, which only the first step reads.
TEST(Infer, WaitOfTheFirstStepBecomesAWaitOfEveryStep) {
  GraphText text;
  text.graph = withoutEvents(test::stencil());
  text.call("begin", {"i", "j"}, "{ C1[i, j] : 0 <= i < h and 0 <= j < w }", "{ C1[i, j] -> [-1, i, j] }")
      .writes("{ C1[i, j] -> M0[0, i, j] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 2u);
  const InferredEvent &event = inference.events[1];
  EXPECT_EQ(event.name, "begin_done");
  ASSERT_EQ(event.waits.size(), 1u);
  EXPECT_EQ(event.waits[0].boxes.size(), 2u);
  EXPECT_TRUE(event.waits[0].coarser);
  EXPECT_EQ(event.waits[0].why, "only some tasks of step need begin, but all of them wait");
  expectProved(text.graph, inference);
}

TEST(Infer, LayersNeedOneEventACall) {
  // Reuse of the buffers in the next layer needs no event of its own: the chain through the layer orders it.
  TaskGraph graph = withoutEvents(test::layers());
  Inference inference = inferEvents(graph);
  ASSERT_EQ(inference.events.size(), 3u);
  std::vector<std::pair<int, int>> pairs;
  for (const InferredEvent &event : inference.events)
    for (const InferredWait &wait : event.waits)
      pairs.emplace_back(event.producer, wait.consumer);
  EXPECT_EQ(pairs, (std::vector<std::pair<int, int>>{{0, 1}, {1, 2}, {2, 0}}));
  EXPECT_TRUE(isExpression(inference.events[2].waits[0].boxes[0].lo[0], "{ C0[l] -> [l - 1] }", graph.calls[0].domain));
  expectProved(graph, inference);
}

/// n columns in tiles, of which a head needs seven; the last head may have fewer.
TEST(Infer, AlignedGroupsBecomeOneElement) {
  GraphText text;
  text.symbol("n", 1, 1 << 20);
  text.memory("q", "{ M0[j] : 0 <= j < n }").memory("o", "{ M1[h] : 0 <= 7 h < n }");
  text.call("qkv", {"j"}, "{ C0[j] : 0 <= j < n }", "{ C0[j] -> [0, j] }").writes("{ C0[j] -> M0[j] }");
  text.call("head", {"h"}, "{ C1[h] : 0 <= 7 h < n }", "{ C1[h] -> [1, h] }")
      .reads("{ C1[h] -> M0[j] : 7 h <= j <= 7 h + 6 }")
      .writes("{ C1[h] -> M1[h] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  const InferredEvent &event = inference.events[0];
  EXPECT_TRUE(isExpression(event.notify[0], "{ C0[j] -> [floor(j/7)] }", text.graph.calls[0].domain));
  ASSERT_EQ(event.countFactors.size(), 1u);
  EXPECT_TRUE(isExpression(event.countFactors[0],
                           "[n] -> { E0[h] -> [7] : 7 h + 7 <= n; E0[h] -> [n - 7 h] : 7 h + 7 > n }", event.elements));
  EXPECT_TRUE(isExpression(event.waits[0].boxes[0].lo[0], "{ C1[h] -> [h] }", text.graph.calls[1].domain));
  EXPECT_TRUE(isExpression(event.waits[0].boxes[0].hi[0], "{ C1[h] -> [h] }", text.graph.calls[1].domain));
  expectProved(text.graph, inference);
}

TEST(Infer, ConsumersThatTellTheSameCoordinatesApartShareAnEvent) {
  GraphText text;
  text.symbol("n", 1, 1 << 20);
  text.memory("a", "{ M0[i] : 0 <= i < n }")
      .memory("b", "{ M1[i] : 0 <= i < n }")
      .memory("c", "{ M2[i] : 0 <= i < n }");
  text.call("make", {"i"}, "{ C0[i] : 0 <= i < n }", "{ C0[i] -> [0, i] }").writes("{ C0[i] -> M0[i] }");
  text.call("left", {"i"}, "{ C1[i] : 0 <= i < n }", "{ C1[i] -> [1, i] }")
      .reads("{ C1[i] -> M0[i] }")
      .writes("{ C1[i] -> M1[i] }");
  text.call("right", {"i"}, "{ C2[i] : 0 <= i < n }", "{ C2[i] -> [2, i] }")
      .reads("{ C2[i] -> M0[j] : i <= j <= i + 1 }")
      .writes("{ C2[i] -> M2[i] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  EXPECT_EQ(inference.events[0].waits.size(), 2u);
  expectProved(text.graph, inference);
}

TEST(Infer, IndexFromMemoryWaitsForEveryTaskAndSaysSo) {
  GraphText text;
  text.symbol("s", 1, 1 << 20);
  text.memory("x", "{ M0[i] : 0 <= i < s }").memory("y", "{ M1[i] : 0 <= i < s }");
  text.call("fill", {"i"}, "{ C0[i] : 0 <= i < s }", "{ C0[i] -> [0, i] }").writes("{ C0[i] -> M0[i] }");
  text.call("gather", {"i"}, "{ C1[i] : 0 <= i < s }", "{ C1[i] -> [1, i] }")
      .reads("{ C1[i] -> M0[j] }", /*exact=*/false)
      .writes("{ C1[i] -> M1[i] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  EXPECT_TRUE(inference.events[0].shape.empty());
  ASSERT_EQ(inference.events[0].waits.size(), 1u);
  EXPECT_TRUE(inference.events[0].waits[0].coarser);
  EXPECT_EQ(inference.events[0].waits[0].why,
            "which elements of x are touched is read from memory, so every task that could touch them is waited for");
  expectProved(text.graph, inference);
}

TEST(Infer, OddNeedGetsABoxAroundItAndSaysSo) {
  // consume(i) needs the squares' neighbours 0, 1, 4, 9, 16, 25: six separate elements.
  GraphText text;
  text.memory("x", "{ M0[i] : 0 <= i < 32 }").memory("y", "{ M1[] }");
  text.call("make", {"i"}, "{ C0[i] : 0 <= i < 32 }", "{ C0[i] -> [0, i] }").writes("{ C0[i] -> M0[i] }");
  text.call("consume", {}, "{ C1[] }", "{ C1[] -> [1, 0] }")
      .reads("{ C1[] -> M0[i] : i = 0 or i = 3 or i = 7 or i = 12 or i = 19 or i = 28 }")
      .writes("{ C1[] -> M1[] }");
  Inference inference = inferEvents(text.graph);
  ASSERT_EQ(inference.events.size(), 1u);
  ASSERT_EQ(inference.events[0].waits.size(), 1u);
  EXPECT_TRUE(inference.events[0].waits[0].coarser);
  EXPECT_EQ(inference.events[0].waits[0].why, "the tasks of make that consume needs are no union of a few boxes, so a "
                                              "box around them is waited for");
  expectProved(text.graph, inference);
}

TEST(Infer, RaggedProducerIsRefused) {
  TaskGraph graph = withoutEvents(test::rowSum());
  graph.calls[0].ragged = true;
  Inference inference = inferEvents(graph);
  EXPECT_TRUE(inference.events.empty());
  ASSERT_EQ(inference.failures.size(), 1u);
  EXPECT_EQ(inference.failures[0].message, "total needs partial through p, but how many tasks partial has is read from "
                                           "memory: declare an event with a count");
  EXPECT_EQ(inference.failures[0].location, "call total");
}

} // namespace
} // namespace evt
