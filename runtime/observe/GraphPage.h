// GraphPage: the page behind `evt show --html`, a program's task graph for one shape.
//
// A TaskGraph is plain data: tasks, event elements, and edges between them. Any caller may fill it; taskGraph() does so
// from what evt_kernel_explain reported to a Recorder:
//
//   Recorder recorder(1);
//   evt_kernel_explain(&launch, recorder.hooks());
//   writeGraphPage(file, taskGraph(recorder, program), options);
//
// The page is one HTML file that needs nothing else. At the top every call and event of the program, however many tasks
// there are; below tasks as boxes and elements as counters between them, laid out in layers from left to right.
// Hovering shows what comes before and after. Beyond a limit the page draws the first tasks in program order and says
// so.
#ifndef EVT_RUNTIME_OBSERVE_GRAPHPAGE_H
#define EVT_RUNTIME_OBSERVE_GRAPHPAGE_H

#include "runtime/observe/Description.h"
#include "runtime/observe/Recorder.h"

#include <ostream>
#include <string>
#include <vector>

namespace evt::observe {

struct GraphTask {
  uint32_t call;
  std::vector<int64_t> coord;
};

struct GraphElement {
  uint32_t event;
  int64_t element; // row-major
  int64_t count;   // -1: not known, nobody waits for it
};

struct GraphEdge {
  uint32_t task;    // index into TaskGraph::tasks
  uint32_t element; // index into TaskGraph::elements
};

struct TaskGraph {
  ProgramDescription program;   // names and shapes
  std::vector<GraphTask> tasks; // in program order
  std::vector<GraphElement> elements;
  std::vector<GraphEdge> notifies; // from the task to the element; twice if it notifies twice
  std::vector<GraphEdge> waits;    // from the element to the task
};

struct GraphPageOptions {
  std::string caption;    // beside the program's name: the shape
  size_t maxTasks = 2000; // drawn
  size_t maxEdges = 12000;
};

// Throws std::invalid_argument, with the reason, if the log does not fit the program.
TaskGraph taskGraph(const Recorder &recorder, const ProgramDescription &program);

void writeGraphPage(std::ostream &out, const TaskGraph &graph, const GraphPageOptions &options = {});

} // namespace evt::observe
#endif
