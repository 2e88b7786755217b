#include "compiler/analysis/Verify.h"

#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

using Lines = std::vector<std::string>;
using test::GraphText;

Lines messages(const Findings &findings) {
  Lines result;
  for (const Violation &violation : findings.violations)
    result.push_back(violation.message);
  return result;
}

Lines names(const Findings &findings) {
  Lines result;
  for (const Obligation &obligation : findings.obligations)
    result.push_back(obligation.name);
  return result;
}

Lines notes(const Violation &violation) {
  Lines result;
  for (const Note &note : violation.notes)
    result.push_back(note.message);
  return result;
}

void expectProved(const TaskGraph &graph) {
  Findings findings = verify(graph);
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(names(findings), Lines{});
}

/// Replaces a relation, keeping it inside the call's domain and the event's shape.
void rewait(TaskGraph &graph, size_t call, size_t wait, const std::string &text) {
  EventUse &use = graph.calls[call].waits[wait];
  use.relation = isl::map(graph.ctx(), text)
                     .intersect_domain(graph.calls[call].domain)
                     .intersect_range(graph.events[static_cast<size_t>(use.event)].shape);
}

void renotify(TaskGraph &graph, size_t call, const std::string &text) {
  graph.calls[call].notifies[0].relation = isl::map(graph.ctx(), text).intersect_domain(graph.calls[call].domain);
}

//===----------------------------------------------------------------------===//
// Row sum
//===----------------------------------------------------------------------===//

TEST(RowSum, IsProved) { expectProved(test::rowSum()); }

TEST(RowSum, WrongCountIsRejected) {
  TaskGraph graph = test::rowSum();
  graph.events[0].count = Polynomial(graph.ctx(), "{ E0[e] -> 5 }");
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings), Lines{"done[0] has count 5 but receives 4 notifications from partial"});
  const Violation &violation = findings.violations[0];
  EXPECT_EQ(violation.kind, ViolationKind::Count);
  EXPECT_EQ(violation.location, "event done");
  EXPECT_EQ(notes(violation), (Lines{"for example with n = 1", "done is notified here by partial"}));
  EXPECT_EQ(violation.notes[1].location, "partial notifies done");
  EXPECT_EQ(violation.symbols, SymbolValues{1});
}

TEST(RowSum, MissingWaitIsRejected) {
  TaskGraph graph = test::rowSum();
  graph.calls[1].waits.clear();
  for (Access &access : graph.calls[1].accesses)
    access.afterWaits = 0;
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings), Lines{"no event orders total(i=0) after partial(i=0, j=0), which writes p[0, 0]"});
  const Violation &violation = findings.violations[0];
  EXPECT_EQ(violation.kind, ViolationKind::Order);
  EXPECT_EQ(violation.location, "total reads p");
  EXPECT_EQ(notes(violation),
            (Lines{"for example with n = 1", "partial(i=0, j=0) writes p[0, 0]", "total(i=0) reads p[0, 0]"}));
  EXPECT_EQ(violation.notes[1].location, "partial writes p");
}

TEST(RowSum, MissingNotifyIsRejected) {
  TaskGraph graph = test::rowSum();
  graph.calls[0].notifies.clear();
  EXPECT_EQ(messages(verify(graph)),
            (Lines{"done[0] has count 4 but receives no notifications",
                   "no event orders total(i=0) after partial(i=0, j=0), which writes p[0, 0]"}));
}

TEST(RowSum, NotifyOfThreeQuartersIsRejected) {
  TaskGraph graph = test::rowSum();
  renotify(graph, 0, "{ C0[i, j] -> E0[i] : j < 3 }");
  EXPECT_EQ(messages(verify(graph)),
            (Lines{"done[0] has count 4 but receives 3 notifications from partial",
                   "no event orders total(i=0) after partial(i=0, j=3), which writes p[0, 3]"}));
}

TEST(RowSum, NotifyThroughTheWrongCoordinateIsRejected) {
  TaskGraph graph = test::rowSum();
  renotify(graph, 0, "{ C0[i, j] -> E0[j] }");
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings), (Lines{"partial(i=0, j=1) notifies done[1], outside the shape of done",
                                       "done[0] has count 4 but receives 1 notification from partial",
                                       "no event orders total(i=0) after partial(i=0, j=1), which writes p[0, 1]"}));
  EXPECT_EQ(findings.violations[0].kind, ViolationKind::Bound);
  EXPECT_EQ(findings.violations[0].location, "partial notifies done");
  EXPECT_EQ(notes(findings.violations[0]), (Lines{"for example with n = 1", "done has elements [0..0]"}));
}

TEST(RowSum, TwoNotifyingCallsAreToldApart) {
  TaskGraph graph = test::rowSum();
  Call again = graph.calls[0];
  again.name = "again";
  again.domain = isl::set(graph.ctx(), "[n] -> { C2[i] : 0 <= i < n }");
  again.order = isl::map(graph.ctx(), "{ C2[i] -> [0, i, 9] }");
  again.accesses.clear();
  again.notifies[0].relation = isl::map(graph.ctx(), "{ C2[i] -> E0[i] }");
  graph.calls.push_back(again);
  EXPECT_EQ(messages(verify(graph)),
            Lines{"done[0] has count 4 but receives 5 notifications (4 from partial and 1 from again)"});
}

//===----------------------------------------------------------------------===//
// Chained products
//===----------------------------------------------------------------------===//

TEST(ChainedMatmuls, AreProved) { expectProved(test::chainedMatmuls()); }

TEST(ChainedMatmuls, WaitForTheFirstChunkOnlyIsRejected) {
  TaskGraph graph = test::chainedMatmuls();
  rewait(graph, 1, 0, "{ C1[r, d] -> E0[r, 0] }");
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings), Lines{"no event orders down(r=0, d=0) after up(r=0, c=1), which writes h[0, 64]"});
  EXPECT_EQ(notes(findings.violations[0])[0], "for example with m = 1, k = 65");
}

TEST(ChainedMatmuls, WaitForTheNextRowIsRejected) {
  TaskGraph graph = test::chainedMatmuls();
  rewait(graph, 1, 0, "[m, k] -> { C1[r, d] -> E0[r + 1, c] }");
  EXPECT_EQ(messages(verify(graph)), Lines{"no event orders down(r=0, d=0) after up(r=0, c=0), which writes h[0, 0]"});
}

//===----------------------------------------------------------------------===//
// Stencil
//===----------------------------------------------------------------------===//

TEST(Stencil, IsProved) { expectProved(test::stencil()); }

TEST(Stencil, MissingNeighbourIsRejected) {
  TaskGraph graph = test::stencil();
  rewait(graph, 0, 0,
         "{ C0[t, i, j] -> E0[t - 1, a, b] : (a = i and j <= b <= j + 1) or (b = j and i - 1 <= a <= i + 1) }");
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings),
            Lines{"no event orders step(t=1, i=0, j=1) after step(t=0, i=0, j=0), which writes grid[1, 0, 0]"});
  EXPECT_EQ(notes(findings.violations[0])[0], "for example with T = 2, h = 1, w = 2");
}

TEST(Stencil, SingleBufferIsRejected) {
  TaskGraph graph = test::stencil();
  graph.calls[0].accesses[1].relation =
      isl::map(graph.ctx(), "{ C0[t, i, j] -> M0[t mod 2, i, j] }").intersect_domain(graph.calls[0].domain);
  // Now step(0, 0, 1) writes what step(0, 0, 0) reads, in one step, with no event between them.
  EXPECT_EQ(messages(verify(graph)),
            Lines{"no event orders step(t=0, i=0, j=1) after step(t=0, i=0, j=0), which writes grid[0, 0, 0]"});
}

TEST(Stencil, WaitForItselfIsRejected) {
  TaskGraph graph = test::stencil();
  rewait(graph, 0, 0, "{ C0[t, i, j] -> E0[t, i, j] }");
  Findings findings = verify(graph);
  ASSERT_FALSE(findings.violations.empty());
  EXPECT_EQ(findings.violations[0].kind, ViolationKind::Progress);
  EXPECT_EQ(findings.violations[0].message, "step(t=0, i=0, j=0) waits for stepped[0, 0, 0], which it notifies itself");
}

TEST(Stencil, WaitForALaterTaskIsRejected) {
  TaskGraph graph = test::stencil();
  rewait(graph, 0, 0, "{ C0[t, i, j] -> E0[t, i, j + 1] }");
  Findings findings = verify(graph);
  ASSERT_FALSE(findings.violations.empty());
  EXPECT_EQ(findings.violations[0].message,
            "step(t=0, i=0, j=0) waits for stepped[0, 0, 1], which step(t=0, i=0, j=1) notifies, but "
            "step(t=0, i=0, j=1) comes later in program order");
  EXPECT_EQ(findings.violations[0].location, "step waits stepped");
}

//===----------------------------------------------------------------------===//
// Layers
//===----------------------------------------------------------------------===//

TEST(Layers, AreProved) { expectProved(test::layers()); }

TEST(Layers, MissingEdgeBetweenLayersIsRejected) {
  TaskGraph graph = test::layers();
  graph.calls[0].waits.clear();
  for (Access &access : graph.calls[0].accesses)
    access.afterWaits = 0;
  Findings findings = verify(graph);
  // Every buffer is unordered then, but all of it follows from this one pair.
  EXPECT_EQ(messages(findings), Lines{"no event orders norm(l=1) after down(l=0, d=0), which writes x[0]"});
}

TEST(Layers, WrongSymbolicCountIsRejected) {
  TaskGraph graph = test::layers();
  graph.events[1].count = Polynomial(graph.ctx(), "[L, c] -> { E1[l] -> (c + 1) }");
  EXPECT_EQ(messages(verify(graph)), Lines{"upped[0] has count 2 but receives 1 notification from up"});
}

/// A table written once before the layers and read in every layer: the chain to layer l has a number of hops that
/// grows with l.
TaskGraph tableForAllLayers() {
  GraphText text;
  text.graph = test::layers();
  text.memory("table", "{ M3[] }").event("ready", "{ E3[] }", "{ E3[] -> 1 }");
  text.call("fill", {}, "{ C3[] }", "{ C3[] -> [-1, 0, 0, 0] }")
      .writes("{ C3[] -> M3[] }")
      .notifies("{ C3[] -> E3[] }");
  EventUse wait{3, isl::map(text.graph.ctx(), "[L, c] -> { C0[l] -> E3[] : l = 0 and L > 0 }"), true,
                "norm waits ready"};
  text.graph.calls[0].waits.push_back(wait);
  Access read{3,    false, isl::map(text.graph.ctx(), "[L, c] -> { C1[l, i] -> M3[] : 0 <= l < L and 0 <= i < c }"),
              true, 1,     "up reads table",
              ""};
  text.graph.calls[1].accesses.push_back(read);
  return text.graph;
}

TEST(Layers, TableForAllLayersIsProved) { expectProved(tableForAllLayers()); }

TEST(Layers, TableOverwrittenAfterAllLayersIsProved) {
  GraphText text;
  text.graph = tableForAllLayers();
  text.call("clear", {}, "{ C4[] }", "{ C4[] -> [1, 0, 0, 0] }")
      .waits("{ C4[] -> E2[L - 1] }")
      .writes("{ C4[] -> M3[] }");
  expectProved(text.graph);
  rewait(text.graph, 4, 0, "[L, c] -> { C4[] -> E2[L - 2] }");
  EXPECT_EQ(messages(verify(text.graph)), Lines{"no event orders clear() after up(l=0, i=0), which reads table"});
}

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

TEST(AllToAll, ProductOfSymbolsIsProved) { expectProved(test::allToAll()); }

TEST(AllToAll, WrongProductIsRejected) {
  TaskGraph graph = test::allToAll();
  graph.events[0].count = Polynomial(graph.ctx(), "[n, m] -> { E0[] -> n * n }");
  Findings findings = verify(graph);
  ASSERT_EQ(messages(findings), Lines{"all has count 1 but receives 2 notifications from produce"});
  EXPECT_EQ(findings.violations[0].notes[0].message, "for example with n = 1, m = 2");
}

/// Tasks of a row of n in groups of four notify one element each group; the last group may be smaller.
TaskGraph groups(const std::string &count) {
  GraphText text;
  text.symbol("n", 1, 1 << 30);
  text.event("group", "{ E0[g] : 0 <= 4 g < n }", count);
  text.call("part", {"i"}, "{ C0[i] : 0 <= i < n }", "{ C0[i] -> [0, i] }")
      .notifies("{ C0[i] -> E0[g] : 4 g <= i <= 4 g + 3 }");
  return text.graph;
}

TEST(Counts, ClippedGroupIsProved) {
  expectProved(groups("{ E0[g] -> 4 : 4 g + 4 <= n; E0[g] -> (n - 4 g) : 4 g + 4 > n }"));
}

TEST(Counts, UnclippedGroupIsRejected) {
  EXPECT_EQ(messages(verify(groups("{ E0[g] -> 4 }"))),
            Lines{"group[0] has count 4 but receives 1 notification from part"});
}

TEST(Counts, StridedFibreIsProved) {
  GraphText text;
  text.symbol("n", 4, 1 << 30);
  text.event("lane", "{ E0[g] : 0 <= g < 4 }", "{ E0[g] -> (1 + floor((n - 1 - g)/4)) }");
  text.call("part", {"i"}, "{ C0[i] : 0 <= i < n }", "{ C0[i] -> [0, i] }").notifies("{ C0[i] -> E0[i mod 4] }");
  expectProved(text.graph);
}

TEST(Counts, SkewedFibreIsProved) {
  GraphText text;
  text.symbol("n", 1, 1 << 30);
  text.event("diagonal", "{ E0[g] : 0 <= g < n }", "{ E0[g] -> (g + 1) }");
  text.call("part", {"i", "j"}, "{ C0[i, j] : 0 <= i and 0 <= j and i + j < n }", "{ C0[i, j] -> [i, j] }")
      .notifies("{ C0[i, j] -> E0[i + j] }");
  expectProved(text.graph);
}

TEST(Counts, OddShapeIsLeftOpen) {
  // A triangle of tasks notifies one element: its size n * (n + 1) / 2 is no product of intervals.
  GraphText text;
  text.symbol("n", 1, 1 << 30);
  text.event("all", "{ E0[] }", "{ E0[] -> (1/2 * n + 1/2 * n * n) }");
  text.call("part", {"i", "j"}, "{ C0[i, j] : 0 <= j <= i < n }", "{ C0[i, j] -> [i, j] }")
      .notifies("{ C0[i, j] -> E0[] }");
  Findings findings = verify(text.graph);
  EXPECT_EQ(messages(findings), Lines{});
  ASSERT_EQ(names(findings), Lines{"count:all"});
  EXPECT_EQ(findings.obligations[0].text, "it was not proved that each element of all receives its count "
                                          "{ E0[] -> (1/2 * n + 1/2 * n * n) }");
  text.graph.events[0].count = Polynomial(text.graph.ctx(), "[n] -> { E0[] -> n * n }");
  EXPECT_EQ(messages(verify(text.graph)), Lines{"all has count 4 but receives 3 notifications from part"});
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

TEST(Limits, TooLittleWorkIsNeverAProof) {
  ProofLimits limits;
  limits.operations = 1;
  for (const TaskGraph &graph : {test::rowSum(), test::stencil(), test::layers()}) {
    Findings findings = verify(graph, limits);
    EXPECT_EQ(messages(findings), Lines{});
    EXPECT_GE(findings.obligations.size(), graph.events.size());
    EXPECT_EQ(findings.obligations[0].name.substr(0, 6), "bound:");
  }
}

TEST(Model, TasksWithOnePlaceAreRefused) {
  TaskGraph graph = test::rowSum();
  graph.calls[1].order = isl::map(graph.ctx(), "{ C1[i] -> [0, i, 0] }");
  EXPECT_THROW(verify(graph), std::invalid_argument);
}

} // namespace
} // namespace evt
