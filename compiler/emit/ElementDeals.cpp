// Which calls' tasks the static schedule deals element by element (ElementDeal in ScheduleCode.h).
#include "StreamCode.h"

#include <map>

using namespace mlir;

namespace evt::emit {

namespace {

/// A task's element of an event that is notified by its own coordinates, each index one of them.
struct OwnElement {
  std::vector<unsigned> passes;                              // grid coordinates that it does not have
  std::vector<std::pair<unsigned, std::string>> coordinates; // those of its indices, among the others; their extents
};

std::optional<OwnElement> ownElement(const GraphCode &graph, unsigned k, ir::NotifyOp notify) {
  auto locals = graph.locals(k);
  std::vector<std::string> coords = graph.coordList(k), extents = graph.extentList(k), indices;
  for (Value v : notify.getLower())
    indices.push_back(graph.expression(v, locals));
  OwnElement element;
  std::map<std::string, std::pair<unsigned, std::string>> found;
  for (auto [i, c] : llvm::enumerate(coords)) {
    if (llvm::count(indices, c) == 1)
      found.emplace(c, std::pair(found.size(), extents[i]));
    else if (i < graph.iterations(k) || llvm::is_contained(indices, c))
      return std::nullopt;
    else
      element.passes.push_back(i - graph.iterations(k));
  }
  if (found.size() != indices.size())
    return std::nullopt;
  for (const std::string &index : indices)
    element.coordinates.push_back(found.at(index));
  return element;
}

} // namespace

void StreamPlan::dealElements(const GraphCode &graph, ir::EventOp event) {
  std::vector<std::pair<unsigned, OwnElement>> notifiers;
  for (auto [k, op] : llvm::enumerate(graph.signature.calls)) {
    ir::CallOp call = op;
    for (auto notify : call.getProtocol().getOps<ir::NotifyOp>()) {
      if (notify.getEvent() != event.getEvent())
        continue;
      auto element = ownElement(graph, k, notify);
      if (!element)
        return;
      // Several are dealt alike if nobody is dealt tasks in between, and their elements are the same.
      if (!notifiers.empty()) {
        auto &[before, first] = notifiers.back();
        if (before + 1 != k || graph.signature.calls[before]->getBlock() != call->getBlock() ||
            first.coordinates != element->coordinates)
          return;
      }
      notifiers.push_back({(unsigned)k, *element});
    }
  }
  if (notifiers.empty() || (notifiers.size() == 1 && notifiers[0].second.passes.empty()))
    return; // a task alone
  // The last one's last task ends an element, so there must be one. (Of one call there is: the element waits for it.)
  auto &[last, element] = notifiers.back();
  ir::CallOp call = graph.signature.calls[last];
  if (notifiers.size() > 1 &&
      llvm::any_of(element.passes, [&](unsigned d) { return ir::constantOf(call.getGrid()[d]).value_or(0) < 1; }))
    return;
  for (auto &[k, element] : notifiers)
    calls[k].deal = ElementDeal{element.passes, notifiers.front().first, notifiers.back().first};
}

} // namespace evt::emit
