#include "compiler/analysis/SmallShapes.h"

#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using Coordinates = std::vector<int64_t>;

/// All pairs (partial(i, j), total(i)), which the row sum's event orders.
isl::map conflicts(const TaskGraph &graph) {
  return isl::map(graph.ctx(), "{ C0[i, j] -> C1[i] }")
      .intersect_domain(graph.calls[0].domain)
      .intersect_range(graph.calls[1].domain);
}

TEST(SmallShapes, OrderedPairsAreNotReported) {
  TaskGraph graph = test::rowSum();
  EXPECT_FALSE(SmallShapes(graph).unordered(conflicts(graph), 0, 1));
}

TEST(SmallShapes, TheFirstPairAtTheSmallestShapeIsReported) {
  TaskGraph graph = test::rowSum();
  // Rows 2, 3, … wait for the row before them, so row 2 of three is the first that is not ordered.
  graph.calls[1].waits[0].relation =
      isl::map(graph.ctx(), "[n] -> { C1[i] -> E0[i] : i < 2; C1[i] -> E0[i - 1] : i >= 2 }");
  std::optional<TaskPair> found = SmallShapes(graph).unordered(conflicts(graph), 0, 1);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->symbols, SymbolValues{3});
  EXPECT_EQ(found->first, (Task{0, {2, 0}}));
  EXPECT_EQ(found->second, (Task{1, {2}}));
}

TEST(SmallShapes, ChainsOrder) {
  // start -> middle -> end, one task each; nothing but the chain orders the first and the last.
  test::GraphText text;
  text.event("a", "{ E0[] }", "{ E0[] -> 1 }").event("b", "{ E1[] }", "{ E1[] -> 1 }");
  text.call("start", {}, "{ C0[] }", "{ C0[] -> [0] }").notifies("{ C0[] -> E0[] }");
  text.call("middle", {}, "{ C1[] }", "{ C1[] -> [1] }").waits("{ C1[] -> E0[] }").notifies("{ C1[] -> E1[] }");
  text.call("end", {}, "{ C2[] }", "{ C2[] -> [2] }").waits("{ C2[] -> E1[] }");
  isl::map pair(text.graph.ctx(), "{ C0[] -> C2[] }");
  EXPECT_FALSE(SmallShapes(text.graph).unordered(pair, 0, 2));
  text.graph.calls[1].waits.clear();
  std::optional<TaskPair> found = SmallShapes(text.graph).unordered(pair, 0, 2);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->symbols, SymbolValues{});
  EXPECT_EQ(found->second, (Task{2, Coordinates{}}));
}

} // namespace
} // namespace evt
