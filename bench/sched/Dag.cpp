#include "Dag.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>
#include <utility>

namespace evt::bench {

namespace {

Dag fromEdges(const std::string &kind, int32_t tasks, std::vector<std::pair<int32_t, int32_t>> edges) {
  Dag d;
  d.kind = kind;
  d.tasks = tasks;
  auto compress = [&](std::vector<int32_t> &first, std::vector<int32_t> &to) {
    std::sort(edges.begin(), edges.end());
    first.assign(tasks + 1, 0);
    for (auto [a, b] : edges) {
      ++first[a + 1];
      to.push_back(b);
    }
    for (int32_t i = 0; i < tasks; ++i)
      first[i + 1] += first[i];
  };
  compress(d.first, d.succ);
  for (auto &[a, b] : edges)
    std::swap(a, b);
  compress(d.predFirst, d.pred);
  d.indegree.resize(tasks);
  for (int32_t i = 0; i < tasks; ++i)
    d.indegree[i] = d.predFirst[i + 1] - d.predFirst[i];
  return d;
}

} // namespace

Dag makeDag(const std::string &kind, int64_t tasks) {
  std::vector<std::pair<int32_t, int32_t>> edges;
  if (kind == "chain") {
    for (int32_t i = 1; i < tasks; ++i)
      edges.emplace_back(i - 1, i);
    return fromEdges(kind, (int32_t)tasks, std::move(edges));
  }
  if (kind == "wide") { // task 0, then tasks - 2 of them, then the last
    for (int32_t i = 1; i + 1 < tasks; ++i) {
      edges.emplace_back(0, i);
      edges.emplace_back(i, (int32_t)tasks - 1);
    }
    return fromEdges(kind, (int32_t)tasks, std::move(edges));
  }
  if (kind == "stencil") {
    int64_t width = std::max<int64_t>(1, (int64_t)std::sqrt((double)tasks)), steps = tasks / width;
    for (int64_t t = 1; t < steps; ++t)
      for (int64_t i = 0; i < width; ++i)
        for (int64_t j = std::max<int64_t>(0, i - 1); j <= std::min(width - 1, i + 1); ++j)
          edges.emplace_back((t - 1) * width + j, t * width + i);
    Dag d = fromEdges(kind, (int32_t)(steps * width), std::move(edges));
    d.steps = steps;
    d.width = width;
    return d;
  }
  if (kind == "random") { // up to three predecessors among the 256 tasks before
    std::mt19937 random(20);
    for (int32_t i = 1; i < tasks; ++i) {
      std::vector<int32_t> from;
      for (int k = 0, n = random() % 4; k < n; ++k)
        from.push_back(i - 1 - (int32_t)(random() % std::min(i, 256)));
      std::sort(from.begin(), from.end());
      from.erase(std::unique(from.begin(), from.end()), from.end());
      for (int32_t f : from)
        edges.emplace_back(f, i);
    }
    return fromEdges(kind, (int32_t)tasks, std::move(edges));
  }
  throw std::invalid_argument("no graph is called '" + kind + "': there are chain, wide, stencil and random");
}

} // namespace evt::bench
