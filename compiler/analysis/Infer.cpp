#include "compiler/analysis/Infer.h"

#include "compiler/analysis/AffineFold.h"
#include "compiler/analysis/Counts.h"
#include "compiler/analysis/Dependences.h"
#include "compiler/analysis/EventPlan.h"
#include "compiler/analysis/Order.h"

#include <algorithm>
#include <map>
#include <optional>

namespace evt {

namespace {

template <typename T> const T &at(const std::vector<T> &items, int index) { return items[static_cast<size_t>(index)]; }

/// Precision that costs too much is given up for a coarser event, so one step of inference gets less than a proof.
ProofLimits shareOf(const ProofLimits &limits) { return {std::max(limits.operations / 8, 1ul)}; }

std::vector<Need> collectNeeds(const TaskGraph &graph, const ProofLimits &limits) {
  constexpr unsigned maxPieces = 12;
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
    need.relation = need.reduced = need.relation.coalesce();
    EventEdge edge;
    edge.from = need.producer;
    edge.to = need.consumer;
    edge.certain = edge.possible = need.relation;
    edges.push_back(edge);
  }
  // A pair implied by a chain of two or more needs is left out. Every link of the chain spans less of the program
  // order than the pair, so leaving out all such pairs at once still leaves chains for each of them.
  ProofLimits left = shareOf(limits);
  constexpr unsigned maxDivisions = 3;
  OrderProver prover(graph, edges, true, maxDivisions);
  std::vector<Need> result;
  for (auto &[ends, need] : found) {
    isl::map indirect = prover.indirect(need.producer, need.consumer, left);
    try {
      OperationLimit limit(graph.ctx(), left.operations);
      isl::map reduced = need.relation.subtract(indirect).coalesce();
      if (reduced.is_empty())
        continue;
      // What is left over in many pieces is harder to say than the whole.
      if (reduced.n_basic_map() <= std::max(need.relation.n_basic_map(), maxPieces))
        need.reduced = reduced;
    } catch (const isl::exception_quota &) {
      left.operations = std::max(left.operations / 2, 1ul); // more is ordered than necessary
    }
    result.push_back(need);
  }
  return result;
}

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
    // Where the grid is empty there is no extent: the expression is used everywhere, and whoever writes the event makes
    // sure that what it adds has the count 0.
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

/// Whether two expressions agree wherever the first is defined.
bool isSameWhereDefined(const isl::pw_aff &value, const isl::pw_aff &other) {
  return value.domain().is_subset(value.eq_set(other));
}

bool involvesElement(const isl::pw_aff &value, const isl::set &elements) {
  unsigned dims = elements.tuple_dim();
  return isl_pw_aff_involves_dims(value.get(), isl_dim_in, 0, dims) == isl_bool_true;
}

/// Whether a program can say the event's shape and count. An extent of the producer's grid is a value that the program
/// has already; anything else needs an affine form.
bool isWritable(const TaskGraph &graph, const InferredEvent &event) {
  const Call &producer = at(graph.calls, event.producer);
  isl::set tasks = producer.domain.intersect_params(graph.context);
  auto isSize = [&](const isl::pw_aff &size) {
    for (unsigned dim = 0; dim < tasks.tuple_dim(); ++dim) {
      isl::pw_aff last = isl::manage(checked(graph.ctx(), isl_set_dim_max(tasks.copy(), static_cast<int>(dim))));
      if (isSameWhereDefined(last.add_constant(1), size))
        return true;
    }
    return foldOf(size, graph.context).has_value();
  };
  if (!std::all_of(event.shape.begin(), event.shape.end(), isSize))
    return false;
  bool varies = false, isProduct = false;
  for (const isl::pw_aff &factor : event.countFactors) {
    isl::pw_aff here = factor.intersect_domain(event.elements).gist(event.elements).coalesce();
    if (involvesElement(here, event.elements)) {
      std::optional<AffineFold> fold = foldOf(here, event.elements);
      if (varies || !fold || fold->largest)
        return false;
      varies = true;
      continue;
    }
    isl::pw_aff size = isl::manage(checked(graph.ctx(), isl_pw_aff_project_domain_on_params(here.release())));
    if (!isSize(size))
      return false;
    isProduct |= !leastValue(size).eq(largestValue(size));
  }
  return !varies || !isProduct;
}

std::string memoryNames(const TaskGraph &graph, const Need &need) {
  std::vector<std::string> names;
  for (int memory : need.memories)
    names.push_back(at(graph.memories, memory).name);
  return joinNames(names);
}

} // namespace

namespace {

class Inferrer {
public:
  Inferrer(const TaskGraph &graph, const ProofLimits &limits) : graph(graph), limits(limits) {}

  Inference run() {
    for (const Need &need : collectNeeds(graph, limits))
      order(need);
    return std::move(result);
  }

private:
  void order(const Need &need) {
    const Call &producer = at(graph.calls, need.producer);
    const Call &consumer = at(graph.calls, need.consumer);
    std::string what = consumer.name + " needs " + producer.name + " through " + memoryNames(graph, need);
    if (producer.ragged) {
      result.failures.push_back(
          {what + ", but how many tasks " + producer.name + " has is read from memory: declare an event with a count",
           consumer.location});
      return;
    }
    std::optional<EventPlan> plan = planFor(need);
    if (!plan) {
      result.failures.push_back({what + ", but no event was found that orders them: declare one", consumer.location});
      return;
    }
    auto [slot, added] = shared.try_emplace({need.producer, plan->grouping}, result.events.size());
    if (added) {
      int index = static_cast<int>(graph.events.size() + result.events.size());
      InferredEvent event = *makeEvent(graph, need.producer, plan->grouping, index);
      int number = ++eventsOf[need.producer];
      event.name = producer.name + "_done" + (number == 1 ? "" : "_" + std::to_string(number));
      result.events.push_back(std::move(event));
    }
    InferredWait wait;
    wait.consumer = need.consumer;
    wait.boxes = plan->boxes;
    wait.why = reason(need, *plan);
    wait.coarser = !wait.why.empty();
    result.events[slot->second].waits.push_back(std::move(wait));
  }

  std::optional<EventPlan> planFor(const Need &need) {
    EventPlanner planner(graph, need, [&](const Grouping &grouping) { return extentsOf(need.producer, grouping); });
    for (bool precise : {true, false})
      try {
        OperationLimit limit(graph.ctx(), precise ? shareOf(limits).operations : limits.operations);
        if (std::optional<EventPlan> plan = precise ? planner.precise() : planner.steps())
          return plan;
      } catch (const isl::exception_quota &) {
        // A coarser plan takes less work; without any it is reported like a need that has no plan.
      }
    return std::nullopt;
  }

  /// The extents of an event that a program can write.
  EventExtents::result_type extentsOf(int producer, const Grouping &grouping) {
    auto found = extents.find({producer, grouping});
    if (found != extents.end())
      return found->second;
    std::optional<InferredEvent> event = makeEvent(graph, producer, grouping, static_cast<int>(graph.events.size()));
    EventExtents::result_type answer;
    if (event && isWritable(graph, *event))
      answer = event->shape;
    extents.insert({{producer, grouping}, answer});
    return answer;
  }

  std::string reason(const Need &need, const EventPlan &plan) const {
    const std::string &producer = at(graph.calls, need.producer).name;
    const std::string &consumer = at(graph.calls, need.consumer).name;
    if (need.dataDependent)
      return "which elements of " + memoryNames(graph, need) +
             " are touched is read from memory, so every task that could touch them is waited for";
    switch (plan.kind) {
    case EventPlan::Kind::Exact:
      return "";
    case EventPlan::Kind::MoreTasks:
      return "only some tasks of " + consumer + " need " + producer + ", but all of them wait";
    case EventPlan::Kind::Around:
      return "the tasks of " + producer + " that " + consumer +
             " needs are no union of a few boxes, so a box around them is waited for";
    case EventPlan::Kind::EarlierSteps:
      return "the tasks of " + producer + " that " + consumer +
             " needs are in no box with affine bounds, so all that come earlier are waited for";
    }
    return "";
  }

  const TaskGraph &graph;
  const ProofLimits &limits;
  Inference result;
  std::map<std::pair<int, Grouping>, size_t> shared; // positions in result.events
  std::map<std::pair<int, Grouping>, EventExtents::result_type> extents;
  std::map<int, int> eventsOf;
};

} // namespace

Inference inferEvents(const TaskGraph &graph, const ProofLimits &limits) { return Inferrer(graph, limits).run(); }

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
