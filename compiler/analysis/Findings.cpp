#include "compiler/analysis/Findings.h"

#include <algorithm>

namespace evt {

void Findings::oblige(Obligation obligation) {
  auto sameName = [&](const Obligation &other) { return other.name == obligation.name; };
  if (std::none_of(obligations.begin(), obligations.end(), sameName))
    obligations.push_back(std::move(obligation));
}

std::vector<Note> symbolNotes(const TaskGraph &graph, const SymbolValues &values) {
  if (values.empty())
    return {};
  return {{"for example with " + describeSymbols(graph, values), ""}};
}

} // namespace evt
