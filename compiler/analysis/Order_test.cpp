#include "compiler/analysis/Order.h"

#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace evt {
namespace {

using Pair = std::pair<std::vector<int64_t>, std::vector<int64_t>>;

std::set<Pair> pairsOf(const isl::map &relation) {
  std::set<Pair> result;
  unsigned inputs = relation.domain_tuple_dim();
  isl::set flat = relation.wrap().flatten();
  flat.foreach_point([&](isl::point point) {
    Pair pair;
    for (unsigned dim = 0; dim < flat.tuple_dim(); ++dim)
      (dim < inputs ? pair.first : pair.second).push_back(coordinate(point, dim));
    result.insert(pair);
  });
  return result;
}

std::set<Pair> transitiveClosure(std::set<Pair> pairs) {
  for (bool changed = true; changed;) {
    changed = false;
    std::set<Pair> more;
    for (const Pair &first : pairs)
      for (const Pair &second : pairs)
        if (first.second == second.first && !pairs.count({first.first, second.second}))
          more.insert({first.first, second.second});
    changed = !more.empty();
    pairs.insert(more.begin(), more.end());
  }
  return pairs;
}

struct ClosureCase {
  const char *text;
  bool complete; // the closure of a simple relation must be found, or chains over symbolic steps are lost
};

class JustifiedClosure : public testing::TestWithParam<ClosureCase> {};

/// At n = 1..5: nothing in it that is not in the closure, all edges in it, and all of the closure where promised.
TEST_P(JustifiedClosure, IsInsideTheTransitiveClosure) {
  ContextOwner owner;
  isl::map edges(owner.get(), GetParam().text);
  isl::map closure = justifiedClosure(edges);
  for (int n = 1; n <= 5; ++n) {
    std::set<Pair> found = pairsOf(fixParameter(closure, "n", n));
    std::set<Pair> single = pairsOf(fixParameter(edges, "n", n));
    std::set<Pair> expected = transitiveClosure(single);
    for (const Pair &pair : found)
      EXPECT_TRUE(expected.count(pair)) << "n = " << n;
    for (const Pair &pair : single)
      EXPECT_TRUE(found.count(pair)) << "n = " << n;
    if (GetParam().complete) {
      EXPECT_EQ(found.size(), expected.size()) << "n = " << n;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Relations, JustifiedClosure,
    testing::Values(
        ClosureCase{"[n] -> { A[t] -> A[t + 1] : 0 <= t < n - 1 }", true},
        ClosureCase{"[n] -> { A[t, i] -> A[t + 1, j] : 0 <= t < n - 1 and 0 <= i < n and 0 <= j < n }", true},
        ClosureCase{"[n] -> { A[t, i] -> A[t + 1, j] : 0 <= t < n - 1 and 0 <= i < n and 0 <= j < n and "
                    "i - 1 <= j <= i + 1 }",
                    true},
        ClosureCase{"[n] -> { A[t] -> A[t + 2] : 0 <= t < n - 2 }", true},
        ClosureCase{"[n] -> { A[t] -> A[u] : u = 2 t + 1 and 0 <= t and u < n }", false},
        ClosureCase{"[n] -> { A[t] -> A[t + 2] : 0 <= t < n - 2; A[t] -> A[t + 3] : 0 <= t < n - 3 }", false},
        ClosureCase{"[n] -> { A[t, i] -> A[t + 1, n - 1 - i] : 0 <= t < n - 1 and 0 <= i < n }", false},
        ClosureCase{"[n] -> { A[t, i] -> A[t + 1, i + 1] : 0 <= t < n - 1 and 0 <= i < n - 1; "
                    "A[t, i] -> A[t, i + 2] : 0 <= t < n and 0 <= i < n - 2 and t mod 2 = 0 }",
                    false}));

TEST(EventEdges, NotifyThroughATableOrdersOnlyWhoeverWaitsForAllItCouldMean) {
  test::GraphText text;
  text.eventFromMemory("ready", "{ E0[e] : 0 <= e < 4 }", "tokens[e]");
  text.call("route", {"t"}, "{ C0[t] : 0 <= t < 2 }", "{ C0[t] -> [0, t] }")
      .notifies("{ C0[t] -> E0[e] : 2 t <= e <= 2 t + 1 }", /*exact=*/false);
  text.call("wait", {"k"}, "{ C1[k] : 0 <= k < 4 }", "{ C1[k] -> [1, k] }").waits("{ C1[k] -> E0[e] : e <= k }");
  std::vector<EventEdge> edges = eventEdges(text.graph, {CountStatus::DataDependent});
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_TRUE(edges[0].onCount);
  // route(0) means element 0 or 1, route(1) element 2 or 3; wait(k) waits for 0 .. k.
  EXPECT_TRUE(
      edges[0].certain.is_equal(isl::map(text.graph.ctx(), "{ C0[t] -> C1[k] : 0 <= t < 2 and 2 t + 1 <= k < 4 }")));
  EXPECT_TRUE(
      edges[0].possible.is_equal(isl::map(text.graph.ctx(), "{ C0[t] -> C1[k] : 0 <= t < 2 and 2 t <= k < 4 }")));
}

TEST(EventEdges, BackwardPairsProveNothing) {
  test::GraphText text;
  text.event("done", "{ E0[i] : 0 <= i < 4 }", "{ E0[i] -> 1 }");
  text.call("cell", {"i"}, "{ C0[i] : 0 <= i < 4 }", "{ C0[i] -> [i] }")
      .waits("{ C0[i] -> E0[a] : a = i - 1 or a = i + 1 }")
      .notifies("{ C0[i] -> E0[i] }");
  std::vector<EventEdge> edges = eventEdges(text.graph, {CountStatus::Proved});
  ASSERT_EQ(edges.size(), 1u);
  EXPECT_TRUE(edges[0].certain.is_equal(isl::map(text.graph.ctx(), "{ C0[i] -> C0[i + 1] : 0 <= i < 3 }")));
}

TEST(OrderedAt, FollowsChainsAndRespectsTheWaitsBeforeAnAccess) {
  TaskGraph graph = test::layers();
  std::vector<CountStatus> counts(graph.events.size(), CountStatus::Proved);
  std::vector<EventEdge> edges = eventEdges(graph, counts);
  SymbolValues symbols{3, 2}; // L, c
  auto ordered = [&](Task first, Task second, unsigned waits) {
    return orderedAt(graph, edges, symbols, first, second, waits, false);
  };
  EXPECT_TRUE(ordered({0, {0}}, {2, {2, 7}}, 1));     // norm(0) before down(2, 7), three layers on
  EXPECT_TRUE(ordered({1, {0, 1}}, {1, {1, 0}}, 1));  // up(0, 1) before up(1, 0), through down and norm
  EXPECT_FALSE(ordered({1, {0, 0}}, {1, {0, 1}}, 1)); // two tasks of one layer
  EXPECT_FALSE(ordered({0, {0}}, {2, {2, 7}}, 0));    // an access before the only wait
}

TEST(OrderedAt, TaskThatMayNotExistLinksNothingForCertain) {
  test::GraphText text;
  text.event("a", "{ E0[] }", "{ E0[] -> 1 }").event("b", "{ E1[] }", "{ E1[] -> 1 }");
  text.call("first", {}, "{ C0[] }", "{ C0[] -> [0] }").notifies("{ C0[] -> E0[] }");
  text.call("maybe", {}, "{ C1[] }", "{ C1[] -> [1] }").ragged().waits("{ C1[] -> E0[] }").notifies("{ C1[] -> E1[] }");
  text.call("last", {}, "{ C2[] }", "{ C2[] -> [2] }").waits("{ C2[] -> E1[] }");
  std::vector<EventEdge> edges = eventEdges(text.graph, {CountStatus::Proved, CountStatus::DataDependent});
  EXPECT_TRUE(orderedAt(text.graph, edges, {}, {0, {}}, {1, {}}, 1, /*possible=*/false));
  EXPECT_FALSE(orderedAt(text.graph, edges, {}, {0, {}}, {2, {}}, 1, /*possible=*/false));
  EXPECT_TRUE(orderedAt(text.graph, edges, {}, {0, {}}, {2, {}}, 1, /*possible=*/true));
}

} // namespace
} // namespace evt
