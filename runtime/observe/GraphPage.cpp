#include "runtime/observe/GraphPage.h"

#include "runtime/observe/ObservedRun.h"
#include "runtime/observe/Page.h"

#include <algorithm>
#include <map>
#include <stdexcept>

namespace evt::observe {

namespace {

std::string number(int64_t value) { return std::to_string(value); }

// How many tasks, from the first, fit the limits with all their edges.
size_t tasksWithin(const TaskGraph &graph, const GraphPageOptions &options) {
  std::vector<size_t> edges(graph.tasks.size());
  for (const std::vector<GraphEdge> *list : {&graph.notifies, &graph.waits})
    for (const GraphEdge &edge : *list)
      ++edges[edge.task];
  size_t tasks = 0, sum = 0;
  while (tasks < graph.tasks.size() && tasks < options.maxTasks && sum + edges[tasks] <= options.maxEdges)
    sum += edges[tasks++];
  return tasks;
}

// Totals per call and event over the whole graph, drawn or not: tasks of each call, elements of each event, and how
// often a call's tasks notify or wait for an event's elements.
std::string summary(const TaskGraph &graph) {
  std::vector<int64_t> tasks(graph.program.calls.size()), elements(graph.program.events.size());
  for (const GraphTask &task : graph.tasks)
    ++tasks[task.call];
  for (const GraphElement &element : graph.elements)
    ++elements[element.event];
  auto between = [&](const std::vector<GraphEdge> &edges) {
    std::map<std::pair<uint32_t, uint32_t>, int64_t> sums;
    for (const GraphEdge &edge : edges)
      ++sums[{graph.tasks[edge.task].call, graph.elements[edge.element].event}];
    return jsonArray(sums, [](const auto &sum) {
      return "[" + number(sum.first.first) + "," + number(sum.first.second) + "," + number(sum.second) + "]";
    });
  };
  return R"({"tasks":)" + jsonArray(tasks, number) + R"(,"elements":)" + jsonArray(elements, number) +
         R"(,"notifies":)" + between(graph.notifies) + R"(,"waits":)" + between(graph.waits) + "}";
}

std::string names(const ProgramDescription &program) {
  return R"("calls":)" +
         jsonArray(program.calls,
                   [](const CallDescription &call) {
                     return R"({"name":)" + jsonString(call.name) + R"(,"device":)" + jsonString(deviceName(call)) +
                            R"(,"coords":)" + jsonArray(call.coords, jsonString) + "}";
                   }) +
         R"(,"events":)" + jsonArray(program.events, [](const EventDescription &event) {
           return R"({"name":)" + jsonString(event.name) + R"(,"shape":)" + jsonArray(event.shape, number) + "}";
         });
}

} // namespace

TaskGraph taskGraph(const Recorder &recorder, const ProgramDescription &program) {
  ObservedRun run = observedRun(recorder, program);
  if (!run.refusal.empty())
    throw std::invalid_argument(run.refusal);
  TaskGraph graph;
  graph.program = program;
  std::map<std::pair<uint32_t, int64_t>, uint32_t> known; // event, element -> place in graph.elements
  for (const ObservedTask &task : run.tasks) {
    uint32_t place = static_cast<uint32_t>(graph.tasks.size());
    graph.tasks.push_back({task.call, {task.coord.begin(), task.coord.end()}});
    forEachRecord(task, [&](const Record &record) {
      if (record.kind == RecordKind::Access)
        return;
      auto [at, fresh] = known.try_emplace({record.id, record.index}, static_cast<uint32_t>(graph.elements.size()));
      if (fresh)
        graph.elements.push_back({record.id, record.index, -1});
      bool wait = record.kind == RecordKind::WaitBegin;
      if (wait)
        graph.elements[at->second].count = record.count;
      (wait ? graph.waits : graph.notifies).push_back({place, at->second});
    });
  }
  return graph;
}

void writeGraphPage(std::ostream &out, const TaskGraph &graph, const GraphPageOptions &options) {
  size_t shown = tasksWithin(graph, options);
  std::vector<int64_t> notifications(graph.elements.size());
  for (const GraphEdge &edge : graph.notifies)
    ++notifications[edge.element];

  // Elements the drawn tasks touch, renumbered in order of first touch.
  constexpr uint32_t kUnused = UINT32_MAX;
  std::vector<uint32_t> place(graph.elements.size(), kUnused);
  std::string elements = "[";
  uint32_t used = 0;
  auto edgeList = [&](const std::vector<GraphEdge> &edges) {
    std::string text = "[";
    for (const GraphEdge &edge : edges) {
      if (edge.task >= shown)
        continue;
      if (place[edge.element] == kUnused) {
        const GraphElement &element = graph.elements[edge.element];
        elements += (used > 0 ? "," : "") + ("[" + number(element.event) + "," + number(element.element) + "," +
                                             number(element.count) + "," + number(notifications[edge.element]) + "]");
        place[edge.element] = used++;
      }
      text += (text.size() > 1 ? "," : "") + number(edge.task) + "," + number(place[edge.element]);
    }
    return text + "]";
  };
  std::string notifies = edgeList(graph.notifies), waits = edgeList(graph.waits);
  std::string tasks = jsonArray(std::span(graph.tasks).first(shown), [](const GraphTask &task) {
    std::string text = "[" + number(task.call);
    for (int64_t value : task.coord)
      text += "," + number(value);
    return text + "]";
  });
  std::string data = R"({"name":)" + jsonString(graph.program.name) + R"(,"caption":)" + jsonString(options.caption) +
                     "," + names(graph.program) + R"(,"total":{"tasks":)" + std::to_string(graph.tasks.size()) +
                     R"(,"elements":)" + std::to_string(graph.elements.size()) + R"(,"edges":)" +
                     std::to_string(graph.notifies.size() + graph.waits.size()) + R"(},"summary":)" + summary(graph) +
                     R"(,"tasks":)" + tasks + R"(,"elements":)" + elements + R"(],"notifies":)" + notifies +
                     R"(,"waits":)" + waits + "}";
  writePage(out, graphPage, graph.program.name + " – task graph", data);
}

} // namespace evt::observe
