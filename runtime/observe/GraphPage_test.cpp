// What goes into the pages; what the browser makes of it is tested in test/browser.
#include "runtime/observe/GraphPage.h"

#include "runtime/observe/Page.h"
#include "runtime/observe/ScriptedRun_test.h"
#include "runtime/observe/Trace.h"

#include <gtest/gtest.h>
#include <sstream>

namespace evt::observe {
namespace {

ProgramDescription twoCalls() {
  ProgramDescription program;
  program.name = "two";
  program.events = {{"e", {4}}};
  program.calls = {{"a", "", {"i"}, {2}}, {"b", "", {}, {}}};
  return program;
}

TEST(TaskGraph, IsWhatTheExplainHooksSaid) {
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 0, 0, {0}).notify(0, 3);
  ScriptedTask(recorder, 0, 0, 1, {1}).notify(0, 3).notify(0, 1);
  ScriptedTask(recorder, 0, 1, 0, {}).wait(0, 3, 2);
  TaskGraph graph = taskGraph(recorder, twoCalls());
  ASSERT_EQ(graph.tasks.size(), 3u);
  EXPECT_EQ(graph.tasks[1].coord, (Index{1}));
  EXPECT_EQ(graph.tasks[2].call, 1u);
  ASSERT_EQ(graph.elements.size(), 2u);
  EXPECT_EQ(graph.elements[0].element, 3);
  EXPECT_EQ(graph.elements[0].count, 2);
  EXPECT_EQ(graph.elements[1].element, 1);
  EXPECT_EQ(graph.elements[1].count, -1); // nobody waits for it
  ASSERT_EQ(graph.notifies.size(), 3u);
  EXPECT_EQ(graph.notifies[2].task, 1u);
  EXPECT_EQ(graph.notifies[2].element, 1u);
  ASSERT_EQ(graph.waits.size(), 1u);
  EXPECT_EQ(graph.waits[0].task, 2u);
  EXPECT_EQ(graph.waits[0].element, 0u);
}

TEST(TaskGraph, RefusesALogOfAnotherProgram) {
  Recorder recorder(1);
  ScriptedTask(recorder, 0, 7, 0, {}).end();
  try {
    taskGraph(recorder, twoCalls());
    FAIL() << "accepted";
  } catch (const std::invalid_argument &error) {
    EXPECT_STREQ(error.what(), "the log names call 7, the program has 2");
  }
}

TEST(GraphPage, DrawsTheTasksWhoseEdgesFit) {
  TaskGraph graph;
  graph.program = twoCalls();
  graph.elements = {{0, 0, 3}, {0, 1, 1}};
  graph.tasks = {{0, {0}}, {0, {1}}, {1, {}}};
  graph.notifies = {{0, 0}, {1, 0}, {1, 1}};
  graph.waits = {{2, 0}};
  auto page = [&](size_t maxTasks, size_t maxEdges) {
    GraphPageOptions options;
    options.maxTasks = maxTasks;
    options.maxEdges = maxEdges;
    std::ostringstream out;
    writeGraphPage(out, graph, options);
    return out.str();
  };
  auto holds = [](const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; };
  EXPECT_TRUE(holds(page(9, 9), R"("tasks":[[0,0],[0,1],[1]],"elements":[[0,0,3,2],[0,1,1,1]])"));
  EXPECT_TRUE(holds(page(9, 9), R"("notifies":[0,0,1,0,1,1],"waits":[2,0])"));
  EXPECT_TRUE(holds(page(2, 9), R"("tasks":[[0,0],[0,1]],)"));
  EXPECT_TRUE(holds(page(9, 2), R"("tasks":[[0,0]],"elements":[[0,0,3,2]])")); // the second task has two more edges
  EXPECT_TRUE(holds(page(9, 2), R"("total":{"tasks":3,"elements":2,"edges":4})"));
  EXPECT_TRUE(holds(page(0, 0), R"("summary":{"tasks":[2,1],"elements":[2],"notifies":[[0,0,3]],"waits":[[1,0,1]]})"));
}

TEST(Page, AStringCannotLeaveItsPlace) {
  EXPECT_EQ(jsonString("a\"b\\c\n</script>"), R"("a\"b\\c\u000a\u003c/script>")");
  std::ostringstream out;
  writePage(out, "<title>__EVT_TITLE__</title>[__EVT_DATA__]", "a < b & __EVT_DATA__", "1");
  EXPECT_EQ(out.str(), "<title>a &lt; b &amp; __EVT_DATA__</title>[1]");
  EXPECT_THROW(writePage(out, "no place", "", ""), std::logic_error);
}

TEST(ChromeTrace, NamesTracksTasksAndWaits) {
  static uint64_t now;
  now = 0;
  RecorderOptions options;
  options.clock = [] { return now += 250; };
  Recorder recorder(1, options);
  ScriptedTask(recorder, 0, 0, 1, {1}).wait(0, 2, 1);
  std::ostringstream out;
  writeChromeTrace(out, recorder, twoCalls());
  EXPECT_EQ(out.str(),
            R"({"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","pid":1,"name":"process_name","args":{"name":"two"}},
{"ph":"M","pid":1,"tid":0,"name":"thread_name","args":{"name":"worker 0"}},
{"ph":"X","pid":1,"tid":0,"ts":0.000,"dur":0.750,"cat":"task","name":"a","args":{"i":1}},
{"ph":"X","pid":1,"tid":0,"ts":0.250,"dur":0.250,"cat":"wait","name":"wait e[2]","args":{"elements":1}}
]}
)");
}

} // namespace
} // namespace evt::observe
