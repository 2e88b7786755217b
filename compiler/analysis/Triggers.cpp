#include "compiler/analysis/Triggers.h"

#include "compiler/analysis/AffineFold.h"
#include "compiler/analysis/Counts.h"

#include <isl/ast.h>
#include <isl/ast_build.h>

#include <algorithm>

namespace evt {

namespace {

template <typename T> const T &at(const std::vector<T> &items, int index) { return items[static_cast<size_t>(index)]; }

/// Loops in lexicographic order over a set; `statement` is called with the coordinates.
std::string loops(const isl::set &tasks, const isl::set &context, const std::string &statement) {
  isl::ctx ctx = tasks.ctx();
  isl_options_set_ast_iterator_type(ctx.get(), "int64_t");
  isl::set named = isl::manage(checked(ctx, isl_set_set_tuple_name(tasks.copy(), statement.c_str()))).coalesce();
  isl::map schedule = isl::manage(checked(ctx, isl_map_reset_tuple_id(named.identity().release(), isl_dim_out)));
  return isl::ast_build::from_context(context).node_from_schedule_map(schedule.to_union_map()).to_C_str();
}

/// Names for the coordinates of a space, so that they can be used as parameters: prefix0, prefix1, ….
isl::multi_id coordinateNames(const isl::space &space, const std::string &prefix) {
  isl::ctx ctx = space.ctx();
  int dims = isl_space_dim(space.get(), isl_dim_set);
  isl::id_list names(ctx, dims);
  for (int dim = 0; dim < dims; ++dim)
    names = names.add(isl::id(ctx, prefix + std::to_string(dim)));
  return space.multi_id(names);
}

/// An expression of a task's coordinates, which are called c0, c1, ….
std::string expression(const isl::pw_aff &value, const isl::set &domain) {
  isl::multi_id names = coordinateNames(domain.space(), "c");
  isl::ast_build build = isl::ast_build::from_context(domain.bind(names));
  return build.expr_from(value.gist(domain).coalesce().bind_domain(names)).to_C_str();
}

bool allExact(const Call &call) {
  return std::all_of(call.waits.begin(), call.waits.end(), [](const EventUse &use) { return use.exact; });
}

isl::set tasksOf(const TaskGraph &graph, const Call &call) { return call.domain.intersect_params(graph.context); }

} // namespace

isl::map awaitedElements(const TaskGraph &graph, int index, unsigned wait) {
  const Call &call = at(graph.calls, index);
  const EventUse &use = call.waits.at(wait);
  isl::map waited = eventElements(graph, call, use);
  const Event &event = at(graph.events, use.event);
  isl::set notified = isl::set::empty(event.shape.space());
  for (const Call &notifier : graph.calls)
    for (const EventUse &notify : notifier.notifies)
      if (notify.event == use.event) {
        if (!notify.exact || notifier.ragged)
          return waited;
        notified = notified.unite(eventElements(graph, notifier, notify).range());
      }
  if (!event.count)
    return waited;
  return waited.intersect_range(notified).coalesce();
}

unsigned sharedTail(const TaskGraph &graph, int index) {
  const Call &call = at(graph.calls, index);
  if (call.ragged || !allExact(call))
    return 0;
  isl::set tasks = tasksOf(graph, call);
  auto dims = static_cast<unsigned>(call.coordNames.size());
  unsigned tail = dims - call.iterationDims;
  for (unsigned wait = 0; wait < call.waits.size(); ++wait) {
    isl::map awaited = awaitedElements(graph, index, wait);
    for (; tail > 0; --tail) {
      // What any of them waits for, all do.
      isl::map together = isl::manage(isl_map_from_domain_and_range(tasks.copy(), tasks.copy()));
      for (unsigned dim = 0; dim < dims - tail; ++dim)
        together = isl::manage(
            isl_map_equate(together.release(), isl_dim_in, static_cast<int>(dim), isl_dim_out, static_cast<int>(dim)));
      if (together.apply_range(awaited).is_subset(awaited))
        break;
    }
  }
  return tail;
}

std::string elementPrefix(const std::vector<std::string> &symbols) {
  std::string prefix = "e";
  auto isTaken = [&](const std::string &name) {
    return name.size() > prefix.size() && name.compare(0, prefix.size(), prefix) == 0 &&
           name.find_first_not_of("0123456789", prefix.size()) == std::string::npos;
  };
  while (std::any_of(symbols.begin(), symbols.end(), isTaken))
    prefix += '_';
  return prefix;
}

std::optional<std::string> wokenTasks(const TaskGraph &graph, int index, unsigned wait, const std::string &statement,
                                      unsigned tail) {
  const Call &call = at(graph.calls, index);
  if (!call.waits.at(wait).exact)
    return std::nullopt;
  isl::map woken = awaitedElements(graph, index, wait).reverse();
  if (tail > 0)
    woken = isl::manage(
        isl_map_project_out(woken.release(), isl_dim_out, static_cast<unsigned>(call.coordNames.size()) - tail, tail));
  // The element's coordinates are parameters of the code. It is in the shape; whether anyone waits for it is asked.
  std::vector<std::string> symbols;
  for (const Symbol &symbol : graph.symbols)
    symbols.push_back(symbol.name);
  isl::multi_id names = coordinateNames(woken.domain().space(), elementPrefix(symbols));
  isl::set shape = at(graph.events, call.waits[wait].event).shape.intersect_params(graph.context);
  return loops(woken.bind_domain(names), shape.bind(names), statement);
}

std::optional<std::string> rootTasks(const TaskGraph &graph, int index, const std::string &statement) {
  const Call &call = at(graph.calls, index);
  if (!allExact(call))
    return std::nullopt;
  isl::set roots = tasksOf(graph, call);
  for (unsigned wait = 0; wait < call.waits.size(); ++wait)
    roots = roots.subtract(awaitedElements(graph, index, wait).domain());
  return loops(roots, graph.context, statement);
}

namespace {

/// A sum of products of expressions of a task's coordinates, one affine expression as far as possible.
class SumOfBoxes {
public:
  explicit SumOfBoxes(const isl::set &tasks) : tasks(tasks), affine(tasks.pw_aff_on_domain(0)) {}

  /// Adds the number of elements a task is related to. False if they are no box.
  bool add(const isl::map &elements) {
    std::optional<std::vector<isl::pw_aff>> sides = imageSides(elements);
    if (!sides)
      return false;
    isl::pw_aff nothing = tasks.subtract(elements.domain()).pw_aff_on_domain(0);
    isl::pw_aff scale = elements.domain().pw_aff_on_domain(1).union_add(nothing);
    std::vector<isl::pw_aff> varying;
    for (const isl::pw_aff &side : *sides) {
      isl::val constant = leastValue(side);
      if (constant.is_int() && constant.eq(largestValue(side)))
        scale = scale.scale(constant);
      else
        varying.push_back(side.union_add(nothing));
    }
    if (varying.empty()) {
      affine = affine.add(scale);
    } else if (varying.size() == 1 && largestValue(scale).is_one()) {
      affine = affine.add(varying[0]);
    } else {
      products += " + (" + expression(scale, tasks) + ")";
      for (const isl::pw_aff &side : varying)
        products += " * (" + expression(side, tasks) + ")";
    }
    return true;
  }

  std::string text() const {
    std::string sum = expression(affine.coalesce(), tasks);
    return products.empty() ? sum : "(" + sum + ")" + products;
  }

private:
  isl::set tasks;
  isl::pw_aff affine;
  std::string products;
};

} // namespace

std::optional<std::string> neededElements(const TaskGraph &graph, int index) {
  const Call &call = at(graph.calls, index);
  if (!allExact(call))
    return std::nullopt;
  SumOfBoxes sum(tasksOf(graph, call));
  for (unsigned wait = 0; wait < call.waits.size(); ++wait) {
    isl::map awaited = awaitedElements(graph, index, wait);
    if (awaited.is_empty() || sum.add(awaited))
      continue;
    constexpr unsigned maxPieces = 8;
    isl::map disjoint = isl::manage(checked(graph.ctx(), isl_map_make_disjoint(awaited.copy())));
    bool boxes = disjoint.n_basic_map() <= maxPieces;
    disjoint.foreach_basic_map([&](isl::basic_map piece) { boxes = boxes && sum.add(isl::map(piece)); });
    if (!boxes)
      return std::nullopt;
  }
  return sum.text();
}

} // namespace evt
