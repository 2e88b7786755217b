#include "compiler/analysis/Infer.h"

#include "compiler/analysis/Counts.h"
#include "compiler/analysis/Dependences.h"
#include "compiler/analysis/Order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace evt {

namespace {

template <typename T> const T &at(const std::vector<T> &items, int index) { return items[static_cast<size_t>(index)]; }

/// How an event sees one coordinate of its producer: not at all (0), as it is (1), or in aligned groups of that size.
using Grouping = std::vector<int64_t>;

/// All that must be ordered between two calls.
struct Need {
  int producer = -1;
  int consumer = -1;
  isl::map relation; // producer -> consumer
  isl::map reduced;  // without the pairs that chains of other needs imply
  bool dataDependent = false;
  std::set<int> memories;
};

std::vector<Need> collectNeeds(const TaskGraph &graph, const ProofLimits &limits) {
  std::map<std::pair<int, int>, Need> found;
  for (const Dependence &dependence : directDependences(graph, limits.operations)) {
    Need need{dependence.source, dependence.sink, dependence.relation, dependence.relation, false, {}};
    auto [slot, added] = found.try_emplace({dependence.source, dependence.sink}, need);
    Need &all = slot->second;
    if (!added)
      all.relation = all.relation.unite(dependence.relation);
    all.memories.insert(dependence.memory);
    all.dataDependent |= !dependence.relation.is_subset(certainConflicts(graph, dependence));
  }
  std::vector<EventEdge> edges;
  for (auto &[ends, need] : found) {
    need.relation = need.relation.coalesce();
    EventEdge edge;
    edge.from = need.producer;
    edge.to = need.consumer;
    edge.certain = edge.possible = need.relation;
    edges.push_back(edge);
  }
  // A pair implied by a chain of two or more needs is left out. Every link of the chain spans less of the program
  // order than the pair, so leaving out all such pairs at once still leaves chains for each of them.
  OrderProver prover(graph, edges, true);
  std::vector<Need> result;
  for (auto &[ends, need] : found) {
    isl::map indirect = prover.indirect(need.producer, need.consumer, limits);
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      need.reduced = need.relation.subtract(indirect).coalesce();
    } catch (const isl::exception_quota &) {
      need.reduced = need.relation; // more than necessary
    }
    if (!need.reduced.is_empty())
      result.push_back(need);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Which coordinates an event has
//===----------------------------------------------------------------------===//

/// { task -> element } for a grouping, the element's tuple named `name`.
isl::map elementMap(const Call &producer, const Grouping &grouping, const std::string &name) {
  isl::ctx ctx = producer.domain.ctx();
  std::string inputs, outputs;
  for (size_t dim = 0; dim < grouping.size(); ++dim) {
    std::string coordinate = "c" + std::to_string(dim);
    inputs += (dim ? ", " : "") + coordinate;
    if (grouping[dim] == 0)
      continue;
    outputs += outputs.empty() ? "" : ", ";
    outputs += grouping[dim] == 1 ? coordinate : "floor(" + coordinate + "/" + std::to_string(grouping[dim]) + ")";
  }
  std::string tuple = isl_set_get_tuple_name(producer.domain.get());
  isl::map result(ctx, "{ " + tuple + "[" + inputs + "] -> " + name + "[" + outputs + "] }");
  return result.intersect_domain(producer.domain);
}

/// Whether consumers need all tasks of an element as soon as they need one.
bool needsWholeElements(const isl::map &needed, const Call &producer, const Grouping &grouping) {
  isl::map elements = elementMap(producer, grouping, "G");
  return needed.apply_range(elements).apply_range(elements.reverse()).is_subset(needed);
}

/// The extreme values of an expression, by way of the set of its values: isl finds them for an expression itself only
/// if no piece of it has fractions, which (n + (n mod 2)) / 2 has although its values are integers.
isl::val leastValue(const isl::pw_aff &value) { return isl::multi_pw_aff(value).as_map().range().dim_min_val(0); }
isl::val largestValue(const isl::pw_aff &value) { return isl::multi_pw_aff(value).as_map().range().dim_max_val(0); }

/// The largest constant number of values of a coordinate that one consumer needs; 0 if it grows with a symbol.
int64_t widestNeed(const isl::map &needed, unsigned dim) {
  DimBounds bounds = imageBounds(needed, dim);
  isl::val widest = largestValue(bounds.hi.sub(bounds.lo).add_constant(1));
  return widest.is_int() ? widest.num_si() : 0;
}

/// Undoes groups whose sizes a count could not say. A count is one expression of the element or a product of sizes: a
/// group that the grid's edge cuts off has min(7, n - 7 e) tasks, which must then be the only factor that is no number.
void ungroupWhereCountsMultiply(const Call &producer, Grouping &grouping) {
  auto isNumber = [&](size_t dim) {
    DimBounds bounds = imageBounds(elementMap(producer, grouping, "G").reverse(), static_cast<unsigned>(dim));
    isl::pw_aff length = bounds.hi.sub(bounds.lo);
    return leastValue(length).eq(largestValue(length));
  };
  std::vector<size_t> cut;
  bool otherSizes = false;
  for (size_t dim = 0; dim < grouping.size(); ++dim) {
    if (grouping[dim] == 1 || isNumber(dim))
      continue;
    if (grouping[dim] == 0)
      otherSizes = true;
    else
      cut.push_back(dim);
  }
  for (size_t i = otherSizes ? 0 : 1; i < cut.size(); ++i)
    grouping[cut[i]] = 1;
}

/// The coarsest grouping of the producer's coordinates that orders nothing more than needed.
Grouping chooseGrouping(const isl::map &needed, const Call &producer) {
  Grouping grouping(producer.domain.tuple_dim(), 1);
  for (size_t dim = 0; dim < grouping.size(); ++dim) {
    grouping[dim] = 0;
    if (needsWholeElements(needed, producer, grouping))
      continue;
    grouping[dim] = 1;
    constexpr int64_t largestGroup = 4096;
    int64_t widest = widestNeed(needed, static_cast<unsigned>(dim));
    for (int64_t size = std::min(widest, largestGroup); size > 1; --size) {
      if (widest % size != 0)
        continue;
      grouping[dim] = size;
      if (needsWholeElements(needed, producer, grouping))
        break;
      grouping[dim] = 1;
    }
  }
  ungroupWhereCountsMultiply(producer, grouping);
  return grouping;
}

/// A way to order one need: the event's coordinates, and the boxes its consumer waits for.
struct Plan {
  Grouping grouping;
  std::vector<IndexBox> boxes;
  isl::map induced; // producer -> consumer
  bool exact = false;
  bool onlyMoreTasks = false; // not exact, but every task that needs something waits for just that
};

class Planner {
public:
  Planner(const TaskGraph &graph, const Need &need)
      : need(need), producer(at(graph.calls, need.producer)), consumer(at(graph.calls, need.consumer)),
        context(graph.context), domain(consumer.domain.intersect_params(graph.context)),
        forward(orderedPairs(producer.order, consumer.order)) {}

  /// An exact plan if there is one, else one that orders more, but only forward in program order.
  std::optional<Plan> choose() const {
    std::optional<Plan> coarse;
    for (const isl::map &relation : {need.reduced, need.relation}) {
      isl::map needed = relation.reverse();
      Grouping grouping = chooseGrouping(needed, producer);
      isl::map awaited = needed.apply_range(elementsOf(grouping));
      Plan plan = finish(grouping, coverByBoxes(awaited, domain, elementsOf(grouping).range()));
      plan.exact = plan.induced.is_equal(relation);
      if (plan.exact)
        return plan;
      // Constant offsets add tasks but no other elements; a box around the elements needed may add both, and reach
      // tasks that come later.
      if (!coarse)
        coarse = byOffsets(grouping, awaited);
      if (!coarse && isSound(plan))
        coarse = plan;
    }
    // All coordinates at constant offsets; or else whole iterations of the producer.
    unsigned iterations = std::min(producer.iterationDims, consumer.iterationDims);
    for (unsigned kept : {producer.domain.tuple_dim(), iterations}) {
      if (coarse)
        break;
      Grouping grouping(producer.domain.tuple_dim(), 0);
      std::fill(grouping.begin(), grouping.begin() + kept, 1);
      coarse = byOffsets(grouping, need.reduced.reverse().apply_range(elementsOf(grouping)));
    }
    return coarse;
  }

private:
  isl::map elementsOf(const Grouping &grouping) const {
    return elementMap(producer, grouping, "G").intersect_params(context);
  }

  Plan finish(const Grouping &grouping, const std::vector<IndexBox> &boxes) const {
    isl::map elements = elementsOf(grouping);
    return {grouping, boxes, elements.apply_range(boxesRelation(boxes, domain, elements.range()).reverse()), false,
            false};
  }

  std::optional<Plan> byOffsets(const Grouping &grouping, const isl::map &awaited) const {
    std::optional<std::vector<IndexBox>> boxes = coverByOffsets(awaited, domain);
    if (!boxes)
      return std::nullopt;
    Plan plan = finish(grouping, *boxes);
    plan.onlyMoreTasks = plan.induced.intersect_range(need.reduced.range()).is_equal(need.reduced);
    return isSound(plan) ? std::optional<Plan>(plan) : std::nullopt;
  }

  bool isSound(const Plan &plan) const {
    return need.reduced.is_subset(plan.induced) && plan.induced.is_subset(forward);
  }

  const Need &need;
  const Call &producer;
  const Call &consumer;
  isl::set context, domain;
  isl::map forward;
};

//===----------------------------------------------------------------------===//
// From a plan to an event
//===----------------------------------------------------------------------===//

/// { -> expression }: the single value of a relation's coordinate, as an expression of its domain.
isl::pw_aff coordinateOf(const isl::map &function, unsigned dim) { return imageBounds(function, dim).hi.coalesce(); }

std::optional<InferredEvent> makeEvent(const TaskGraph &graph, int producerIndex, const Grouping &grouping,
                                       int eventIndex) {
  const Call &producer = at(graph.calls, producerIndex);
  InferredEvent event;
  event.producer = producerIndex;
  event.notifyMap = elementMap(producer, grouping, "E" + std::to_string(eventIndex)).intersect_params(graph.context);
  event.elements = event.notifyMap.range();
  isl::map fromNothing = isl::manage(checked(graph.ctx(), isl_map_from_range(event.elements.copy())));
  isl::map plainMap = elementMap(producer, grouping, "E" + std::to_string(eventIndex));
  for (unsigned dim = 0; dim < event.elements.tuple_dim(); ++dim) {
    isl::pw_aff largest =
        isl::manage(checked(graph.ctx(), isl_set_dim_max(event.elements.copy(), static_cast<int>(dim))));
    // Where the grid is empty any extent will do: the expression is used everywhere.
    isl::pw_aff extent = largest.add_constant(1).gist(graph.context).coalesce();
    std::vector<isl::pw_aff> pieces = extendedPieces(extent);
    event.shape.push_back(pieces.size() == 1 ? pieces.front() : extent);
    event.notify.push_back(coordinateOf(plainMap, dim).gist(producer.domain).coalesce());
  }
  for (unsigned dim = 0; dim < event.elements.tuple_dim(); ++dim) {
    isl_set *atZero = isl_set_fix_si(event.elements.copy(), isl_dim_set, dim, 0);
    if (isl::manage(checked(graph.ctx(), atZero)).params().is_strict_subset(event.elements.params()))
      return std::nullopt;
  }
  if (!boxHull(fromNothing).range().is_equal(event.elements))
    return std::nullopt;

  std::optional<Polynomial> sizes = fibreSizes(event.notifyMap);
  if (!sizes)
    return std::nullopt;
  event.count = *sizes;
  Polynomial product = Polynomial::constant(event.elements, 1);
  for (size_t dim = 0; dim < grouping.size(); ++dim) {
    if (grouping[dim] == 1)
      continue;
    DimBounds bounds = imageBounds(event.notifyMap.reverse(), static_cast<unsigned>(dim));
    isl::pw_aff length = bounds.hi.sub(bounds.lo).add_constant(1).gist(event.elements).coalesce();
    product = product * Polynomial::fromAffine(length);
    event.countFactors.push_back(length);
  }
  if (!(product - event.count).nonZeroOn(event.elements).where.is_empty())
    return std::nullopt;
  return event;
}

std::string memoryNames(const TaskGraph &graph, const Need &need) {
  std::vector<std::string> names;
  for (int memory : need.memories)
    names.push_back(at(graph.memories, memory).name);
  return joinNames(names);
}

} // namespace

Inference inferEvents(const TaskGraph &graph, const ProofLimits &limits) {
  Inference result;
  std::map<std::pair<int, Grouping>, size_t> shared;
  std::map<int, int> eventsOf;
  for (const Need &need : collectNeeds(graph, limits)) {
    const Call &producer = at(graph.calls, need.producer);
    const Call &consumer = at(graph.calls, need.consumer);
    std::string what = consumer.name + " needs " + producer.name + " through " + memoryNames(graph, need);
    if (producer.ragged) {
      result.failures.push_back(
          {what + ", but how many tasks " + producer.name + " has is read from memory: declare an event with a count",
           consumer.location});
      continue;
    }
    std::optional<Plan> plan;
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      plan = Planner(graph, need).choose();
    } catch (const isl::exception_quota &) {
      // Reported like a need that has no plan.
    }
    if (!plan) {
      result.failures.push_back({what + ", but no event was found that orders them: declare one", consumer.location});
      continue;
    }
    auto [slot, added] = shared.try_emplace({need.producer, plan->grouping}, result.events.size());
    if (added) {
      int index = static_cast<int>(graph.events.size() + result.events.size());
      std::optional<InferredEvent> event = makeEvent(graph, need.producer, plan->grouping, index);
      if (!event) {
        shared.erase(slot);
        result.failures.push_back({what + ", but the tasks of " + producer.name +
                                       " for one element are no box that can be counted: declare an event",
                                   consumer.location});
        continue;
      }
      int number = ++eventsOf[need.producer];
      event->name = producer.name + "_done" + (number == 1 ? "" : "_" + std::to_string(number));
      result.events.push_back(std::move(*event));
    }
    InferredWait wait;
    wait.consumer = need.consumer;
    wait.boxes = plan->boxes;
    wait.coarser = need.dataDependent || !plan->exact;
    if (need.dataDependent)
      wait.why = "which elements of " + memoryNames(graph, need) +
                 " are touched is read from memory, so every task that could touch them is waited for";
    else if (wait.coarser && plan->onlyMoreTasks)
      wait.why = "only some tasks of " + consumer.name + " need " + producer.name + ", but all of them wait";
    else if (wait.coarser)
      wait.why = "the tasks of " + producer.name + " that " + consumer.name +
                 " needs are no union of a few boxes, so a box around them is waited for";
    result.events[slot->second].waits.push_back(std::move(wait));
  }
  return result;
}

TaskGraph withEvents(const TaskGraph &graph, const Inference &inference) {
  TaskGraph result = graph;
  for (const InferredEvent &inferred : inference.events) {
    int index = static_cast<int>(result.events.size());
    Event event;
    event.name = inferred.name;
    event.shape = inferred.elements;
    event.count = inferred.count;
    event.countText = inferred.count.text();
    event.location = at(graph.calls, inferred.producer).location;
    result.events.push_back(event);
    result.calls[static_cast<size_t>(inferred.producer)].notifies.push_back(
        {index, inferred.notifyMap, true, at(graph.calls, inferred.producer).location});
    for (const InferredWait &wait : inferred.waits) {
      Call &consumer = result.calls[static_cast<size_t>(wait.consumer)];
      for (const IndexBox &box : wait.boxes)
        consumer.waits.push_back(
            {index, boxRelation(box, consumer.domain, inferred.elements), true, consumer.location});
    }
  }
  for (Call &call : result.calls)
    for (Access &access : call.accesses)
      access.afterWaits = static_cast<unsigned>(call.waits.size());
  return result;
}

} // namespace evt
