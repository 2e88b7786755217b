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

} // namespace evt::bench
