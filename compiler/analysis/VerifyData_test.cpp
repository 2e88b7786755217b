// Proofs of programs whose order or counts rest on values in memory: what is proved, what becomes an obligation.
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

Lines obligations(const Findings &findings) {
  Lines result;
  for (const Obligation &obligation : findings.obligations)
    result.push_back(obligation.name + " | " + obligation.text);
  return result;
}

/// route(t) writes a row of x and notifies ready[expert_of[t]]; expert(e) waits for `wait`, reads all rows of x.
TaskGraph routing(const std::string &wait, bool exactWait = true) {
  GraphText text;
  text.symbol("n", 1, 1 << 30);
  text.memory("x", "{ M0[t] : 0 <= t < n }").memory("y", "{ M1[e] : 0 <= e < 8 }");
  text.eventFromMemory("ready", "{ E0[e] : 0 <= e < 8 }", "tokens[e]");
  text.call("route", {"t"}, "{ C0[t] : 0 <= t < n }", "{ C0[t] -> [0, t] }")
      .writes("{ C0[t] -> M0[t] }")
      .notifies("{ C0[t] -> E0[e] : 0 <= e < 8 }", /*exact=*/false);
  text.call("expert", {"e"}, "{ C1[e] : 0 <= e < 8 }", "{ C1[e] -> [1, e] }")
      .waits(wait, exactWait)
      .reads("{ C1[e] -> M0[t] : 0 <= t < n }")
      .writes("{ C1[e] -> M1[e] }");
  return text.graph;
}

const char *const routedBound =
    "bound:route:ready | the element of ready that route notifies is read from memory and lies inside its shape";
const char *const routedCount =
    "count:ready | the count of each element of ready is read from memory (tokens[e]) and equals the notifications it "
    "receives";

TEST(Routing, WaitForAllElementsIsProvedModuloTheCount) {
  Findings findings = verify(routing("{ C1[e] -> E0[f] }"));
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(obligations(findings),
            (Lines{routedBound, routedCount,
                   "order:route->expert:x | the tasks of expert that touch an element of x come after those of route: "
                   "proved if count:ready holds"}));
}

TEST(Routing, WhoMayNotifyNothingIsOrderedByNoCount) {
  TaskGraph graph = routing("{ C1[e] -> E0[f] }");
  graph.calls[0].notifies[0].orNone = true;
  EXPECT_EQ(obligations(verify(graph))[2],
            "order:route->expert:x | the tasks of expert that touch an element of x come after those of route: "
            "which elements, tasks or events are meant is read from memory");
}

TEST(Routing, WaitForOneElementIsLeftToTheData) {
  Findings findings = verify(routing("{ C1[e] -> E0[e] }"));
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(obligations(findings),
            (Lines{routedBound, routedCount,
                   "order:route->expert:x | the tasks of expert that touch an element of x come after those of route: "
                   "which elements, tasks or events are meant is read from memory"}));
}

TEST(Routing, WaitThroughATableIsLeftToTheData) {
  Findings findings = verify(routing("{ C1[e] -> E0[f] }", /*exactWait=*/false));
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(obligations(findings)[2],
            "order:route->expert:x | the tasks of expert that touch an element of x come after those of route: "
            "which elements, tasks or events are meant is read from memory");
}

TEST(Routing, NoWaitAtAllIsRejectedWhateverTheData) {
  TaskGraph graph = routing("{ C1[e] -> E0[f] : e > 8 }");
  EXPECT_EQ(messages(verify(graph)), Lines{"no event orders expert(e=0) after route(t=0), which writes x[0]"});
}

TEST(Routing, BackwardWaitThroughATableIsAnObligation) {
  TaskGraph graph = routing("{ C1[e] -> E0[f] }");
  graph.calls[0].order = isl::map(graph.ctx(), "{ C0[t] -> [2, t] }");
  Findings findings = verify(graph);
  bool found = false;
  for (const Obligation &obligation : findings.obligations)
    found |= obligation.name == "progress:route->expert:ready" &&
             obligation.text == "which tasks of route the tasks of expert wait for through ready is read from memory; "
                                "all of them come before in program order";
  EXPECT_TRUE(found);
}

/// append(s) writes a page named by a table, attend reads the pages of its sequence.
TaskGraph pages(bool wait) {
  GraphText text;
  text.symbol("s", 1, 1 << 30);
  text.memory("kv", "{ M0[p] : 0 <= p < 1024 }").memory("o", "{ M1[i] : 0 <= i < s }");
  text.event("appended", "{ E0[i] : 0 <= i < s }", "{ E0[i] -> 1 }");
  text.call("append", {"i"}, "{ C0[i] : 0 <= i < s }", "{ C0[i] -> [0, i] }")
      .writes("{ C0[i] -> M0[p] }", /*exact=*/false)
      .notifies("{ C0[i] -> E0[i] }");
  text.call("attend", {"i"}, "{ C1[i] : 0 <= i < s }", "{ C1[i] -> [1, i] }");
  if (wait)
    text.waits("{ C1[i] -> E0[j] }");
  text.reads("{ C1[i] -> M0[p] }", /*exact=*/false).writes("{ C1[i] -> M1[i] }");
  return text.graph;
}

TEST(Pages, WritesThroughATableToOneMemoryAreListed) {
  Findings findings = verify(pages(true));
  EXPECT_EQ(messages(findings), Lines{});
  // Two appends might name one page: only the data tells.
  EXPECT_EQ(obligations(findings),
            Lines{"order:append->append:kv | the tasks of append that touch an element of kv come after those of "
                  "append: which elements, tasks or events are meant is read from memory"});
}

TEST(Pages, ReadsThroughATableWithoutAnEventAreListed) {
  Findings findings = verify(pages(false));
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(obligations(findings)[0],
            "order:append->attend:kv | the tasks of attend that touch an element of kv come after those of append: "
            "which elements, tasks or events are meant is read from memory");
}

/// A certain write does not hide an earlier uncertain one from a reader, nor does an uncertain one hide a certain one.
TEST(Pages, UncertainWriteHidesNothing) {
  GraphText text;
  text.memory("kv", "{ M0[p] : 0 <= p < 4 }").event("done", "{ E0[] }", "{ E0[] -> 1 }");
  text.call("first", {}, "{ C0[] }", "{ C0[] -> [0] }").writes("{ C0[] -> M0[0] }");
  text.call("maybe", {}, "{ C1[] }", "{ C1[] -> [1] }").writes("{ C1[] -> M0[p] }", false).notifies("{ C1[] -> E0[] }");
  text.call("reader", {}, "{ C2[] }", "{ C2[] -> [2] }").waits("{ C2[] -> E0[] }").reads("{ C2[] -> M0[0] }");
  Findings findings = verify(text.graph);
  EXPECT_EQ(messages(findings), Lines{"no event orders reader() after first(), which writes kv[0]"});
}

/// A table read by the protocol before the wait that orders its writer.
TaskGraph tableRead(bool afterTheWait) {
  GraphText text;
  text.memory("table", "{ M0[] }").memory("y", "{ M1[] }");
  text.event("filled", "{ E0[] }", "{ E0[] -> 1 }");
  text.call("fill", {}, "{ C0[] }", "{ C0[] -> [0] }").writes("{ C0[] -> M0[] }").notifies("{ C0[] -> E0[] }");
  text.call("use", {}, "{ C1[] }", "{ C1[] -> [1] }");
  if (!afterTheWait)
    text.readsTable("{ C1[] -> M0[] }");
  text.waits("{ C1[] -> E0[] }");
  if (afterTheWait)
    text.readsTable("{ C1[] -> M0[] }");
  text.writes("{ C1[] -> M1[] }");
  return text.graph;
}

TEST(Protocol, TableReadAfterItsWaitIsProved) {
  Findings findings = verify(tableRead(true));
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(obligations(findings), Lines{});
}

TEST(Protocol, TableReadBeforeItsWaitIsRejected) {
  Findings findings = verify(tableRead(false));
  ASSERT_EQ(messages(findings), Lines{"no event orders use() after fill(), which writes table"});
  EXPECT_EQ(findings.violations[0].notes.back().message, "this access follows 0 of the 1 waits of use");
}

/// up(e, r) and down(e, r) are ragged; merge waits for all of down and the next writer of x waits for merge.
TaskGraph raggedChain() {
  GraphText text;
  text.memory("x", "{ M0[] }").memory("h", "{ M1[e, r] : 0 <= e < 4 and 0 <= r < 8 }");
  text.eventFromMemory("upped", "{ E0[e] : 0 <= e < 4 }", "tiles[e]");
  text.eventFromMemory("downed", "{ E1[] }", "total[0]");
  std::string inside = "0 <= e < 4 and 0 <= r < 8";
  text.call("up", {"e", "r"}, "{ C0[e, r] : " + inside + " }", "{ C0[e, r] -> [0, e, r] }")
      .ragged()
      .reads("{ C0[e, r] -> M0[] }")
      .writes("{ C0[e, r] -> M1[e, r] }")
      .notifies("{ C0[e, r] -> E0[e] }");
  text.call("down", {"e", "r"}, "{ C1[e, r] : " + inside + " }", "{ C1[e, r] -> [1, e, r] }")
      .ragged()
      .waits("{ C1[e, r] -> E0[e] }")
      .reads("{ C1[e, r] -> M1[e, q] : 0 <= q < 8 }")
      .notifies("{ C1[e, r] -> E1[] }");
  text.call("next", {}, "{ C2[] }", "{ C2[] -> [2, 0, 0] }").waits("{ C2[] -> E1[] }").writes("{ C2[] -> M0[] }");
  return text.graph;
}

TEST(Ragged, TaskThatMayNotExistIsNoLink) {
  Findings findings = verify(raggedChain());
  EXPECT_EQ(messages(findings), Lines{});
  Lines found = obligations(findings);
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(found[3], "order:up->next:x | the tasks of next that touch an element of x come after those of up: which "
                      "elements, tasks or events are meant is read from memory");
  EXPECT_EQ(found[2], "order:up->down:h | the tasks of down that touch an element of h come after those of up: proved "
                      "if count:upped holds");
}

TEST(Ragged, CountOfTasksThatMayNotExistIsAnObligation) {
  TaskGraph graph = raggedChain();
  graph.events[0].count = Polynomial(graph.ctx(), "{ E0[e] -> 8 }");
  graph.events[0].countText = "8";
  EXPECT_EQ(obligations(verify(graph))[0],
            "count:upped | which tasks of up exist is read from memory; each element of upped receives its count 8");
}

TEST(Ragged, NotifyOutsideTheShapeIsAnObligation) {
  TaskGraph graph = raggedChain();
  graph.calls[0].notifies[0].relation = isl::map(graph.ctx(), "{ C0[e, r] -> E0[e + 1] }");
  Findings findings = verify(graph);
  EXPECT_EQ(obligations(findings)[0], "bound:up:upped | the tasks of up that exist notify inside the shape of upped");
}

} // namespace
} // namespace evt
