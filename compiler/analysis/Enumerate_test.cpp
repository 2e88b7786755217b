#include "compiler/analysis/Enumerate.h"

#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using Edges = std::vector<std::pair<int, int>>;

TEST(Enumerate, RowSumOfTwoRows) {
  TaskGraph graph = test::rowSum();
  std::optional<ConcreteGraph> concrete = enumerate(graph, {2});
  ASSERT_TRUE(concrete);
  ASSERT_EQ(concrete->tasks.size(), 10u); // 2 x 4 partials, then 2 totals
  EXPECT_EQ(concrete->tasks[5], (Task{0, {1, 1}}));
  EXPECT_EQ(concrete->tasks[9], (Task{1, {1}}));
  EXPECT_EQ(concrete->edges, (Edges{{0, 8}, {1, 8}, {2, 8}, {3, 8}, {4, 9}, {5, 9}, {6, 9}, {7, 9}}));
  ASSERT_EQ(concrete->elements.size(), 2u);
  EXPECT_EQ(concrete->elements[1].element, std::vector<int64_t>{1});
  EXPECT_EQ(concrete->elements[1].count, 4);
  EXPECT_EQ(concrete->elements[1].notifiers, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_EQ(concrete->elements[1].waiters, std::vector<int>{9});
}

TEST(Enumerate, LayersAreInterleavedIterationByIteration) {
  TaskGraph graph = test::layers();
  std::optional<ConcreteGraph> concrete = enumerate(graph, {2, 1});
  ASSERT_TRUE(concrete);
  ASSERT_EQ(concrete->tasks.size(), 20u); // per layer: norm, up, 8 downs
  EXPECT_EQ(concrete->tasks[1], (Task{1, {0, 0}}));
  EXPECT_EQ(concrete->tasks[10], (Task{0, {1}}));
}

TEST(Enumerate, NothingForNoRows) {
  std::optional<ConcreteGraph> concrete = enumerate(test::rowSum(), {0});
  ASSERT_TRUE(concrete);
  EXPECT_TRUE(concrete->tasks.empty());
  EXPECT_TRUE(concrete->edges.empty());
}

TEST(Enumerate, TooLargeIsRefused) { EXPECT_FALSE(enumerate(test::rowSum(), {1000}, 100)); }

} // namespace
} // namespace evt
