#include "compiler/analysis/CallBorders.h"

#include <optional>
#include <set>

namespace evt {

namespace {

/// { [v] : the symbol can be v }, of a set of values of all symbols.
isl::set valuesOf(const isl::set &symbols, const std::string &name) {
  isl::ctx ctx = symbols.ctx();
  isl_set *values = isl_set_from_params(isl::set(symbols).release());
  values = isl_set_insert_dims(values, isl_dim_set, 0, 1);
  int at = isl_set_find_dim_by_name(values, isl_dim_param, name.c_str());
  if (at >= 0)
    values = isl_set_equate(values, isl_dim_param, (unsigned)at, isl_dim_set, 0);
  values = isl_set_project_out(values, isl_dim_param, 0, isl_set_dim(values, isl_dim_param));
  return isl::manage(checked(ctx, values)).coalesce();
}

/// Adds the values v of `all` for which of v and v + 1, both in `all`, one is in `some`. False if there are too many.
bool addBorders(const isl::set &some, const isl::set &all, unsigned most, std::set<int64_t> &borders) {
  isl::map next(all.ctx(), "{ [v] -> [v + 1] }");
  isl::set others = all.subtract(some);
  isl::set found = some.intersect(others.apply(next.reverse())).unite(others.intersect(some.apply(next.reverse())));
  while (!found.is_empty()) {
    isl::val least = found.dim_min_val(0);
    if (!least.is_int() || borders.size() > most)
      return false;
    borders.insert(least.num_si());
    found = found.intersect(isl::set(all.ctx(), "{ [v] : v > " + std::to_string(least.num_si()) + " }"));
  }
  return borders.size() <= most;
}

} // namespace

std::vector<CallBorders> callBorders(const TaskGraph &graph, unsigned most) {
  std::vector<CallBorders> all;
  for (const Symbol &symbol : graph.symbols) {
    isl::set values = valuesOf(graph.context, symbol.name);
    std::set<int64_t> borders;
    bool isKnown = true;
    for (const Call &call : graph.calls)
      isKnown = isKnown &&
                addBorders(valuesOf(call.domain.params().intersect(graph.context), symbol.name), values, most, borders);
    if (isKnown && !borders.empty())
      all.push_back({symbol.name, {borders.begin(), borders.end()}});
  }
  return all;
}

} // namespace evt
