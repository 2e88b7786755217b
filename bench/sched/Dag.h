// A task graph as data: what the peers are given, and what the kernels' programs say in their own words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace evt::bench {

/// Edges in compressed rows: the successors of task i are succ[first[i] .. first[i + 1]], its predecessors likewise.
struct Dag {
  std::string kind;
  int32_t tasks = 0;
  std::vector<int32_t> first, succ, predFirst, pred, indegree;
  int64_t steps = 0, width = 0; // of a stencil
};

/// chain, wide, stencil or random, with about `tasks` tasks (a stencil rounds to whole rows).
Dag makeDag(const std::string &kind, int64_t tasks);

/// Seconds to run all (empty) tasks of a graph once in dependency order, by `workers` threads.
/// OpenMP creates its tasks in each run; that is part of what it does.
double runOpenMp(const Dag &dag, unsigned workers);

/// A flow graph is built once and run many times; building is not counted.
class TbbGraph {
public:
  TbbGraph(const Dag &dag, unsigned workers);
  ~TbbGraph();
  TbbGraph(const TbbGraph &) = delete;
  TbbGraph &operator=(const TbbGraph &) = delete;
  double run();

private:
  struct State;
  State *state;
};

} // namespace evt::bench
