#include "compiler/analysis/Counterexample.h"

#include <numeric>

namespace evt {

std::optional<SymbolValues> smallestSymbols(const TaskGraph &graph, const isl::set &parameters,
                                            std::optional<int64_t> above) {
  isl::ctx ctx = graph.ctx();
  // The parameters become coordinates [sum, s0, s1, …], whose lexicographic minimum is the answer.
  isl::set space = graph.context;
  for (const Symbol &symbol : graph.symbols) {
    isl_space *named = isl_space_params_alloc(ctx.get(), 1);
    named = isl_space_set_dim_name(named, isl_dim_param, 0, symbol.name.c_str());
    space = isl::manage(checked(ctx, isl_set_align_params(space.copy(), named)));
  }
  isl::set aligned = space.intersect(parameters);
  unsigned symbols = static_cast<unsigned>(graph.symbols.size());
  isl_set *moved = isl_set_from_params(aligned.copy());
  // Parameters that are no symbols (there should be none) would survive; the symbols move in declaration order.
  for (unsigned i = 0; i < symbols; ++i) {
    int position = isl_set_find_dim_by_name(moved, isl_dim_param, graph.symbols[i].name.c_str());
    moved = isl_set_move_dims(moved, isl_dim_set, i, isl_dim_param, static_cast<unsigned>(position), 1);
  }
  moved = isl_set_insert_dims(moved, isl_dim_set, 0, 1);
  isl_constraint *sum = isl_constraint_alloc_equality(isl_local_space_from_space(isl_set_get_space(moved)));
  sum = isl_constraint_set_coefficient_si(sum, isl_dim_set, 0, -1);
  for (unsigned i = 0; i < symbols; ++i)
    sum = isl_constraint_set_coefficient_si(sum, isl_dim_set, static_cast<int>(i + 1), 1);
  moved = isl_set_add_constraint(moved, sum);
  if (above)
    moved = isl_set_lower_bound_val(moved, isl_dim_set, 0, isl_val_int_from_si(ctx.get(), *above + 1));
  isl::set candidates = isl::manage(checked(ctx, moved));
  std::optional<std::vector<int64_t>> point = firstPoint(candidates);
  if (!point)
    return std::nullopt;
  return SymbolValues(point->begin() + 1, point->end());
}

int64_t sumOf(const SymbolValues &values) { return std::accumulate(values.begin(), values.end(), int64_t{0}); }

isl::set atSymbols(const TaskGraph &graph, const isl::set &set, const SymbolValues &values) {
  isl::set result = set;
  for (size_t i = 0; i < values.size(); ++i)
    result = fixParameter(result, graph.symbols[i].name, values[i]);
  return result;
}

isl::map atSymbols(const TaskGraph &graph, const isl::map &map, const SymbolValues &values) {
  isl::map result = map;
  for (size_t i = 0; i < values.size(); ++i)
    result = fixParameter(result, graph.symbols[i].name, values[i]);
  return result;
}

std::optional<std::vector<int64_t>> firstPoint(const isl::set &concrete) {
  if (concrete.is_empty())
    return std::nullopt;
  isl::point point = concrete.lexmin().sample_point();
  std::vector<int64_t> result(concrete.tuple_dim());
  for (unsigned i = 0; i < result.size(); ++i)
    result[i] = coordinate(point, i);
  return result;
}

isl::set singleTask(const TaskGraph &graph, const Task &task) {
  isl_set *one = isl_set_universe(isl_set_get_space(graph.calls[static_cast<size_t>(task.call)].domain.get()));
  for (size_t i = 0; i < task.coord.size(); ++i)
    one = isl_set_fix_val(one, isl_dim_set, static_cast<unsigned>(i),
                          isl_val_int_from_si(graph.ctx().get(), static_cast<long>(task.coord[i])));
  return isl::manage(checked(graph.ctx(), one));
}

std::string describeTask(const TaskGraph &graph, const Task &task) {
  const Call &call = graph.calls[static_cast<size_t>(task.call)];
  std::string text = call.name + "(";
  for (size_t i = 0; i < task.coord.size(); ++i) {
    if (i)
      text += ", ";
    if (i < call.coordNames.size())
      text += call.coordNames[i] + "=";
    text += std::to_string(task.coord[i]);
  }
  return text + ")";
}

std::string describeElement(const std::string &name, const std::vector<int64_t> &element) {
  if (element.empty())
    return name;
  std::string text = name + "[";
  for (size_t i = 0; i < element.size(); ++i)
    text += (i ? ", " : "") + std::to_string(element[i]);
  return text + "]";
}

std::string describeSymbols(const TaskGraph &graph, const SymbolValues &values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i)
    text += (i ? ", " : "") + graph.symbols[i].name + " = " + std::to_string(values[i]);
  return text;
}

std::string joinNames(const std::vector<std::string> &names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

} // namespace evt
