// oneTBB flow graph: a continue_node a task, an edge a dependence.
#include "PeerRuns.h"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include <chrono>
#include <deque>

namespace evt::bench {

namespace {

namespace flow = oneapi::tbb::flow;
using Node = flow::continue_node<flow::continue_msg>;

struct Graph {
  Graph(const Dag &dag, unsigned workers) : limit(oneapi::tbb::global_control::max_allowed_parallelism, workers) {
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

} // namespace

void *buildTbb(const Dag &dag, unsigned workers) { return new Graph(dag, workers); }
void freeTbb(void *graph) { delete static_cast<Graph *>(graph); }

double runTbb(void *built) {
  Graph &graph = *static_cast<Graph *>(built);
  auto start = std::chrono::steady_clock::now();
  for (Node *root : graph.roots)
    root->try_put(flow::continue_msg());
  graph.graph.wait_for_all();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace evt::bench
