#include "compiler/analysis/Triggers.h"

#include "compiler/analysis/Parallel.h"
#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

#include <cctype>
#include <map>

namespace evt {
namespace {

using test::GraphText;

TEST(Triggers, RowSum) {
  TaskGraph graph = test::rowSum();
  EXPECT_EQ(wokenTasks(graph, 1, 0, "push_total"), "push_total(e0);\n");
  EXPECT_EQ(rootTasks(graph, 0, "push_partial"), "for (int64_t c0 = 0; c0 < n; c0 += 1)\n"
                                                 "  for (int64_t c1 = 0; c1 <= 3; c1 += 1)\n"
                                                 "    push_partial(c0, c1);\n");
  EXPECT_EQ(rootTasks(graph, 1, "push_total"), "{\n}\n");
  EXPECT_EQ(neededElements(graph, 0), "0");
  EXPECT_EQ(neededElements(graph, 1), "1");
}

TEST(Triggers, EveryChunkOfARowIsNeeded) {
  TaskGraph graph = test::chainedMatmuls();
  EXPECT_EQ(wokenTasks(graph, 1, 0, "push"), "for (int64_t c1 = 0; c1 <= 7; c1 += 1)\n"
                                             "  push(e0, c1);\n");
  EXPECT_EQ(neededElements(graph, 1), "(k + 63) / 64");
}

TEST(Triggers, TasksThatWaitForTheSameWakeTogether) {
  EXPECT_EQ(sharedTail(test::rowSum(), 1), 0u); // each row has an element of its own
  TaskGraph graph = test::chainedMatmuls();
  ASSERT_EQ(sharedTail(graph, 1), 1u); // all columns of a row of tiles
  EXPECT_EQ(wokenTasks(graph, 1, 0, "push", 1), "push(e0);\n");
  EXPECT_EQ(sharedTail(graph, 0), 2u); // it waits for nothing
}

TEST(Triggers, OneOfSeveralWaitsCanTellTasksApart) {
  GraphText text;
  text.symbol("n", 1, 1 << 20);
  text.event("all", "{ E0[] }", "{ E0[] -> 1 }").event("half", "{ E1[h] : 0 <= h <= 1 }", "{ E1[h] -> 1 }");
  text.call("begin", {"i"}, "{ C0[i] : i = 0 }", "{ C0[i] -> [0, i, 0, 0] }").notifies("{ C0[i] -> E0[] }");
  text.call("halves", {"h"}, "{ C1[h] : 0 <= h <= 1 }", "{ C1[h] -> [1, h, 0, 0] }").notifies("{ C1[h] -> E1[h] }");
  text.call("end", {"i", "h", "j"}, "{ C2[i, h, j] : 0 <= i < n and 0 <= h <= 1 and 0 <= j < 5 }",
            "{ C2[i, h, j] -> [2, i, h, j] }")
      .waits("{ C2[i, h, j] -> E0[] }")
      .waits("{ C2[i, h, j] -> E1[h] }");
  ASSERT_EQ(sharedTail(text.graph, 2), 1u);
  EXPECT_EQ(wokenTasks(text.graph, 2, 0, "push", 1), "for (int64_t c0 = 0; c0 < n; c0 += 1)\n"
                                                     "  for (int64_t c1 = 0; c1 <= 1; c1 += 1)\n"
                                                     "    push(c0, c1);\n");
  EXPECT_EQ(wokenTasks(text.graph, 2, 1, "push", 1), "for (int64_t c0 = 0; c0 < n; c0 += 1)\n"
                                                     "  push(c0, e0);\n");
}

TEST(Triggers, FirstLayerIsARoot) {
  TaskGraph graph = test::layers();
  EXPECT_EQ(rootTasks(graph, 0, "push"), "push(0);\n");
  EXPECT_EQ(wokenTasks(graph, 0, 0, "push"), "if (L >= e0 + 2)\n  push(e0 + 1);\n");
  EXPECT_EQ(neededElements(graph, 0), "c0 == 0 ? 0 : 1");
}

/// A row of n cells over T steps; a cell waits for its three neighbours of the step before, clipped at the border.
TaskGraph row() {
  GraphText text;
  text.symbol("T", 1, 1 << 20).symbol("n", 2, 1 << 20);
  text.event("stepped", "{ E0[t, i] : 0 <= t < T and 0 <= i < n }", "{ E0[t, i] -> 1 }");
  text.call("step", {"t", "i"}, "{ C0[t, i] : 0 <= t < T and 0 <= i < n }", "{ C0[t, i] -> [t, i] }")
      .waits("{ C0[t, i] -> E0[t - 1, a] : i - 1 <= a <= i + 1 }")
      .notifies("{ C0[t, i] -> E0[t, i] }");
  return text.graph;
}

/// The code is given once, compiled and run here, and compared with what is generated, up to white space.
#define TEXT_OF(...) #__VA_ARGS__
std::string withoutSpace(std::string text) {
  std::erase_if(text, [](char c) { return std::isspace(static_cast<unsigned char>(c)); });
  return text;
}

TEST(Triggers, NeighboursAreClippedAtTheBorder) {
  using std::max, std::min;
  TaskGraph graph = row();
#define WOKEN                                                                                                          \
  if (T >= e0 + 2)                                                                                                     \
    for (int64_t c1 = max(zero, e1 - 1); c1 <= min(n - 1, e1 + 1); c1 += 1)                                            \
      push(e0 + 1, c1);
#define NEED(c0, c1, n) c0 == 0 ? 0 : c0 >= 1 && c1 == 0 ? 2 : c0 >= 1 && n >= c1 + 3 && c1 >= 1 ? 3 : n - c1 + 1
#define EXPANDED(...) TEXT_OF(__VA_ARGS__)
  std::string code = EXPANDED(WOKEN);
  code.replace(code.find("zero"), 4, "0"); // std::max wants two values of one type
  EXPECT_EQ(withoutSpace(*wokenTasks(graph, 0, 0, "push")), withoutSpace(code));
  EXPECT_EQ(withoutSpace(*neededElements(graph, 0)), withoutSpace(EXPANDED(NEED(c0, c1, n))));

  constexpr int64_t T = 3, zero = 0;
  for (int64_t n = 2; n <= 5; ++n) {
    std::map<std::pair<int64_t, int64_t>, int64_t> woken;
    auto push = [&](int64_t t, int64_t i) { ++woken[{t, i}]; };
    for (int64_t e0 = 0; e0 < T; ++e0)
      for (int64_t e1 = 0; e1 < n; ++e1)
        WOKEN;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t i = 0; i < n; ++i) {
        int64_t neighbours = 0;
        for (int64_t a = i - 1; a <= i + 1; ++a)
          neighbours += t > 0 && 0 <= a && a < n;
        EXPECT_EQ(NEED(t, i, n), neighbours);
        EXPECT_EQ((woken[{t, i}]), neighbours);
      }
  }
}

TEST(Triggers, ElementsThatNobodyNotifiesAreNotAwaited) {
  GraphText text;
  text.symbol("n", 1, 1 << 20);
  text.event("done", "{ E0[e] : 0 <= e < n }", "{ E0[e] -> 1 : e mod 2 = 0; E0[e] -> 0 : e mod 2 = 1 }");
  text.call("even", {"i"}, "{ C0[i] : 0 <= 2 i < n }", "{ C0[i] -> [0, i] }").notifies("{ C0[i] -> E0[2 i] }");
  text.call("all", {"i"}, "{ C1[i] : 0 <= i < n }", "{ C1[i] -> [1, i] }").waits("{ C1[i] -> E0[i] }");
  EXPECT_EQ(rootTasks(text.graph, 1, "push"), "for (int64_t c0 = 1; c0 < n; c0 += 2)\n  push(c0);\n");
#define ODD_NEEDS_NOTHING (c0 + 1) % 2 == 0 ? 0 : 1
  EXPECT_EQ(withoutSpace(*neededElements(text.graph, 1)), withoutSpace(EXPANDED(ODD_NEEDS_NOTHING)));
  for (int64_t c0 = 0; c0 < 5; ++c0)
    EXPECT_EQ(ODD_NEEDS_NOTHING, c0 % 2 == 0);
}

TEST(Triggers, ProductsOfSymbolsAreWrittenOut) {
  GraphText text;
  text.symbol("n", 1, 1 << 20).symbol("m", 1, 1 << 20);
  text.event("done", "{ E0[a, b] : 0 <= a < n and 0 <= b < m }", "{ E0[a, b] -> 1 }");
  text.call("make", {"a", "b"}, "{ C0[a, b] : 0 <= a < n and 0 <= b < m }", "{ C0[a, b] -> [0, a, b] }")
      .notifies("{ C0[a, b] -> E0[a, b] }");
  text.call("use", {}, "{ C1[] }", "{ C1[] -> [1, 0, 0] }").waits("{ C1[] -> E0[a, b] }");
  EXPECT_EQ(neededElements(text.graph, 1), "(0) + (1) * (n) * (m)");
}

/// isl writes half of an even size as a fraction, and finds no extreme values of fractions.
TEST(Triggers, HalfOfAnEvenSizeIsWrittenOut) {
  GraphText text;
  text.symbol("n", 2, 1 << 20).symbol("m", 1, 1 << 20);
  text.graph.context = text.graph.context.intersect(isl::set(text.graph.ctx(), "[n] -> { : n mod 2 = 0 }"));
  text.event("done", "{ E0[a, b] : 0 <= 2 a < n and 0 <= b < m }", "{ E0[a, b] -> 1 }");
  text.call("make", {"a", "b"}, "{ C0[a, b] : 0 <= 2 a < n and 0 <= b < m }", "{ C0[a, b] -> [0, a, b] }")
      .notifies("{ C0[a, b] -> E0[a, b] }");
  text.call("use", {}, "{ C1[] }", "{ C1[] -> [1, 0, 0] }").waits("{ C1[] -> E0[a, b] }");
  EXPECT_EQ(neededElements(text.graph, 1), "(0) + (1) * (n / 2) * (m)");
}

TEST(Triggers, WaitThroughATableHasNoInverse) {
  GraphText text;
  text.event("done", "{ E0[e] : 0 <= e < 4 }", "{ E0[e] -> 1 }");
  text.call("make", {"i"}, "{ C0[i] : 0 <= i < 4 }", "{ C0[i] -> [0, i] }").notifies("{ C0[i] -> E0[i] }");
  text.call("use", {}, "{ C1[] }", "{ C1[] -> [1, 0] }").waits("{ C1[] -> E0[e] }", /*exact=*/false);
  EXPECT_EQ(wokenTasks(text.graph, 1, 0, "push"), std::nullopt);
  EXPECT_EQ(rootTasks(text.graph, 1, "push"), std::nullopt);
  EXPECT_EQ(neededElements(text.graph, 1), std::nullopt);
}

using Carried = std::vector<bool>;

TEST(Parallel, StepsAreCarriedAndCellsAreFree) {
  EXPECT_EQ(carriedCoordinates(test::stencil())[0], (Carried{true, false, false}));
}

TEST(Parallel, IterationsAreCarriedThroughOtherCalls) {
  TaskGraph graph = test::layers();
  EXPECT_EQ(carriedCoordinates(graph)[1], (Carried{true, false}));
  EXPECT_EQ(carriedCoordinates(graph)[2], (Carried{true, false}));
}

TEST(Parallel, IterationsWithoutAnEdgeBetweenThemAreFree) {
  TaskGraph graph = test::layers();
  graph.calls[0].waits.clear();
  EXPECT_EQ(carriedCoordinates(graph)[1], (Carried{false, false}));
}

TEST(Parallel, IndependentCallsAreFree) {
  EXPECT_EQ(carriedCoordinates(test::rowSum())[0], (Carried{false, false}));
  EXPECT_EQ(carriedCoordinates(test::rowSum())[1], (Carried{false}));
}

TEST(Parallel, WaveFrontCarriesBothCoordinates) {
  GraphText text;
  text.symbol("n", 2, 1 << 20);
  text.event("done", "{ E0[i, j] : 0 <= i < n and 0 <= j < n }", "{ E0[i, j] -> 1 }");
  text.call("cell", {"i", "j"}, "{ C0[i, j] : 0 <= i < n and 0 <= j < n }", "{ C0[i, j] -> [i, j] }")
      .waits("{ C0[i, j] -> E0[i - 1, j] }")
      .waits("{ C0[i, j] -> E0[i, j - 1] }")
      .notifies("{ C0[i, j] -> E0[i, j] }");
  EXPECT_EQ(carriedCoordinates(text.graph)[0], (Carried{true, true}));
}

} // namespace
} // namespace evt
