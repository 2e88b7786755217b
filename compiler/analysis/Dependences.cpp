#include "compiler/analysis/Dependences.h"

#include <isl/flow.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace evt {

namespace {

isl::map relationOf(const TaskGraph &graph, const Call &call, const Access &access) {
  return access.relation.intersect_domain(call.domain).intersect_params(graph.context);
}

bool isCertain(const Call &call, const Access &access) { return access.exact && !call.ragged; }

/// The accesses of one memory that can be the source of a dependence into a given sink.
struct Sources {
  isl::union_map certainWrites; // hide what came before them
  isl::union_map others;        // do not
};

Sources sourcesFor(const TaskGraph &graph, int memory, bool sinkWrites) {
  Sources sources{isl::union_map::empty(graph.ctx()), isl::union_map::empty(graph.ctx())};
  for (const Call &call : graph.calls)
    for (const Access &access : call.accesses) {
      if (access.memory != memory || (!access.write && !sinkWrites))
        continue;
      isl::union_map relation = relationOf(graph, call, access).to_union_map();
      if (access.write && isCertain(call, access))
        sources.certainWrites = sources.certainWrites.unite(relation);
      else
        sources.others = sources.others.unite(relation);
    }
  return sources;
}

/// Of the calls that touch the memory: isl looks at all that it is given, for each access again.
isl::union_map programOrder(const TaskGraph &graph, int memory) {
  isl::union_map order = isl::union_map::empty(graph.ctx());
  for (const Call &call : graph.calls)
    if (std::any_of(call.accesses.begin(), call.accesses.end(), [&](const Access &a) { return a.memory == memory; }))
      order = order.unite(call.order.intersect_domain(call.domain).intersect_params(graph.context).to_union_map());
  return order;
}

/// Every pair (source task, sink task) that touches one element, the source earlier in program order.
isl::union_map allConflicts(const TaskGraph &graph, const Sources &sources, const isl::map &sink, int sinkCall) {
  isl::union_map pairs = sources.certainWrites.unite(sources.others).apply_range(sink.to_union_map().reverse());
  isl::union_map result = isl::union_map::empty(graph.ctx());
  const isl::map &sinkOrder = graph.calls[static_cast<size_t>(sinkCall)].order;
  for (const Call &call : graph.calls)
    result = result.unite(pairs.intersect(orderedPairs(call.order, sinkOrder).to_union_map()));
  return result;
}

/// The part of a union relation between two calls.
isl::map between(const isl::union_map &relation, const Call &source, const Call &sink) {
  isl::space space =
      isl::manage(checked(relation.ctx(), isl_space_map_from_domain_and_range(isl_set_get_space(source.domain.get()),
                                                                              isl_set_get_space(sink.domain.get()))));
  return relation.extract_map(space);
}

} // namespace

std::vector<Dependence> directDependences(const TaskGraph &graph, unsigned long operationLimit) {
  using Key = std::tuple<int, int, int, bool, unsigned>; // memory, sink, source, sink writes, sink waits
  std::map<Key, isl::map> found;
  int calls = static_cast<int>(graph.calls.size());
  for (int memory = 0; memory < static_cast<int>(graph.memories.size()); ++memory) {
    Sources toReads = sourcesFor(graph, memory, false);
    if (toReads.certainWrites.is_empty() && toReads.others.is_empty())
      continue; // never written: nothing to order
    Sources toWrites = sourcesFor(graph, memory, true);
    isl::union_map order = programOrder(graph, memory);
    for (int sinkCall = 0; sinkCall < calls; ++sinkCall) {
      const Call &sink = graph.calls[static_cast<size_t>(sinkCall)];
      for (const Access &access : sink.accesses) {
        if (access.memory != memory)
          continue;
        isl::map relation = relationOf(graph, sink, access);
        const Sources &sources = access.write ? toWrites : toReads;
        isl::union_map pairs;
        try {
          OperationLimit limit(graph.ctx(), operationLimit);
          pairs = isl::union_access_info(relation.to_union_map())
                      .set_must_source(sources.certainWrites)
                      .set_may_source(sources.others)
                      .set_schedule_map(order)
                      .compute_flow()
                      .may_dependence();
        } catch (const isl::exception_quota &) {
          pairs = allConflicts(graph, sources, relation, sinkCall);
        }
        for (int sourceCall = 0; sourceCall < calls; ++sourceCall) {
          isl::map part = between(pairs, graph.calls[static_cast<size_t>(sourceCall)], sink);
          if (part.is_empty())
            continue;
          auto [slot, added] = found.try_emplace({memory, sinkCall, sourceCall, access.write, access.afterWaits}, part);
          if (!added)
            slot->second = slot->second.unite(part);
        }
      }
    }
  }
  std::vector<Dependence> result;
  for (const auto &[key, relation] : found) {
    auto [memory, sink, source, writes, waits] = key;
    result.push_back({memory, source, sink, writes, waits, relation.coalesce()});
  }
  return result;
}

isl::map certainConflicts(const TaskGraph &graph, const Dependence &dependence) {
  const Call &source = graph.calls[static_cast<size_t>(dependence.source)];
  const Call &sink = graph.calls[static_cast<size_t>(dependence.sink)];
  isl::map result = isl::map::empty(dependence.relation.space());
  for (const Access &first : source.accesses)
    for (const Access &second : sink.accesses) {
      if (first.memory != dependence.memory || second.memory != dependence.memory)
        continue;
      if (!first.write && !second.write)
        continue;
      if (second.write != dependence.sinkWrites || second.afterWaits != dependence.sinkWaits)
        continue;
      if (!isCertain(source, first) || !isCertain(sink, second))
        continue;
      result = result.unite(relationOf(graph, source, first).apply_range(relationOf(graph, sink, second).reverse()));
    }
  return result.intersect(dependence.relation);
}

} // namespace evt
