#include "compiler/analysis/Enumerate.h"

#include <algorithm>
#include <map>
#include <set>

namespace evt {

namespace {

using Coordinates = std::vector<int64_t>;

struct TooMany {};

/// Calls `visit` with the coordinates of every point of a set without free symbols.
template <typename Visit> void forEachPoint(const isl::set &set, size_t &budget, Visit visit) {
  unsigned dims = set.tuple_dim();
  set.foreach_point([&](isl::point point) {
    if (budget == 0)
      throw TooMany();
    --budget;
    Coordinates coordinates(dims);
    for (unsigned dim = 0; dim < dims; ++dim)
      coordinates[dim] = coordinate(point, dim);
    visit(std::move(coordinates));
  });
}

/// Splits the points of a relation into (task coordinates, element coordinates).
template <typename Visit> void forEachPair(const isl::map &relation, size_t &budget, Visit visit) {
  unsigned inputs = relation.domain_tuple_dim();
  isl::set flat = relation.wrap().flatten();
  forEachPoint(flat, budget, [&](Coordinates both) {
    visit(Coordinates(both.begin(), both.begin() + inputs), Coordinates(both.begin() + inputs, both.end()));
  });
}

ConcreteGraph list(const TaskGraph &graph, const SymbolValues &symbols, size_t maxPoints) {
  ConcreteGraph result;
  size_t budget = maxPoints;
  std::vector<std::pair<Coordinates, Task>> placed;
  for (int index = 0; index < static_cast<int>(graph.calls.size()); ++index) {
    const Call &call = graph.calls[static_cast<size_t>(index)];
    isl::map order = atSymbols(graph, call.order.intersect_domain(call.domain), symbols);
    forEachPair(order, budget, [&](Coordinates task, Coordinates place) {
      placed.emplace_back(std::move(place), Task{index, std::move(task)});
    });
  }
  std::sort(placed.begin(), placed.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::map<std::pair<int, Coordinates>, int> indexOf;
  for (auto &[place, task] : placed) {
    indexOf[{task.call, task.coord}] = static_cast<int>(result.tasks.size());
    result.tasks.push_back(std::move(task));
  }

  std::map<std::pair<int, Coordinates>, ConcreteElement> elements;
  for (int index = 0; index < static_cast<int>(graph.calls.size()); ++index) {
    const Call &call = graph.calls[static_cast<size_t>(index)];
    for (bool waiting : {false, true})
      for (const EventUse &use : waiting ? call.waits : call.notifies) {
        const Event &event = graph.events[static_cast<size_t>(use.event)];
        isl::map relation =
            atSymbols(graph, use.relation.intersect_domain(call.domain).intersect_range(event.shape), symbols);
        forEachPair(relation, budget, [&](Coordinates task, Coordinates element) {
          ConcreteElement &entry = elements[{use.event, element}];
          (waiting ? entry.waiters : entry.notifiers).push_back(indexOf.at({index, task}));
        });
      }
  }
  std::set<std::pair<int, int>> edges;
  for (auto &[key, entry] : elements) {
    entry.event = key.first;
    entry.element = key.second;
    const Event &event = graph.events[static_cast<size_t>(key.first)];
    if (event.count) {
      isl_set *one = atSymbols(graph, event.shape, symbols).release();
      for (size_t dim = 0; dim < key.second.size(); ++dim)
        one = isl_set_fix_val(one, isl_dim_set, static_cast<unsigned>(dim),
                              isl_val_int_from_si(graph.ctx().get(), static_cast<long>(key.second[dim])));
      entry.count = event.count->evaluate(isl::manage(checked(graph.ctx(), one)).sample_point());
    }
    std::sort(entry.notifiers.begin(), entry.notifiers.end());
    std::sort(entry.waiters.begin(), entry.waiters.end());
    for (int notifier : entry.notifiers)
      for (int waiter : entry.waiters) {
        if (edges.size() >= budget)
          throw TooMany();
        edges.insert({notifier, waiter});
      }
    result.elements.push_back(std::move(entry));
  }
  result.points = maxPoints - budget;
  result.edges.assign(edges.begin(), edges.end());
  return result;
}

} // namespace

std::optional<ConcreteGraph> enumerate(const TaskGraph &graph, const SymbolValues &symbols, size_t maxPoints) {
  try {
    return list(graph, symbols, maxPoints);
  } catch (const TooMany &) {
    return std::nullopt;
  }
}

} // namespace evt
