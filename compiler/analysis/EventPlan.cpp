#include "compiler/analysis/EventPlan.h"

#include "compiler/analysis/AffineFold.h"

#include <algorithm>

namespace evt {

//===----------------------------------------------------------------------===//
// Which coordinates an event has
//===----------------------------------------------------------------------===//

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
  isl::map result = mapOf(ctx, "{ " + tuple + "[" + inputs + "] -> " + name + "[" + outputs + "] }");
  return result.intersect_domain(producer.domain);
}

namespace {

/// Whether consumers need all tasks of an element as soon as they need one.
bool needsWholeElements(const isl::map &needed, const Call &producer, const Grouping &grouping) {
  isl::map elements = elementMap(producer, grouping, "G");
  return needed.apply_range(elements).apply_range(elements.reverse()).is_subset(needed);
}

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

isl::pw_aff coordinateOn(const isl::set &domain, unsigned dim) {
  isl_local_space *space = isl_local_space_from_space(domain.space().release());
  return isl::manage(checked(domain.ctx(), isl_pw_aff_var_on_domain(space, isl_dim_set, dim)));
}

} // namespace

//===----------------------------------------------------------------------===//
// EventPlanner
//===----------------------------------------------------------------------===//

EventPlanner::EventPlanner(const TaskGraph &graph, const Need &need, EventExtents extents)
    : need(need), producer(graph.calls[static_cast<size_t>(need.producer)]),
      consumer(graph.calls[static_cast<size_t>(need.consumer)]), extents(std::move(extents)), context(graph.context),
      domain(consumer.domain.intersect_params(graph.context)), forward(orderedPairs(producer.order, consumer.order)) {}

isl::map EventPlanner::elementsOf(const Grouping &grouping) const {
  return elementMap(producer, grouping, "G").intersect_params(context);
}

/// The coarsest grouping that is exact, or where that makes no event a program can write, finer ones.
std::vector<Grouping> EventPlanner::groupingsFor(const isl::map &needed) const {
  Grouping coarsest = chooseGrouping(needed, producer), ungrouped = coarsest;
  for (int64_t &size : ungrouped)
    size = std::min<int64_t>(size, 1);
  std::vector<Grouping> result;
  for (const Grouping &grouping : {coarsest, ungrouped, Grouping(coarsest.size(), 1)})
    if (result.empty() && extents(grouping))
      result.push_back(grouping);
  return result;
}

std::optional<EventPlan> EventPlanner::precise() const {
  std::vector<EventPlan> around;
  std::optional<EventPlan> coarse;
  for (const isl::map &relation : {need.reduced, need.relation}) {
    isl::map needed = relation.reverse();
    for (const Grouping &grouping : groupingsFor(needed)) {
      isl::map awaited = needed.apply_range(elementsOf(grouping));
      EventPlan plan = finish(grouping, coverByBoxes(awaited, domain, elementsOf(grouping).range()));
      bool writable = isWritable(plan);
      if (writable && plan.induced.is_equal(relation)) {
        plan.kind = EventPlan::Kind::Exact;
        return plan;
      }
      // Constant offsets add tasks but no other elements; a box around the elements needed may add both, and reach
      // tasks that come later.
      if (!coarse)
        coarse = byOffsets(grouping, awaited);
      if (!coarse && writable && isSound(plan))
        coarse = plan;
      around.push_back(plan);
    }
  }
  // All coordinates at constant offsets; or else whole iterations of the producer.
  unsigned iterations = std::min(producer.iterationDims, consumer.iterationDims);
  for (unsigned kept : {producer.domain.tuple_dim(), iterations}) {
    if (coarse)
      break;
    Grouping grouping(producer.domain.tuple_dim(), 0);
    std::fill(grouping.begin(), grouping.begin() + kept, 1);
    if (extents(grouping))
      coarse = byOffsets(grouping, need.reduced.reverse().apply_range(elementsOf(grouping)));
  }
  for (size_t i = 0; i < around.size() && !coarse; ++i)
    coarse = relaxed(around[i]);
  return coarse;
}

EventPlan EventPlanner::finish(const Grouping &grouping, const std::vector<IndexBox> &boxes) const {
  isl::map elements = elementsOf(grouping);
  return {grouping, boxes, elements.apply_range(boxesRelation(boxes, domain, elements.range()).reverse()),
          EventPlan::Kind::Around};
}

std::optional<EventPlan> EventPlanner::byOffsets(const Grouping &grouping, const isl::map &awaited) const {
  std::optional<std::vector<IndexBox>> boxes = coverByOffsets(awaited, domain);
  if (!boxes)
    return std::nullopt;
  EventPlan plan = finish(grouping, *boxes);
  if (plan.induced.intersect_range(need.reduced.range()).is_equal(need.reduced))
    plan.kind = EventPlan::Kind::MoreTasks;
  return isSound(plan) ? std::optional(plan) : std::nullopt;
}

/// The plan with the ends of a dimension in place of bounds that have no affine form.
std::optional<EventPlan> EventPlanner::relaxed(EventPlan plan) const {
  std::vector<isl::pw_aff> ends = *extents(plan.grouping);
  for (IndexBox &box : plan.boxes)
    for (size_t dim = 0; dim < ends.size(); ++dim) {
      if (!foldOf(box.lo[dim], domain))
        box.lo[dim] = domain.space().zero_aff_on_domain();
      if (!foldOf(box.hi[dim].add_constant(1), domain))
        box.hi[dim] = ends[dim].add_constant(-1).insert_domain(domain.space());
    }
  plan = finish(plan.grouping, plan.boxes);
  return isSound(plan) ? std::optional(plan) : std::nullopt;
}

std::optional<EventPlan> EventPlanner::steps() const {
  unsigned most = need.producer == need.consumer ? producer.domain.tuple_dim()
                                                 : std::min(producer.iterationDims, consumer.iterationDims);
  for (unsigned kept = 0; kept <= most; ++kept) {
    Grouping grouping(producer.domain.tuple_dim(), 0);
    std::fill(grouping.begin(), grouping.begin() + kept, 1);
    std::optional<std::vector<isl::pw_aff>> ends = extents(grouping);
    if (!ends)
      continue;
    std::vector<IndexBox> boxes = earlierSteps(grouping, *ends);
    IndexBox same; // the step that the task itself is in
    for (unsigned dim = 0; dim < kept; ++dim) {
      same.lo.push_back(coordinateOn(domain, dim));
      same.hi.push_back(coordinateOn(domain, dim));
    }
    for (bool withSame : {false, true}) {
      if (withSame)
        boxes.push_back(same);
      if (boxes.empty())
        continue;
      EventPlan plan = finish(grouping, boxes);
      plan.kind = EventPlan::Kind::EarlierSteps;
      if (isSound(plan))
        return plan;
    }
  }
  return std::nullopt;
}

/// Steps are what the first coordinates tell apart. Those before (x, y) are (.. to x - 1, all) and (x, .. to y - 1).
std::vector<IndexBox> EventPlanner::earlierSteps(const Grouping &grouping, const std::vector<isl::pw_aff> &ends) const {
  unsigned kept = static_cast<unsigned>(ends.size());
  isl::map awaited = need.reduced.reverse().apply_range(elementsOf(grouping));
  isl_map *steps = isl_map_project_out(awaited.copy(), isl_dim_in, kept, awaited.domain_tuple_dim() - kept);
  steps = isl_map_reset_tuple_id(isl_map_reset_tuple_id(steps, isl_dim_in), isl_dim_out);
  isl::set distances = isl::manage(checked(domain.ctx(), steps)).deltas().project_out_all_params();
  std::vector<IndexBox> boxes;
  for (unsigned last = 0; last < kept; ++last) {
    constexpr long farthest = 16;
    isl::val distance = distances.dim_min_val(static_cast<int>(last));
    IndexBox box;
    for (unsigned dim = 0; dim < kept; ++dim) {
      isl::pw_aff here = coordinateOn(domain, dim);
      isl::pw_aff zero = domain.space().zero_aff_on_domain();
      if (dim < last) {
        box.lo.push_back(here);
        box.hi.push_back(here);
      } else if (dim == last) {
        bool near = distance.is_int() && distance.ge(isl::val(domain.ctx(), -farthest));
        box.lo.push_back(near ? here.add_constant(distance) : zero);
        box.hi.push_back(here.add_constant(-1));
      } else {
        box.lo.push_back(zero);
        box.hi.push_back(ends[dim].add_constant(-1).insert_domain(domain.space()));
      }
    }
    boxes.push_back(box);
  }
  return boxes;
}

bool EventPlanner::isSound(const EventPlan &plan) const {
  return need.reduced.is_subset(plan.induced) && plan.induced.is_subset(forward);
}

bool EventPlanner::isWritable(const EventPlan &plan) const {
  return std::all_of(plan.boxes.begin(), plan.boxes.end(), [&](const IndexBox &box) {
    for (size_t dim = 0; dim < box.lo.size(); ++dim)
      if (!foldOf(box.lo[dim], domain) || !foldOf(box.hi[dim].add_constant(1), domain))
        return false;
    return true;
  });
}

} // namespace evt
