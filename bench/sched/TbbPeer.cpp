// oneTBB flow graph: a continue_node a task, an edge a dependence.
#include "Dag.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <chrono>
#include <deque>

namespace evt::bench {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

struct TbbGraph::State {
  State(const Dag &dag, unsigned workers) : limit(oneapi::tbb::global_control::max_allowed_parallelism, workers) {
    for (int32_t i = 0; i < dag.tasks; ++i)
      nodes.emplace_back(graph, [](const flow::continue_msg &) {});
    for (int32_t i = 0; i < dag.tasks; ++i) {
      if (dag.indegree[i] == 0)
        roots.push_back(&nodes[i]);
      for (int32_t s = dag.first[i]; s < dag.first[i + 1]; ++s)
        flow::make_edge(nodes[i], nodes[dag.succ[s]]);
    }
  }
  oneapi::tbb::global_control limit;
  flow::graph graph;
  std::deque<Node> nodes;
  std::vector<Node *> roots;
};

TbbGraph::TbbGraph(const Dag &dag, unsigned workers) : state(new State(dag, workers)) {}
TbbGraph::~TbbGraph() { delete state; }

double TbbGraph::run() {
  auto start = std::chrono::steady_clock::now();
  for (Node *root : state->roots)
    root->try_put(flow::continue_msg());
  state->graph.wait_for_all();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace evt::bench
