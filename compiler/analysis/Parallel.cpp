#include "compiler/analysis/Parallel.h"

#include "compiler/analysis/Counts.h"

namespace evt {

namespace {

/// Whether some task of `from` could notify an element that some task of `to` waits for.
isl::map possibleEdges(const TaskGraph &graph, const Call &from, const Call &to) {
  isl::map result =
      isl::manage(checked(graph.ctx(), isl_map_empty(isl_space_map_from_domain_and_range(
                                           isl_set_get_space(from.domain.get()), isl_set_get_space(to.domain.get())))));
  for (const EventUse &notify : from.notifies)
    for (const EventUse &wait : to.waits)
      if (notify.event == wait.event)
        result = result.unite(eventElements(graph, from, notify).apply_range(eventElements(graph, to, wait).reverse()));
  return result;
}

/// For every two calls, whether a chain of edges might lead from the first to the second.
std::vector<std::vector<bool>> reachedCalls(const TaskGraph &graph) {
  const size_t count = graph.calls.size();
  std::vector<std::vector<bool>> reached(count, std::vector<bool>(count));
  for (size_t from = 0; from < count; ++from)
    for (size_t to = 0; to < count; ++to)
      reached[from][to] = !possibleEdges(graph, graph.calls[from], graph.calls[to]).is_empty();
  for (size_t through = 0; through < count; ++through)
    for (size_t from = 0; from < count; ++from)
      for (size_t to = 0; reached[from][through] && to < count; ++to)
        reached[from][to] = reached[from][to] || reached[through][to];
  return reached;
}

} // namespace

std::vector<std::vector<bool>> carriedCoordinates(const TaskGraph &graph) {
  const std::vector<std::vector<bool>> reached = reachedCalls(graph);
  std::vector<std::vector<bool>> all;
  for (size_t index = 0; index < graph.calls.size(); ++index) {
    const Call &call = graph.calls[index];
    unsigned dims = call.domain.tuple_dim();
    std::vector<bool> &carried = all.emplace_back(dims, false);
    isl::map edges = possibleEdges(graph, call, call);
    for (unsigned dim = 0; dim < dims; ++dim) {
      isl::map equal = isl::manage(checked(graph.ctx(), isl_map_equate(edges.copy(), isl_dim_in, static_cast<int>(dim),
                                                                       isl_dim_out, static_cast<int>(dim))));
      carried[dim] = equal.is_strict_subset(edges);
      edges = equal;
    }
    // Inside one iteration a chain through another call cannot come back: edges go forward in program order.
    bool cycle = false;
    for (size_t other = 0; other < graph.calls.size(); ++other)
      cycle |= other != index && reached[index][other] && reached[other][index];
    for (unsigned dim = 0; cycle && dim < call.iterationDims; ++dim)
      carried[dim] = true;
  }
  return all;
}

bool mayStartReady(const TaskGraph &graph, int index) {
  const Call &call = graph.calls[static_cast<size_t>(index)];
  isl::set ready = call.domain.intersect_params(graph.context);
  for (const EventUse &wait : call.waits) {
    const Event &event = graph.events[static_cast<size_t>(wait.event)];
    if (!wait.exact || !event.count)
      continue;
    PossiblyNonZero counted = event.count->nonZeroOn(event.shape);
    if (counted.decided)
      ready = ready.subtract(wait.relation.intersect_range(counted.where).domain());
  }
  return !ready.is_empty();
}

} // namespace evt
