#include "PrintTaskGraph.h"

#include <sstream>

namespace evt {

namespace {

template <typename T> std::string textOf(const T &object) {
  std::ostringstream out;
  out << object;
  return out.str();
}

/// Without the conditions that hold anyway, and with the coordinates' own names.
std::string relationText(const TaskGraph &graph, const Call &call, const isl::map &relation) {
  isl::map simple = relation.gist_domain(call.domain.intersect_params(graph.context)).gist_params(graph.context);
  isl_map *named = simple.coalesce().release();
  for (unsigned i = 0; i < call.coordNames.size(); ++i)
    named = isl_map_set_dim_name(named, isl_dim_in, i, call.coordNames[i].c_str());
  return textOf(isl::manage(checked(graph.ctx(), named)));
}

std::string domainText(const TaskGraph &graph, const Call &call) {
  isl_set *named = call.domain.gist_params(graph.context).coalesce().release();
  for (unsigned i = 0; i < call.coordNames.size(); ++i)
    named = isl_set_set_dim_name(named, isl_dim_set, i, call.coordNames[i].c_str());
  return textOf(isl::manage(checked(graph.ctx(), named)));
}

void printUse(std::ostream &out, const TaskGraph &graph, const Call &call, const char *kind, const EventUse &use) {
  out << "  " << kind << " " << graph.events[static_cast<size_t>(use.event)].name << " "
      << relationText(graph, call, use.relation) << (use.exact ? "" : " inexact") << (use.orNone ? " or none" : "")
      << "\n";
}

} // namespace

std::string printTaskGraph(const TaskGraph &graph) {
  std::ostringstream out;
  for (const Symbol &symbol : graph.symbols)
    out << "symbol " << symbol.name << " in [" << symbol.min << ", " << symbol.max << "]\n";
  for (const Memory &memory : graph.memories)
    out << "memory " << memory.name << " " << memory.shape.gist_params(graph.context) << "\n";
  for (const Event &event : graph.events) {
    out << "event " << event.name << " " << event.shape.gist_params(graph.context) << " count ";
    if (event.count)
      out << event.count->gist(event.shape.intersect_params(graph.context)).text();
    else
      out << event.countText;
    if (event.guardEvent >= 0)
      out << " after " << graph.events[static_cast<size_t>(event.guardEvent)].name;
    out << "\n";
  }
  for (const Call &call : graph.calls) {
    out << "call " << call.name << " " << domainText(graph, call) << (call.ragged ? " ragged" : "") << "\n";
    out << "  order " << call.order << "\n";
    for (const EventUse &use : call.waits)
      printUse(out, graph, call, "wait", use);
    for (const Access &access : call.accesses) {
      out << "  " << (access.write ? "write " : "read ") << graph.memories[static_cast<size_t>(access.memory)].name
          << " " << relationText(graph, call, access.relation) << (access.exact ? "" : " inexact");
      if (access.afterWaits != call.waits.size())
        out << " after " << access.afterWaits << " of " << call.waits.size() << " waits";
      out << "\n";
    }
    for (const EventUse &use : call.notifies)
      printUse(out, graph, call, "notify", use);
  }
  return out.str();
}

} // namespace evt
