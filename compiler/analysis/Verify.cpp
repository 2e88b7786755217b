#include "compiler/analysis/Verify.h"

#include "compiler/analysis/Counts.h"
#include "compiler/analysis/Dependences.h"
#include "compiler/analysis/Order.h"
#include "compiler/analysis/SmallShapes.h"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace evt {

namespace {

template <typename T> const T &at(const std::vector<T> &items, int index) { return items[static_cast<size_t>(index)]; }

void requireDistinctPlaces(const TaskGraph &graph) {
  isl::union_map order = isl::union_map::empty(graph.ctx());
  for (const Call &call : graph.calls)
    order = order.unite(call.order.intersect_domain(call.domain).intersect_params(graph.context).to_union_map());
  if (!order.is_injective())
    throw std::invalid_argument("two tasks have the same place in program order");
}

/// An element that both tasks touch, by which accesses.
struct SharedElement {
  std::vector<int64_t> element;
  const Access *first = nullptr;
  const Access *second = nullptr;
};

SharedElement sharedElement(const TaskGraph &graph, const Dependence &dependence, const TaskPair &example) {
  const Call &source = at(graph.calls, dependence.source);
  const Call &sink = at(graph.calls, dependence.sink);
  for (bool sourceWrites : {true, false})
    for (const Access &first : source.accesses)
      for (const Access &second : sink.accesses) {
        if (first.memory != dependence.memory || second.memory != dependence.memory || first.write != sourceWrites)
          continue;
        if (second.write != dependence.sinkWrites || second.afterWaits != dependence.sinkWaits)
          continue;
        if ((!first.write && !second.write) || !first.exact || !second.exact)
          continue;
        isl::set both =
            singleTask(graph, example.first)
                .apply(atSymbols(graph, first.relation, example.symbols))
                .intersect(singleTask(graph, example.second).apply(atSymbols(graph, second.relation, example.symbols)));
        if (std::optional<std::vector<int64_t>> element = firstPoint(both))
          return {*element, &first, &second};
      }
  throw std::logic_error("a conflict without a common element");
}

Violation unordered(const TaskGraph &graph, const Dependence &dependence, const TaskPair &example) {
  const Call &sink = at(graph.calls, dependence.sink);
  SharedElement shared = sharedElement(graph, dependence, example);
  std::string element = describeElement(at(graph.memories, dependence.memory).name, shared.element);
  std::string first = describeTask(graph, example.first), second = describeTask(graph, example.second);
  auto does = [&](const Access &access) { return (access.write ? " writes " : " reads ") + element; };
  Violation violation;
  violation.kind = ViolationKind::Order;
  violation.message = "no event orders " + second + " after " + first + ", which" + does(*shared.first);
  violation.location = shared.second->location;
  violation.symbols = example.symbols;
  violation.notes = symbolNotes(graph, example.symbols);
  violation.notes.push_back({first + does(*shared.first), shared.first->location});
  violation.notes.push_back({second + does(*shared.second), shared.second->location});
  if (dependence.sinkWaits < sink.waits.size())
    violation.notes.push_back({"this access follows " + std::to_string(dependence.sinkWaits) + " of the " +
                                   std::to_string(sink.waits.size()) + " waits of " + sink.name,
                               shared.second->location});
  return violation;
}

enum class Outcome { Refuted, RestsOnData, Open };

/// Follows the events at a few small symbol values, from the smallest up, for pairs that certainly conflict and have no
/// proof.
Outcome refute(const TaskGraph &graph, const std::vector<EventEdge> &edges, const Dependence &dependence,
               const isl::map &suspects, TaskPair &example) {
  constexpr int maxSums = 4;
  constexpr int maxPairs = 4;
  Outcome outcome = Outcome::Open;
  std::optional<int64_t> above;
  for (int attempt = 0; attempt < maxSums; ++attempt) {
    std::optional<SymbolValues> symbols = smallestSymbols(graph, suspects.domain().params(), above);
    if (!symbols)
      break;
    above = sumOf(*symbols);
    isl::map pairs = atSymbols(graph, suspects, *symbols);
    for (int tried = 0; tried < maxPairs && !pairs.is_empty(); ++tried) {
      example.symbols = *symbols;
      example.first = {dependence.source, *firstPoint(pairs.domain())};
      isl::map fromFirst = pairs.intersect_domain(singleTask(graph, example.first));
      example.second = {dependence.sink, *firstPoint(fromFirst.range())};
      auto ordered = [&](bool possible) {
        return orderedAt(graph, edges, *symbols, example.first, example.second, dependence.sinkWaits, possible);
      };
      if (!ordered(true))
        return Outcome::Refuted;
      if (!ordered(false))
        outcome = Outcome::RestsOnData;
      pairs = pairs.subtract(fromFirst.intersect_range(singleTask(graph, example.second)));
    }
  }
  return outcome;
}

/// The events with an unproved count that could take part in ordering `to` after `from`: those on a path of calls.
std::vector<std::string> countsBetween(const TaskGraph &graph, const std::vector<EventEdge> &edges, int from, int to) {
  auto closure = [&](int start, bool forward) {
    std::set<int> seen{start};
    for (bool changed = true; changed;) {
      changed = false;
      for (const EventEdge &edge : edges)
        if (seen.count(forward ? edge.from : edge.to))
          changed |= seen.insert(forward ? edge.to : edge.from).second;
    }
    return seen;
  };
  std::set<int> after = closure(from, true), before = closure(to, false), events;
  for (const EventEdge &edge : edges)
    if (edge.onCount && after.count(edge.from) && before.count(edge.to))
      events.insert(edge.event);
  std::vector<std::string> names;
  for (int event : events)
    names.push_back("count:" + at(graph.events, event).name);
  return names;
}

class OrderCheck {
public:
  OrderCheck(const TaskGraph &graph, const std::vector<EventEdge> &edges, const ProofLimits &baseLimits,
             Findings &findings)
      : graph(graph), edges(edges), limits(baseLimits), findings(findings), strict(graph, edges, false), shapes(graph),
        repaired(edges) {
    restsOnCounts = std::any_of(edges.begin(), edges.end(), [](const EventEdge &edge) { return edge.onCount; });
  }

  void check(const std::vector<Dependence> &dependences) {
    std::vector<const Dependence *> open;
    for (const Dependence &dependence : dependences)
      if (!checkQuickly(dependence))
        open.push_back(&dependence);
    // A program that is refused already gets no long search for proofs it may not have.
    for (const Dependence *dependence : open)
      if (findings.ok())
        checkAtLength(*dependence);
  }

private:
  static constexpr unsigned long quickOperations = 100'000;

  /// Most dependences of a right program are proved quickly, most mistakes show at a small shape. False: neither.
  bool checkQuickly(const Dependence &dependence) {
    ProofLimits quick{std::min(limits.operations, quickOperations)};
    if (strict.proves(dependence, quick))
      return true;
    std::optional<TaskPair> example = refutedAtSmallShape(dependence);
    if (example)
      report(dependence, *example);
    return example.has_value();
  }

  void checkAtLength(const Dependence &dependence) {
    const Call &source = at(graph.calls, dependence.source);
    const Call &sink = at(graph.calls, dependence.sink);
    const Memory &memory = at(graph.memories, dependence.memory);
    OrderProver::Answer answer = strict.prove(dependence, limits);
    shrinkLimits(answer);
    if (answer.unproved.is_empty())
      return;
    Obligation obligation;
    obligation.name = "order:" + source.name + "->" + sink.name + ":" + memory.name;
    obligation.location = locationOf(dependence);
    std::string what = "the tasks of " + sink.name + " that touch an element of " + memory.name +
                       " come after those of " + source.name;
    if (restsOnCounts) {
      if (!trusting)
        trusting.emplace(graph, edges, true);
      answer = trusting->prove(dependence, limits);
      shrinkLimits(answer);
      if (answer.unproved.is_empty()) {
        std::vector<std::string> counts = countsBetween(graph, edges, dependence.source, dependence.sink);
        obligation.text = what + ": proved if " + joinNames(counts) + (counts.size() == 1 ? " holds" : " hold");
        findings.oblige(std::move(obligation));
        return;
      }
    }
    isl::map suspects = answer.unproved.intersect(certainConflicts(graph, dependence));
    TaskPair example;
    Outcome outcome = suspects.is_empty() ? Outcome::RestsOnData : Outcome::Open;
    if (!suspects.is_empty()) {
      try {
        OperationLimit limit(graph.ctx(), limits.operations);
        outcome = refute(graph, edges, dependence, suspects, example);
      } catch (const isl::exception_quota &) {
        outcome = Outcome::Open;
      }
    }
    switch (outcome) {
    case Outcome::Refuted:
      report(dependence, example);
      return;
    case Outcome::RestsOnData:
      obligation.text = what + ": which elements, tasks or events are meant is read from memory";
      break;
    case Outcome::Open:
      obligation.text = what + ": not proved" + (answer.limitReached ? ", the operation limit was reached" : "");
      break;
    }
    findings.oblige(std::move(obligation));
  }

  std::optional<TaskPair> refutedAtSmallShape(const Dependence &dependence) {
    if (dependence.sinkWaits < at(graph.calls, dependence.sink).waits.size())
      return std::nullopt; // the small shapes know the order after all waits only
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      return shapes.unordered(certainConflicts(graph, dependence), dependence.source, dependence.sink);
    } catch (const isl::exception_quota &) {
      return std::nullopt;
    }
  }

  void report(const Dependence &dependence, const TaskPair &example) {
    if (followsFromReported(dependence, example))
      return;
    findings.violations.push_back(unordered(graph, dependence, example));
    EventEdge missing;
    missing.from = dependence.source;
    missing.to = dependence.sink;
    missing.certain = missing.possible = dependence.relation;
    repaired.push_back(missing);
  }

  void shrinkLimits(const OrderProver::Answer &answer) {
    if (answer.limitReached)
      limits.operations = std::max(limits.operations / 2, 1ul);
  }

  /// Whether the pair would be ordered if the violations reported so far were repaired: one missing event between two
  /// layers leaves every buffer unordered, and one message says it.
  bool followsFromReported(const Dependence &dependence, const TaskPair &example) const {
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      return orderedAt(graph, repaired, example.symbols, example.first, example.second, dependence.sinkWaits, true);
    } catch (const isl::exception_quota &) {
      return false;
    }
  }

  std::string locationOf(const Dependence &dependence) const {
    for (const Access &access : at(graph.calls, dependence.sink).accesses)
      if (access.memory == dependence.memory && access.write == dependence.sinkWrites &&
          access.afterWaits == dependence.sinkWaits)
        return access.location;
    return at(graph.calls, dependence.sink).location;
  }

  const TaskGraph &graph;
  const std::vector<EventEdge> &edges;
  ProofLimits limits; // halved each time they are reached, so that many hard questions do not add up
  Findings &findings;
  OrderProver strict;
  std::optional<OrderProver> trusting;
  SmallShapes shapes;
  bool restsOnCounts = false;
  std::vector<EventEdge> repaired; // the edges, and one for each violation reported
};

} // namespace

Findings verify(const TaskGraph &graph, const ProofLimits &limits) {
  requireDistinctPlaces(graph);
  Findings findings;
  checkNotifiesInside(graph, limits, findings);
  std::vector<CountStatus> counts = checkCounts(graph, limits, findings);
  std::vector<EventEdge> edges = eventEdges(graph, counts, limits);
  checkProgress(graph, edges, limits, findings);
  OrderCheck order(graph, edges, limits, findings);
  std::vector<Dependence> dependences = directDependences(graph, limits.operations);
  // Reads of what was written first: they name the event a person would miss, and the rest often follows from it.
  std::stable_partition(dependences.begin(), dependences.end(),
                        [](const Dependence &dependence) { return !dependence.sinkWrites; });
  order.check(dependences);
  return findings;
}

} // namespace evt
