// Writes the pages that test/browser/run opens: runs scripted with a clock set by hand, so that every number the
// browser should show is known without asking the code that draws it.
//
//   evt_observe_pages <folder>
#include "runtime/observe/GraphPage.h"
#include "runtime/observe/Trace.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <queue>
#include <random>

using namespace evt::observe;

namespace {

using Index = std::vector<int64_t>;

uint64_t now = 0;
uint64_t readClock() { return now; }

RecorderOptions scriptedClock() {
  RecorderOptions options;
  options.clock = readClock;
  return options;
}

struct Script {
  Recorder &recorder;
  const evt_hooks &hooks = *recorder.hooks();
  void begin(uint64_t time, uint32_t worker, uint32_t call, int64_t task, const Index &coord) {
    now = time;
    hooks.task_begin(hooks.user, worker, call, task, coord.data(), static_cast<uint32_t>(coord.size()));
  }
  void wait(uint64_t from, uint64_t to, uint32_t worker, uint32_t event, int64_t element, int64_t count) {
    now = from;
    hooks.wait_begin(hooks.user, worker, event, element, count);
    now = to;
    hooks.wait_end(hooks.user, worker);
  }
  void end(uint64_t time, uint32_t worker) {
    now = time;
    hooks.task_end(hooks.user, worker);
  }
  void notify(uint32_t worker, uint32_t event, int64_t element) { hooks.notify(hooks.user, worker, event, element); }
};

ProgramDescription rowSum(int64_t n) {
  ProgramDescription program;
  program.name = "row_sum";
  program.events = {{"done", {n}}};
  program.calls = {{"partial", "partial", {"i", "j"}, {n, 4}}, {"total", "total", {"i"}, {n}}};
  return program;
}

// Worker 0 runs two tasks of 1000 ns; worker 1 begins a task at 500, waits 600 … 2000, ends at 3000.
void smallTrace(std::ostream &page, std::ostream &chrome) {
  Recorder recorder(2, scriptedClock());
  Script script{recorder};
  script.begin(7000, 0, 0, 0, {0, 0});
  script.end(8000, 0);
  script.begin(8000, 0, 0, 1, {0, 1});
  script.end(9000, 0);
  script.begin(7500, 1, 1, 0, {0});
  script.wait(7600, 9000, 1, 0, 0, 4);
  script.end(10000, 1);
  ProgramDescription program = rowSum(2);
  program.name = "row_sum </script><b>"; // a name must not get out of its place
  writeTracePage(page, recorder, program, "n = 2, ticket");
  writeChromeTrace(chrome, recorder, program);
}

// A block of a GPU begins a task while it ends the one before.
void overlappingTrace(std::ostream &page) {
  Timeline run;
  run.span = 2000;
  run.workers = {{{0, {0, 0}, 0, 1000, true, {}},
                  {0, {0, 1}, 500, 1500, true, {{500, 700, 0, 0, 1}}},
                  {1, {0}, 1800, 2000, true, {{1800, 1900, 0, 0, 1}}}}};
  writeTracePage(page, run, rowSum(2));
}

// A run that was stopped: task 0 waits for the second of two elements for ever.
void stuckTrace(std::ostream &page) {
  Recorder recorder(2, scriptedClock());
  Script script{recorder};
  script.begin(0, 0, 1, 0, {0});
  script.wait(100, 150, 0, 0, 0, 4);
  now = 150;
  script.hooks.wait_begin(script.hooks.user, 0, 0, 1, 4);
  script.begin(0, 1, 0, 0, {0, 0});
  script.end(1000, 1);
  writeTracePage(page, recorder, rowSum(2));
}

// 100 000 tasks of 100 ns each, back to back on eight workers.
void largeTrace(std::ostream &page) {
  Recorder recorder(8, scriptedClock());
  Script script{recorder};
  for (int64_t task = 0; task < 100000; ++task) {
    uint32_t worker = static_cast<uint32_t>(task % 8);
    uint64_t begin = static_cast<uint64_t>(task / 8) * 100;
    script.begin(begin, worker, static_cast<uint32_t>(task / 8 % 2), task, {task / 4, task % 4});
    script.end(begin + 100, worker);
  }
  writeTracePage(page, recorder, rowSum(25000), "100 000 tasks");
}

// A transformer-like program: per layer qkv, attention, projection, mlp. Task t of a call waits for a band of tasks of
// the call before.
struct Model {
  ProgramDescription program;
  struct Task {
    uint32_t call;
    int64_t layer, i;
    std::vector<std::pair<uint32_t, int64_t>> waits; // event, element
  };
  std::vector<Task> tasks;
  std::vector<int64_t> width{24, 8, 16, 32};

  explicit Model(int64_t layers) {
    program.name = "decoder";
    const char *names[] = {"qkv", "attention", "projection", "mlp"};
    const char *events[] = {"qkv_ready", "heads_done", "projected", "layer_done"};
    for (size_t call = 0; call < 4; ++call) {
      program.calls.push_back({names[call], names[call], {"l", "i"}, {layers, width[call]}, false, {}, 0});
      program.events.push_back({events[call], {layers, call == 0 ? width[1] : 1}});
    }
    for (int64_t l = 0; l < layers; ++l)
      for (uint32_t call = 0; call < 4; ++call)
        for (int64_t i = 0; i < width[call]; ++i) {
          Task task{call, l, i, {}};
          if (call == 0 && l > 0)
            task.waits = {{3, l - 1}};
          if (call == 1)
            task.waits = {{0, l * width[1] + i}};
          if (call > 1)
            task.waits = {{call - 1, l}};
          tasks.push_back(task);
        }
  }
  std::pair<uint32_t, int64_t> notified(const Task &task) const {
    if (task.call == 0)
      return {0, task.layer * width[1] + task.i / 3};
    return {task.call, task.layer};
  }
  int64_t count(uint32_t event) const { return event == 0 ? 3 : width[event]; }
};

void modelTrace(std::ostream &page, std::ostream &chrome) {
  constexpr uint32_t kWorkers = 12;
  Model model(6);
  Recorder recorder(kWorkers, scriptedClock());
  Script script{recorder};
  std::mt19937 random(7);
  std::vector<uint64_t> free(kWorkers, 0);
  std::map<std::pair<uint32_t, int64_t>, std::pair<int64_t, uint64_t>> ready; // notifications, latest
  const uint64_t cost[] = {9000, 21000, 7000, 12000};
  for (const Model::Task &task : model.tasks) {
    uint32_t worker = static_cast<uint32_t>(std::ranges::min_element(free) - free.begin());
    uint64_t at = free[worker] + 300 + random() % 400;
    script.begin(at, worker, task.call, task.layer * model.width[task.call] + task.i, {task.layer, task.i});
    at += 200 + random() % 600; // weights are fetched before the wait
    for (auto [event, element] : task.waits) {
      uint64_t until = std::max(at + 60, ready[{event, element}].second + 150);
      script.wait(at, until, worker, event, element, model.count(event));
      at = until;
    }
    at += cost[task.call] * (80 + random() % 60) / 100;
    script.end(at, worker);
    auto &state = ready[model.notified(task)];
    state = {state.first + 1, std::max(state.second, at)};
    free[worker] = at;
  }
  writeTracePage(page, recorder, model.program, "6 layers, ticket, 12 workers");
  writeChromeTrace(chrome, recorder, model.program);
}

void modelGraph(std::ostream &page, int64_t layers, const std::string &caption) {
  Model model(layers);
  Recorder recorder(1, scriptedClock());
  Script script{recorder};
  for (const Model::Task &task : model.tasks) {
    script.begin(0, 0, task.call, task.layer * model.width[task.call] + task.i, {task.layer, task.i});
    for (auto [event, element] : task.waits)
      script.wait(0, 0, 0, event, element, model.count(event));
    auto [event, element] = model.notified(task);
    script.notify(0, event, element);
    script.end(0, 0);
  }
  GraphPageOptions options;
  options.caption = caption;
  writeGraphPage(page, taskGraph(recorder, model.program), options);
}

// The row sums, n = 2; with a wrong count if asked.
void smallGraph(std::ostream &page, int64_t count) {
  TaskGraph graph;
  graph.program = rowSum(2);
  graph.elements = {{0, 0, 4}, {0, 1, count}};
  for (uint32_t i = 0; i < 2; ++i)
    for (uint32_t j = 0; j < 4; ++j) {
      graph.notifies.push_back({static_cast<uint32_t>(graph.tasks.size()), i});
      graph.tasks.push_back({0, {i, j}});
    }
  for (uint32_t i = 0; i < 2; ++i) {
    graph.waits.push_back({static_cast<uint32_t>(graph.tasks.size()), i});
    graph.tasks.push_back({1, {i}});
  }
  GraphPageOptions options;
  options.caption = "n = 2";
  writeGraphPage(page, graph, options);
}

// a and b wait for each other.
void circleGraph(std::ostream &page) {
  TaskGraph graph;
  graph.program.name = "circle";
  graph.program.events = {{"e", {}}, {"f", {}}};
  graph.program.calls = {{"a", "", {}, {}}, {"b", "", {}, {}}};
  graph.tasks = {{0, {}}, {1, {}}};
  graph.elements = {{0, 0, 1}, {1, 0, 1}};
  graph.notifies = {{0, 0}, {1, 1}};
  graph.waits = {{0, 1}, {1, 0}};
  writeGraphPage(page, graph);
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: evt_observe_pages <folder>\n";
    return 2;
  }
  std::filesystem::path folder = argv[1];
  std::filesystem::create_directories(folder);
  auto file = [&](const char *name) { return std::ofstream(folder / name); };
  std::ofstream smallPage = file("trace-small.html"), smallChrome = file("trace-small.json");
  smallTrace(smallPage, smallChrome);
  std::ofstream modelPage = file("trace-model.html"), modelChrome = file("trace-model.json");
  modelTrace(modelPage, modelChrome);
  std::ofstream stuck = file("trace-stuck.html"), large = file("trace-large.html");
  std::ofstream overlapping = file("trace-overlapping.html");
  overlappingTrace(overlapping);
  stuckTrace(stuck);
  largeTrace(large);
  std::ofstream graphs[] = {file("graph-small.html"), file("graph-count.html"), file("graph-circle.html"),
                            file("graph-model.html"), file("graph-large.html")};
  smallGraph(graphs[0], 4);
  smallGraph(graphs[1], 5);
  circleGraph(graphs[2]);
  modelGraph(graphs[3], 3, "3 layers");
  modelGraph(graphs[4], 64, "64 layers");
  return 0;
}
