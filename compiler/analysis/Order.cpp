#include "compiler/analysis/Order.h"

#include <algorithm>

namespace evt {

namespace {

template <typename T> const T &at(const std::vector<T> &items, int index) { return items[static_cast<size_t>(index)]; }

/// What the closure of one call's edges may cost, as a share of a question: it is tried before anyone asks for it.
constexpr unsigned long closureShare = 16;

/// The pieces of a relation with at most so many integer divisions.
isl::map piecesWithFewDivisions(const isl::map &relation, unsigned most) {
  isl::map result = isl::map::empty(relation.space());
  relation.foreach_basic_map([&](isl::basic_map piece) {
    if (isl_basic_map_dim(piece.get(), isl_dim_div) <= static_cast<int>(most))
      result = result.unite(isl::map(piece));
  });
  return result;
}

// isl objects cannot be null when copied, so what may be absent is an optional or a missing entry of a map.
void uniteInto(std::optional<isl::map> &target, const isl::map &addition) {
  target = target ? target->unite(addition) : addition;
}

void uniteInto(std::map<int, isl::map> &target, int key, const isl::map &addition) {
  auto [slot, added] = target.try_emplace(key, addition);
  if (!added)
    slot->second = slot->second.unite(addition);
}

std::optional<isl::map> find(const std::map<int, isl::map> &items, int key) {
  auto found = items.find(key);
  return found == items.end() ? std::nullopt : std::optional<isl::map>(found->second);
}

/// { (a, b) : a notifies something, and b waits for everything a could notify }.
isl::map coveredPairs(const isl::map &notify, const isl::map &wait) {
  isl::map pairs = isl::manage(
      checked(notify.ctx(), isl_map_from_domain_and_range(notify.domain().release(), wait.domain().release())));
  // b misses e if e is notified by anyone and b does not wait for it.
  isl::set elements = notify.range();
  isl::map all = isl::manage(
      checked(notify.ctx(), isl_map_from_domain_and_range(wait.domain().release(), isl_set_copy(elements.get()))));
  isl::map missed = all.subtract(wait);
  return pairs.subtract(notify.apply_range(missed.reverse())).coalesce();
}

/// Pairs of tasks of two calls that are in the same iteration of the same repeat, if both are in one.
std::optional<isl::map> sameIteration(const Call &from, const Call &to) {
  if (from.iterationDims == 0 || to.iterationDims == 0)
    return std::nullopt;
  // What a timestamp begins with: the position of the outermost repeat and its iteration.
  auto repeatOf = [](const Call &call) {
    unsigned length = static_cast<unsigned>(isl_map_dim(call.order.get(), isl_dim_out));
    return isl::manage(checked(call.order.ctx(), isl_map_project_out(call.order.copy(), isl_dim_out, 2, length - 2)));
  };
  return repeatOf(from).apply_range(repeatOf(to).reverse());
}

isl::map certainPairs(const EventUse &notify, const EventUse &wait, const isl::map &notified, const isl::map &waited,
                      const isl::map &possible) {
  if (!wait.exact || notify.orNone)
    return isl::map::empty(possible.space());
  return notify.exact ? possible : coveredPairs(notified, waited);
}

} // namespace

std::vector<EventEdge> eventEdges(const TaskGraph &graph, const std::vector<CountStatus> &counts,
                                  const ProofLimits &limits) {
  std::vector<EventEdge> result;
  int calls = static_cast<int>(graph.calls.size());
  for (int from = 0; from < calls; ++from)
    for (const EventUse &notify : at(graph.calls, from).notifies)
      for (int to = 0; to < calls; ++to) {
        const Call &waiter = at(graph.calls, to);
        for (unsigned position = 0; position < waiter.waits.size(); ++position) {
          const EventUse &wait = waiter.waits[position];
          if (wait.event != notify.event)
            continue;
          isl::map notified = eventElements(graph, at(graph.calls, from), notify);
          isl::map waited = eventElements(graph, waiter, wait);
          EventEdge edge;
          edge.event = notify.event;
          edge.from = from;
          edge.to = to;
          edge.wait = position;
          edge.possible = notified.apply_range(waited.reverse()).coalesce();
          if (edge.possible.is_empty())
            continue;
          edge.certain = isl::map::empty(edge.possible.space());
          try {
            OperationLimit limit(graph.ctx(), limits.operations);
            isl::map pairs = certainPairs(notify, wait, notified, waited, edge.possible);
            isl::map forward = orderedPairs(at(graph.calls, from).order, waiter.order);
            edge.certain = pairs.is_subset(forward) ? pairs : pairs.intersect(forward);
          } catch (const isl::exception_quota &) {
            // An edge that took too long to make sure of proves nothing.
          }
          CountStatus status = at(counts, notify.event);
          edge.onCount = status == CountStatus::DataDependent || status == CountStatus::Unproved;
          result.push_back(std::move(edge));
        }
      }
  return result;
}

void checkProgress(const TaskGraph &graph, const std::vector<EventEdge> &edges, const ProofLimits &limits,
                   Findings &findings) {
  for (const EventEdge &edge : edges) {
    const Call &from = at(graph.calls, edge.from);
    const Call &to = at(graph.calls, edge.to);
    const Event &event = at(graph.events, edge.event);
    const EventUse &wait = to.waits[edge.wait];
    std::string name = "progress:" + from.name + "->" + to.name + ":" + event.name;
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      isl::map backward = edge.possible.subtract(orderedPairs(from.order, to.order));
      if (backward.is_empty())
        continue;
      // An edge that may not exist for the data at hand is no violation.
      bool exact = wait.exact && !from.ragged && !to.ragged;
      for (const EventUse &notify : from.notifies)
        exact &= notify.event != edge.event || notify.exact;
      if (!exact) {
        findings.oblige({name,
                         "which tasks of " + from.name + " the tasks of " + to.name + " wait for through " +
                             event.name + " is read from memory; all of them come before in program order",
                         wait.location});
        continue;
      }
      Violation violation;
      violation.kind = ViolationKind::Progress;
      violation.location = wait.location;
      violation.symbols = *smallestSymbols(graph, backward.domain().params());
      violation.notes = symbolNotes(graph, violation.symbols);
      isl::map concrete = atSymbols(graph, backward, violation.symbols);
      Task waiter{edge.to, *firstPoint(concrete.range())};
      Task notifier{edge.from, *firstPoint(concrete.intersect_range(singleTask(graph, waiter)).domain())};
      isl::set shared =
          singleTask(graph, waiter).apply(atSymbols(graph, eventElements(graph, to, wait), violation.symbols));
      isl::set notified = isl::set::empty(event.shape.space());
      std::string notifyLocation;
      for (const EventUse &notify : from.notifies) {
        if (notify.event != edge.event)
          continue;
        isl::set elements = singleTask(graph, notifier)
                                .apply(atSymbols(graph, eventElements(graph, from, notify), violation.symbols))
                                .intersect(shared);
        if (notifyLocation.empty() && !elements.is_empty())
          notifyLocation = notify.location;
        notified = notified.unite(elements);
      }
      std::string element = describeElement(event.name, *firstPoint(notified));
      if (waiter == notifier)
        violation.message = describeTask(graph, waiter) + " waits for " + element + ", which it notifies itself";
      else
        violation.message = describeTask(graph, waiter) + " waits for " + element + ", which " +
                            describeTask(graph, notifier) + " notifies, but " + describeTask(graph, notifier) +
                            " comes later in program order";
      violation.notes.push_back({element + " is notified here", notifyLocation});
      findings.violations.push_back(std::move(violation));
    } catch (const isl::exception_quota &) {
      findings.oblige({name,
                       "the operation limit was reached before it was proved that " + to.name + " waits through " +
                           event.name + " only for tasks of " + from.name + " that come before in program order",
                       wait.location});
    }
  }
}

isl::map justifiedClosure(const isl::map &edges) {
  isl_bool exact = isl_bool_false; // not relied upon: the closure is justified below
  isl::map closure = isl::manage(checked(edges.ctx(), isl_map_transitive_closure(edges.copy(), &exact))).coalesce();
  isl::map justified = edges.unite(edges.apply_range(closure));
  return closure.is_subset(justified) ? closure : edges;
}

//===----------------------------------------------------------------------===//
// OrderProver
//===----------------------------------------------------------------------===//

OrderProver::OrderProver(const TaskGraph &graph, const std::vector<EventEdge> &allEdges, bool trustCounts,
                         std::optional<unsigned> maxDivisions)
    : graph(graph), maxDivisions(maxDivisions) {
  for (const EventEdge &edge : allEdges)
    if (!edge.certain.is_empty() && (trustCounts || !edge.onCount)) {
      edges.push_back(&edge);
      auto [slot, added] = directEdges.try_emplace({edge.from, edge.to}, edge.certain);
      if (!added)
        slot->second = slot->second.unite(edge.certain);
    }
  for (auto &[ends, relation] : directEdges)
    relation = relation.coalesce();
}

void OrderProver::closeCycles(const ProofLimits &limits) {
  if (closed)
    return;
  closed = true;
  for (auto &[ends, relation] : directEdges) {
    if (ends.first != ends.second || !isLink(ends.first))
      continue;
    try {
      OperationLimit limit(graph.ctx(), limits.operations / closureShare);
      isl::map closure = justifiedClosure(relation);
      if (closure.is_subset(relation))
        continue;
      relation = closure;
      chains.clear();
    } catch (const isl::exception_quota &) {
      // The edges without their closure prove less, and nothing wrong.
    }
  }
}

bool OrderProver::isLink(int call) const { return !at(graph.calls, call).ragged; }

unsigned OrderProver::waitsOf(int call) const { return static_cast<unsigned>(at(graph.calls, call).waits.size()); }

std::optional<isl::map> OrderProver::direct(int from, int to, unsigned waits) const {
  if (waits >= waitsOf(to)) {
    auto found = directEdges.find({from, to});
    return found == directEdges.end() ? std::nullopt : std::optional<isl::map>(found->second);
  }
  std::optional<isl::map> result;
  for (const EventEdge *edge : edges)
    if (edge->from == from && edge->to == to && edge->wait < waits)
      uniteInto(result, edge->certain);
  return result;
}

void OrderProver::extend(Chains &found, int start) {
  // Worked on a copy: the operation limit may end it at any point.
  Chains longer = found;
  std::map<int, isl::map> next;
  for (const auto &[ends, relation] : directEdges) {
    auto [from, to] = ends;
    if (found.hops == 0) {
      if (from == start)
        uniteInto(next, to, relation);
    } else if (std::optional<isl::map> newest = find(found.frontier, from); newest && isLink(from)) {
      uniteInto(next, to, newest->apply_range(relation));
    }
  }
  longer.frontier.clear();
  for (const auto &[call, added] : next) {
    isl::map simple = maxDivisions ? piecesWithFewDivisions(added.coalesce(), *maxDivisions) : added.coalesce();
    std::optional<isl::map> reached = find(longer.reached, call);
    if (simple.is_empty() || (reached && simple.is_subset(*reached)))
      continue;
    longer.reached.insert_or_assign(call, reached ? reached->unite(simple).coalesce() : simple);
    longer.frontier.insert_or_assign(call, simple);
  }
  ++longer.hops;
  longer.complete = longer.frontier.empty();
  found = std::move(longer);
}

void OrderProver::extendTo(int start, unsigned hops) {
  Chains &found = chains[start];
  while (!found.complete && found.hops < hops)
    extend(found, start);
}

/// Pairs (task of start, task of sink) whose chain ends with one of the sink's first `waits` waits.
isl::map OrderProver::reachedBefore(int start, int sink, unsigned waits) {
  const Chains &found = chains[start];
  std::optional<isl::map> result;
  if (waits >= waitsOf(sink)) {
    result = find(found.reached, sink);
  } else {
    if (std::optional<isl::map> last = direct(start, sink, waits))
      uniteInto(result, *last);
    for (const auto &[link, reached] : found.reached)
      if (std::optional<isl::map> last = direct(link, sink, waits); last && isLink(link))
        uniteInto(result, reached.apply_range(*last));
  }
  return result ? *result : emptyBetween(start, sink);
}

isl::map OrderProver::emptyBetween(int from, int to) const {
  return isl::map::empty(isl::manage(
      checked(graph.ctx(), isl_space_map_from_domain_and_range(isl_set_get_space(at(graph.calls, from).domain.get()),
                                                               isl_set_get_space(at(graph.calls, to).domain.get())))));
}

isl::map OrderProver::byInduction(const Dependence &dependence, const isl::map &proved) {
  std::optional<isl::map> sinkCycle, sourceCycle;
  if (isLink(dependence.sink))
    sinkCycle = reachedBefore(dependence.sink, dependence.sink, dependence.sinkWaits);
  if (isLink(dependence.source))
    sourceCycle = reachedBefore(dependence.source, dependence.source, waitsOf(dependence.source));
  isl::map claimed = dependence.relation;
  constexpr int maxRounds = 6;
  for (int round = 0; round < maxRounds; ++round) {
    isl::map known = claimed.unite(proved);
    isl::map justified = proved;
    if (sinkCycle)
      justified = justified.unite(known.apply_range(*sinkCycle));
    if (sourceCycle)
      justified = justified.unite(sourceCycle->apply_range(known));
    isl::map kept = claimed.intersect(justified);
    if (claimed.is_subset(kept))
      return proved.unite(claimed);
    claimed = kept.coalesce();
    if (claimed.is_empty())
      break;
  }
  return proved;
}

std::optional<isl::map> OrderProver::closureOfCycles(int call) {
  auto known = closures.find(call);
  if (known != closures.end())
    return known->second;
  std::optional<isl::map> cycles = find(chains[call].reached, call);
  if (cycles)
    cycles = justifiedClosure(*cycles);
  closures.emplace(call, cycles);
  return cycles;
}

isl::map OrderProver::byClosures(const Dependence &dependence, const isl::map &proved) {
  isl::map result = proved;
  for (int link = 0; link < static_cast<int>(graph.calls.size()); ++link) {
    if (!isLink(link))
      continue;
    extendTo(link, chains[dependence.source].hops);
    std::optional<isl::map> closure = closureOfCycles(link);
    if (!closure)
      continue;
    std::optional<isl::map> before;
    if (link == dependence.source)
      before = closure;
    if (std::optional<isl::map> reached = find(chains[dependence.source].reached, link))
      uniteInto(before, reached->apply_range(*closure));
    if (!before)
      continue;
    isl::map after = reachedBefore(link, dependence.sink, dependence.sinkWaits);
    result = result.unite(before->apply_range(after));
    if (link == dependence.sink && dependence.sinkWaits >= waitsOf(link))
      result = result.unite(*before);
    if (dependence.relation.is_subset(result))
      return result;
  }
  return result;
}

OrderProver::Search OrderProver::search(const Dependence &dependence, const ProofLimits &limits, bool quick) {
  Search result{isl::map::empty(dependence.relation.space())};
  auto covers = [&](const isl::map &pairs) {
    result.proved = pairs;
    return result.all = dependence.relation.is_subset(pairs);
  };
  try {
    OperationLimit limit(graph.ctx(), limits.operations);
    // A chain inside one iteration visits a call at most once; one that goes round twice covers double buffers.
    unsigned once = static_cast<unsigned>(graph.calls.size()) + 1;
    for (unsigned stage : {once, 2 * once}) {
      Chains &found = chains[dependence.source];
      for (;;) {
        if (covers(reachedBefore(dependence.source, dependence.sink, dependence.sinkWaits)))
          return result;
        if (found.complete || found.hops >= stage)
          break;
        extend(found, dependence.source);
      }
      extendTo(dependence.sink, stage);
      if (covers(byInduction(dependence, result.proved)))
        return result;
      if (!quick && covers(byClosures(dependence, result.proved)))
        return result;
      if (found.complete || quick)
        break;
    }
  } catch (const isl::exception_quota &) {
    result.limitReached = true;
  }
  return result;
}

OrderProver::Parts OrderProver::partsOf(const Dependence &dependence, const ProofLimits &limits) const {
  Parts whole{std::nullopt, dependence.relation};
  std::optional<isl::map> same = sameIteration(at(graph.calls, dependence.source), at(graph.calls, dependence.sink));
  if (!same)
    return whole;
  try {
    OperationLimit limit(graph.ctx(), limits.operations);
    isl::map inside = dependence.relation.intersect(*same);
    if (inside.is_empty())
      return whole;
    return {inside, dependence.relation.subtract(*same)};
  } catch (const isl::exception_quota &) {
    return whole; // in one part it is as right
  }
}

OrderProver &OrderProver::insideIterations() {
  if (inside)
    return *inside;
  for (const EventEdge *edge : edges)
    if (std::optional<isl::map> same = sameIteration(at(graph.calls, edge->from), at(graph.calls, edge->to))) {
      EventEdge &restricted = insideEdges.emplace_back(*edge);
      restricted.certain = edge->certain.intersect(*same);
    }
  inside = std::make_unique<OrderProver>(graph, insideEdges, true, maxDivisions);
  return *inside;
}

bool OrderProver::proves(const Dependence &dependence, const ProofLimits &limits) {
  Parts parts = partsOf(dependence, limits);
  Dependence part = dependence;
  if (parts.inside) {
    part.relation = *parts.inside;
    if (!insideIterations().search(part, limits, true).all)
      return false;
  }
  part.relation = parts.across;
  return part.relation.is_empty() || search(part, limits, true).all;
}

OrderProver::Answer OrderProver::prove(const Dependence &dependence, const ProofLimits &limits) {
  Parts parts = partsOf(dependence, limits);
  Dependence part = dependence;
  part.relation = parts.across;
  Answer answer{parts.across, false};
  if (!part.relation.is_empty())
    answer = proveHere(part, limits);
  if (parts.inside && !answer.unproved.is_empty()) // an induction may go through pairs of one iteration
    return proveHere(dependence, limits);
  if (parts.inside) {
    part.relation = *parts.inside;
    Answer within = insideIterations().proveHere(part, limits);
    answer.unproved = answer.unproved.unite(within.unproved);
    answer.limitReached |= within.limitReached;
  }
  return answer;
}

OrderProver::Answer OrderProver::proveHere(const Dependence &dependence, const ProofLimits &limits) {
  closeCycles(limits);
  Search found = search(dependence, limits, false);
  if (found.all)
    return {isl::map::empty(dependence.relation.space()), false};
  try {
    OperationLimit limit(graph.ctx(), limits.operations);
    return {dependence.relation.subtract(found.proved).coalesce(), found.limitReached};
  } catch (const isl::exception_quota &) {
    return {dependence.relation, true};
  }
}

isl::map OrderProver::indirect(int from, int to, const ProofLimits &limits) {
  isl::map result = emptyBetween(from, to);
  closeCycles(limits);
  try {
    OperationLimit limit(graph.ctx(), limits.operations);
    extendTo(from, static_cast<unsigned>(graph.calls.size()) + 1);
  } catch (const isl::exception_quota &) {
    // The chains found so far are chains.
  }
  try {
    OperationLimit limit(graph.ctx(), limits.operations);
    for (const EventEdge *edge : edges)
      if (edge->to == to && isLink(edge->from))
        if (std::optional<isl::map> reached = find(chains[from].reached, edge->from))
          result = result.unite(reached->apply_range(edge->certain)).coalesce();
  } catch (const isl::exception_quota &) {
    // Some are pairs all the same.
  }
  return result;
}

//===----------------------------------------------------------------------===//
// One pair of tasks
//===----------------------------------------------------------------------===//

bool orderedAt(const TaskGraph &graph, const std::vector<EventEdge> &edges, const SymbolValues &symbols,
               const Task &first, const Task &second, unsigned waits, bool possible) {
  // Backwards from `second`, call by call, looking only at tasks that do not come before `first`.
  isl::set target = singleTask(graph, first);
  std::vector<isl::map> relations;
  std::vector<isl::set> allowed, visited, frontier;
  for (const Call &call : graph.calls) {
    isl::map notBefore = orderedPairs(at(graph.calls, first.call).order.intersect_domain(target), call.order);
    allowed.push_back(atSymbols(graph, notBefore.range().unite(isl::set::empty(call.domain.space())), symbols));
    visited.push_back(isl::set::empty(call.domain.space()));
  }
  allowed[static_cast<size_t>(first.call)] = allowed[static_cast<size_t>(first.call)].unite(target);
  for (const EventEdge &edge : edges)
    relations.push_back(atSymbols(graph, possible ? edge.possible : edge.certain, symbols));
  frontier = visited;
  frontier[static_cast<size_t>(second.call)] = singleTask(graph, second);
  bool atStart = true;
  for (;;) {
    std::vector<isl::set> next(graph.calls.size());
    for (size_t i = 0; i < edges.size(); ++i) {
      const EventEdge &edge = edges[i];
      const isl::set &from = at(frontier, edge.to);
      if (from.is_empty() || (atStart && edge.event >= 0 && edge.wait >= waits))
        continue;
      isl::set before = from.apply(relations[i].reverse()).intersect(at(allowed, edge.from));
      isl::set &slot = next[static_cast<size_t>(edge.from)];
      slot = slot.is_null() ? before : slot.unite(before);
    }
    atStart = false;
    bool changed = false;
    for (size_t call = 0; call < next.size(); ++call) {
      if (next[call].is_null()) {
        frontier[call] = isl::set::empty(graph.calls[call].domain.space());
        continue;
      }
      frontier[call] = next[call].subtract(visited[call]).coalesce();
      if (frontier[call].is_empty())
        continue;
      changed = true;
      visited[call] = visited[call].unite(frontier[call]).coalesce();
      // A task that may not exist links nothing for certain.
      if (!possible && graph.calls[call].ragged)
        frontier[call] = isl::set::empty(graph.calls[call].domain.space());
    }
    if (!at(visited, first.call).is_disjoint(target))
      return true;
    if (!changed)
      return false;
  }
}

} // namespace evt
