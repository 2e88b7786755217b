#include "compiler/analysis/SmallShapes.h"

#include <algorithm>

namespace evt {

namespace {

constexpr size_t maxShapes = 100;
constexpr size_t maxPoints = 10'000; // of one shape
constexpr int64_t maxSum = 12;       // of the symbols, above their least values

/// Calls `visit` with all ways to write `sum` as a sum of `parts` numbers, the first numbers smallest first; ends early
/// when it returns false.
template <typename Visit> bool forEachSum(std::vector<int64_t> &parts, size_t at, int64_t sum, Visit visit) {
  if (at + 1 == parts.size()) {
    parts[at] = sum;
    return visit();
  }
  for (parts[at] = 0; parts[at] <= sum; ++parts[at])
    if (!forEachSum(parts, at + 1, sum - parts[at], visit))
      return false;
  return true;
}

} // namespace

void SmallShapes::list() {
  listed = true;
  constexpr int64_t unbounded = -1000;
  for (const Symbol &symbol : graph.symbols)
    if (symbol.min < unbounded)
      return; // a symbol without a least value has no smallest shapes
  if (graph.symbols.empty()) {
    add({});
    return;
  }
  std::vector<int64_t> extra(graph.symbols.size());
  for (int64_t sum = 0; sum <= maxSum; ++sum) {
    bool all = forEachSum(extra, 0, sum, [&] {
      SymbolValues symbols;
      for (size_t i = 0; i < extra.size(); ++i)
        symbols.push_back(graph.symbols[i].min + extra[i]);
      isl::set context = graph.context;
      return atSymbols(graph, context, symbols).is_empty() || add(symbols);
    });
    if (!all)
      return;
  }
}

/// False if there is no room for larger shapes.
bool SmallShapes::add(const SymbolValues &symbols) {
  if (shapes.size() >= maxShapes)
    return false;
  std::optional<ConcreteGraph> program = enumerate(graph, symbols, std::min(maxPoints, pointsLeft));
  if (!program)
    return false;
  size_t tasks = program->tasks.size();
  Shape shape{symbols, {}, std::vector<std::vector<bool>>(tasks, std::vector<bool>(tasks, false))};
  for (size_t i = 0; i < tasks; ++i)
    shape.indexOf[{program->tasks[i].call, program->tasks[i].coord}] = i;
  // Tasks are in program order, and an edge that does not go forward in it orders nothing (it is reported elsewhere).
  std::sort(program->edges.begin(), program->edges.end(),
            [](const auto &a, const auto &b) { return a.second < b.second; });
  for (const auto &[notifier, waiter] : program->edges) {
    if (notifier >= waiter)
      continue;
    std::vector<bool> &before = shape.before[static_cast<size_t>(waiter)];
    const std::vector<bool> &earlier = shape.before[static_cast<size_t>(notifier)];
    before[static_cast<size_t>(notifier)] = true;
    for (int i = 0; i < notifier; ++i)
      if (earlier[static_cast<size_t>(i)])
        before[static_cast<size_t>(i)] = true;
  }
  pointsLeft -= std::min(pointsLeft, tasks + program->points);
  shapes.push_back(std::move(shape));
  return true;
}

std::optional<TaskPair> SmallShapes::unordered(const isl::map &pairs, int from, int to) {
  if (!listed)
    list();
  unsigned inputs = pairs.domain_tuple_dim(), outputs = pairs.range_tuple_dim();
  for (const Shape &shape : shapes) {
    std::optional<TaskPair> found;
    std::vector<int64_t> first(inputs), second(outputs);
    isl::set points = atSymbols(graph, pairs, shape.symbols).wrap().flatten();
    points.foreach_point([&](isl::point point) {
      for (unsigned i = 0; i < inputs; ++i)
        first[i] = coordinate(point, i);
      for (unsigned i = 0; i < outputs; ++i)
        second[i] = coordinate(point, inputs + i);
      size_t a = shape.indexOf.at({from, first}), b = shape.indexOf.at({to, second});
      if (shape.before[b][a])
        return;
      if (!found || std::pair(first, second) < std::pair(found->first.coord, found->second.coord))
        found = TaskPair{shape.symbols, {from, first}, {to, second}};
    });
    if (found)
      return found;
  }
  return std::nullopt;
}

} // namespace evt
