#include "compiler/analysis/Counts.h"

#include <isl/stride_info.h>

namespace evt {

//===----------------------------------------------------------------------===//
// Sizes of fibres
//===----------------------------------------------------------------------===//

namespace {

/// { E[e] -> [w] }: the values that coordinate `dim` takes in each fibre.
isl::map valuesOf(const isl::map &fibres, unsigned dim) {
  isl_map *projected = fibres.copy();
  unsigned dims = fibres.range_tuple_dim();
  projected = isl_map_project_out(projected, isl_dim_out, dim + 1, dims - dim - 1);
  projected = isl_map_project_out(projected, isl_dim_out, 0, dim);
  return isl::manage(checked(fibres.ctx(), isl_map_reset_tuple_id(projected, isl_dim_out)));
}

/// The number of values per domain point, if they are an interval with a constant stride.
std::optional<isl::pw_aff> intervalLength(const isl::map &values) {
  isl::ctx ctx = values.ctx();
  DimBounds bounds = imageBounds(values, 0);
  std::shared_ptr<isl_stride_info> info(checked(ctx, isl_map_get_range_stride_info(values.get(), 0)),
                                        isl_stride_info_free);
  isl::val stride = isl::manage(checked(ctx, isl_stride_info_get_stride(info.get())));
  if (!stride.is_int() || !stride.is_pos())
    return std::nullopt;
  isl::map steps = mapOf(ctx, "{ [v] -> [w] : exists k : w = v + " + std::to_string(stride.num_si()) + "k }");
  isl::map interval =
      isl::map(isl::multi_pw_aff(bounds.lo).as_map()).apply_range(steps).intersect_domain(values.domain());
  interval = interval.lower_bound(isl::multi_pw_aff(bounds.lo)).upper_bound(isl::multi_pw_aff(bounds.hi));
  if (!interval.is_equal(values))
    return std::nullopt;
  return bounds.hi.sub(bounds.lo).scale_down(stride).add_constant(1).coalesce();
}

/// Sizes of fibres that are products of intervals.
std::optional<Polynomial> productSizes(const isl::map &fibres) {
  std::optional<std::vector<isl::pw_aff>> sides = imageSides(fibres);
  if (!sides)
    return std::nullopt;
  Polynomial size = Polynomial::constant(fibres.domain(), 1);
  for (const isl::pw_aff &side : *sides)
    size = size * Polynomial::fromAffine(side);
  return size;
}

/// Removes coordinates that the others and the domain point determine: they do not change the number of points.
isl::map withoutDeterminedCoordinates(isl::map fibres) {
  for (unsigned dim = fibres.range_tuple_dim(); dim-- > 0 && fibres.range_tuple_dim() > 1;) {
    // { [e, other coordinates] -> [coordinate dim] }
    isl_map *flat = isl_map_from_range(isl_set_flatten(isl_map_wrap(fibres.copy())));
    unsigned domainDims = fibres.domain_tuple_dim();
    unsigned all = domainDims + fibres.range_tuple_dim();
    flat = isl_map_move_dims(flat, isl_dim_in, 0, isl_dim_out, 0, domainDims + dim);
    flat = isl_map_move_dims(flat, isl_dim_in, domainDims + dim, isl_dim_out, 1, all - domainDims - dim - 1);
    isl::map determines = isl::manage(checked(fibres.ctx(), flat));
    if (!determines.is_single_valued())
      continue;
    isl_map *fewer = isl_map_reset_tuple_id(fibres.copy(), isl_dim_out);
    fibres = isl::manage(checked(fibres.ctx(), isl_map_project_out(fewer, isl_dim_out, dim, 1)));
  }
  return fibres;
}

std::optional<Polynomial> simpleSizes(const isl::map &fibres) {
  if (std::optional<Polynomial> sizes = productSizes(fibres))
    return sizes;
  isl::map fewer = withoutDeterminedCoordinates(fibres);
  if (fewer.range_tuple_dim() == fibres.range_tuple_dim())
    return std::nullopt;
  return productSizes(fewer);
}

} // namespace

std::optional<std::vector<isl::pw_aff>> imageSides(const isl::map &relation) {
  std::vector<isl::pw_aff> sides;
  std::optional<isl::map> product;
  for (unsigned dim = 0; dim < relation.range_tuple_dim(); ++dim) {
    isl::map values = valuesOf(relation, dim);
    std::optional<isl::pw_aff> length = intervalLength(values);
    if (!length)
      return std::nullopt;
    sides.push_back(*length);
    product = product ? isl::manage(checked(relation.ctx(), isl_map_flat_range_product(product->copy(), values.copy())))
                      : values;
  }
  if (sides.size() > 1) {
    isl::map unnamed = isl::manage(checked(relation.ctx(), isl_map_reset_tuple_id(relation.copy(), isl_dim_out)));
    if (!product->is_equal(unnamed))
      return std::nullopt;
  }
  return sides;
}

std::optional<Polynomial> fibreSizes(const isl::map &relation) {
  isl::map fibres = relation.reverse().coalesce();
  if (fibres.is_empty())
    return Polynomial::constant(fibres.domain(), 0);
  if (std::optional<Polynomial> sizes = simpleSizes(fibres))
    return sizes;
  isl::map disjoint = isl::manage(checked(fibres.ctx(), isl_map_make_disjoint(fibres.copy())));
  constexpr unsigned maxPieces = 16;
  if (disjoint.n_basic_map() < 2 || disjoint.n_basic_map() > maxPieces)
    return std::nullopt;
  std::optional<Polynomial> total = Polynomial::constant(fibres.domain(), 0);
  disjoint.foreach_basic_map([&](isl::basic_map piece) {
    std::optional<Polynomial> sizes = total ? simpleSizes(isl::map(piece)) : std::nullopt;
    total = sizes ? std::optional<Polynomial>(*total + *sizes) : std::nullopt;
  });
  return total;
}

isl::map eventElements(const TaskGraph &graph, const Call &call, const EventUse &use) {
  const Event &event = graph.events[static_cast<size_t>(use.event)];
  return use.relation.intersect_domain(call.domain).intersect_range(event.shape).intersect_params(graph.context);
}

//===----------------------------------------------------------------------===//
// Comparison with the declared counts
//===----------------------------------------------------------------------===//

namespace {

struct Notifier {
  const Call *call;
  const EventUse *use;
  isl::map elements;
};

std::vector<Notifier> notifiersOf(const TaskGraph &graph, int event) {
  std::vector<Notifier> result;
  for (const Call &call : graph.calls)
    for (const EventUse &use : call.notifies)
      if (use.event == event)
        result.push_back({&call, &use, eventElements(graph, call, use)});
  return result;
}

std::string notifications(int64_t number) {
  return std::to_string(number) + (number == 1 ? " notification" : " notifications");
}

/// One element at fixed symbol values: its count and what it receives from each call.
struct ElementCase {
  int64_t count = 0;
  int64_t received = 0;
  std::vector<std::pair<std::string, int64_t>> from;
};

ElementCase examine(const TaskGraph &graph, const Event &event, const std::vector<Notifier> &notifiers,
                    const SymbolValues &symbols, const isl::set &element) {
  ElementCase result;
  result.count = event.count->evaluate(element.sample_point());
  for (const Notifier &notifier : notifiers) {
    isl::set tasks = atSymbols(graph, notifier.elements, symbols).reverse().intersect_domain(element).range();
    int64_t number = isl::manage(checked(graph.ctx(), isl_set_count_val(tasks.get()))).num_si();
    result.received += number;
    if (number == 0)
      continue;
    if (!result.from.empty() && result.from.back().first == notifier.call->name)
      result.from.back().second += number;
    else
      result.from.emplace_back(notifier.call->name, number);
  }
  return result;
}

Violation miscounted(const TaskGraph &graph, const Event &event, const std::vector<Notifier> &notifiers,
                     const SymbolValues &symbols, const std::vector<int64_t> &element, const ElementCase &found) {
  Violation violation;
  violation.kind = ViolationKind::Count;
  violation.location = event.location;
  violation.symbols = symbols;
  violation.notes = symbolNotes(graph, symbols);
  std::string name = describeElement(event.name, element);
  violation.message = name + " has count " + std::to_string(found.count) + " but receives ";
  if (found.from.empty()) {
    violation.message += "no notifications";
  } else if (found.from.size() == 1) {
    violation.message += notifications(found.received) + " from " + found.from.front().first;
  } else {
    std::vector<std::string> parts;
    for (const auto &[call, number] : found.from)
      parts.push_back(std::to_string(number) + " from " + call);
    violation.message += notifications(found.received) + " (" + joinNames(parts) + ")";
  }
  for (const Notifier &notifier : notifiers)
    violation.notes.push_back({event.name + " is notified here by " + notifier.call->name, notifier.use->location});
  return violation;
}

/// Looks for an element whose count is wrong among `suspects`, trying symbol values from the smallest sum up.
std::optional<Violation> findMiscount(const TaskGraph &graph, const Event &event,
                                      const std::vector<Notifier> &notifiers, const isl::set &suspects) {
  constexpr int maxSums = 12;
  constexpr unsigned maxElements = 64;
  std::optional<int64_t> above;
  for (int attempt = 0; attempt < maxSums; ++attempt) {
    std::optional<SymbolValues> symbols = smallestSymbols(graph, suspects.params(), above);
    if (!symbols)
      return std::nullopt;
    above = sumOf(*symbols);
    isl::set left = atSymbols(graph, suspects.intersect_params(graph.context), *symbols);
    for (unsigned tried = 0; tried < maxElements && !left.is_empty(); ++tried) {
      isl::set element = left.lexmin();
      ElementCase found = examine(graph, event, notifiers, *symbols, element);
      if (found.count != found.received)
        return miscounted(graph, event, notifiers, *symbols, *firstPoint(element), found);
      left = left.subtract(element);
    }
  }
  return std::nullopt;
}

CountStatus checkCount(const TaskGraph &graph, int index, Findings &findings) {
  const Event &event = graph.events[static_cast<size_t>(index)];
  std::vector<Notifier> notifiers = notifiersOf(graph, index);
  std::string name = "count:" + event.name;
  if (!event.count) {
    findings.oblige({name,
                     "the count of each element of " + event.name + " is read from memory (" + event.countText +
                         ") and equals the notifications it receives",
                     event.location});
    return CountStatus::DataDependent;
  }
  for (const Notifier &notifier : notifiers)
    if (!notifier.use->exact || notifier.call->ragged) {
      std::string text = notifier.use->exact ? "which tasks of " + notifier.call->name +
                                                   " exist is read from memory; each element of " + event.name
                                             : "which elements of " + event.name + " " + notifier.call->name +
                                                   " notifies is read from memory; each element";
      findings.oblige({name, text + " receives its count " + event.countText, event.location});
      return CountStatus::DataDependent;
    }

  isl::set shape = event.shape.intersect_params(graph.context);
  std::optional<Polynomial> total = Polynomial::constant(shape, 0);
  for (const Notifier &notifier : notifiers) {
    std::optional<Polynomial> sizes = fibreSizes(notifier.elements);
    if (!sizes) {
      total.reset();
      break;
    }
    total = *total + *sizes;
  }
  isl::set suspects = shape;
  if (total) {
    PossiblyNonZero difference = (*total - *event.count).nonZeroOn(shape);
    if (difference.where.is_empty())
      return CountStatus::Proved;
    suspects = difference.where;
  }
  if (std::optional<Violation> violation = findMiscount(graph, event, notifiers, suspects)) {
    findings.violations.push_back(std::move(*violation));
    return CountStatus::Violated;
  }
  findings.oblige({name,
                   "it was not proved that each element of " + event.name + " receives its count " + event.countText,
                   event.location});
  return CountStatus::Unproved;
}

} // namespace

std::vector<CountStatus> checkCounts(const TaskGraph &graph, const ProofLimits &limits, Findings &findings) {
  std::vector<CountStatus> result;
  for (int index = 0; index < static_cast<int>(graph.events.size()); ++index) {
    try {
      OperationLimit limit(graph.ctx(), limits.operations);
      result.push_back(checkCount(graph, index, findings));
    } catch (const isl::exception_quota &) {
      const Event &event = graph.events[static_cast<size_t>(index)];
      findings.oblige({"count:" + event.name,
                       "the operation limit was reached before it was proved that each element of " + event.name +
                           " receives its count " + event.countText,
                       event.location});
      result.push_back(CountStatus::Unproved);
    }
  }
  return result;
}

void checkNotifiesInside(const TaskGraph &graph, const ProofLimits &limits, Findings &findings) {
  for (int index = 0; index < static_cast<int>(graph.calls.size()); ++index) {
    const Call &call = graph.calls[static_cast<size_t>(index)];
    for (const EventUse &use : call.notifies) {
      const Event &event = graph.events[static_cast<size_t>(use.event)];
      std::string name = "bound:" + call.name + ":" + event.name;
      if (!use.exact) {
        findings.oblige({name,
                         "the element of " + event.name + " that " + call.name +
                             " notifies is read from memory and lies inside its shape",
                         use.location});
        continue;
      }
      try {
        OperationLimit limit(graph.ctx(), limits.operations);
        isl::map all = use.relation.intersect_domain(call.domain).intersect_params(graph.context);
        isl::map outside = all.subtract(all.intersect_range(event.shape));
        if (outside.is_empty())
          continue;
        if (call.ragged) {
          findings.oblige({name, "the tasks of " + call.name + " that exist notify inside the shape of " + event.name,
                           use.location});
          continue;
        }
        SymbolValues symbols = *smallestSymbols(graph, outside.domain().params());
        isl::map concrete = atSymbols(graph, outside, symbols);
        Task task{index, *firstPoint(concrete.domain())};
        std::vector<int64_t> element = *firstPoint(singleTask(graph, task).apply(concrete));
        Violation violation;
        violation.kind = ViolationKind::Bound;
        violation.message = describeTask(graph, task) + " notifies " + describeElement(event.name, element) +
                            ", outside the shape of " + event.name;
        violation.location = use.location;
        violation.symbols = symbols;
        violation.notes = symbolNotes(graph, symbols);
        isl::set shape = atSymbols(graph, event.shape, symbols);
        std::string extents;
        for (unsigned dim = 0; dim < element.size(); ++dim)
          extents +=
              (dim ? ", " : "") +
              (shape.is_empty() ? "empty" : "0.." + std::to_string(shape.dim_max_val(static_cast<int>(dim)).num_si()));
        violation.notes.push_back({event.name + " has elements [" + extents + "]", event.location});
        findings.violations.push_back(std::move(violation));
      } catch (const isl::exception_quota &) {
        findings.oblige({name,
                         "the operation limit was reached before it was proved that " + call.name +
                             " notifies inside the shape of " + event.name,
                         use.location});
      }
    }
  }
}

} // namespace evt
