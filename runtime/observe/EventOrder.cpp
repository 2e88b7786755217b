#include "runtime/observe/EventOrder.h"

#include <algorithm>
#include <queue>

namespace evt::observe {

namespace {

// For every right-hand value, the left-hand lists that contain it.
struct Inverse {
  std::vector<size_t> starts;
  std::vector<uint32_t> lists;
  Inverse(const ListInterner<uint32_t> &of, uint32_t values) : starts(size_t(values) + 1) {
    for (uint32_t list = 0; list < of.count(); ++list)
      for (uint32_t value : of[list])
        ++starts[value + 1];
    for (size_t v = 1; v < starts.size(); ++v)
      starts[v] += starts[v - 1];
    lists.resize(starts.back());
    std::vector<size_t> next(starts.begin(), starts.end() - 1);
    for (uint32_t list = 0; list < of.count(); ++list)
      for (uint32_t value : of[list])
        lists[next[value]++] = list;
  }
  std::span<const uint32_t> operator[](uint32_t value) const {
    return {lists.data() + starts[value], lists.data() + starts[value + 1]};
  }
};

} // namespace

void EventOrder::addStep(std::vector<ElementClass> &classes, uint32_t previous) {
  if (previous != kNone)
    classes.push_back(notifiers.intern(std::span(&previous, 1)));
  std::ranges::sort(classes);
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  waitClass.push_back(waitLists.intern(classes));
}

bool EventOrder::sort() {
  uint32_t steps = stepCount();
  Inverse notifies(notifiers, steps);
  Inverse waitedBy(waitLists, notifiers.count());
  std::vector<size_t> openNotifiers(notifiers.count()), openClasses(waitLists.count());
  std::vector<std::vector<uint32_t>> members(waitLists.count());
  for (uint32_t step = 0; step < steps; ++step)
    members[waitClass[step]].push_back(step);

  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t list = 0; list < waitLists.count(); ++list) {
    for (ElementClass element : waitLists[list])
      openClasses[list] += notifiers[element].empty() ? 0 : 1;
    if (openClasses[list] == 0)
      for (uint32_t step : members[list])
        ready.push(step);
  }
  for (uint32_t element = 0; element < notifiers.count(); ++element)
    openNotifiers[element] = notifiers[element].size();

  order.clear();
  position.assign(steps, kUnset);
  while (!ready.empty()) {
    uint32_t step = ready.top();
    ready.pop();
    position[step] = static_cast<uint32_t>(order.size());
    order.push_back(step);
    for (uint32_t element : notifies[step]) {
      if (--openNotifiers[element] != 0)
        continue;
      for (uint32_t list : waitedBy[element])
        if (--openClasses[list] == 0)
          for (uint32_t member : members[list])
            ready.push(member);
    }
  }
  if (order.size() != steps)
    return false;
  computeLifetimes();
  return true;
}

std::vector<uint32_t> EventOrder::circle() const {
  // Walking from any unsorted step to an unsorted predecessor must come back.
  uint32_t step = static_cast<uint32_t>(std::ranges::find(position, kUnset) - position.begin());
  std::vector<uint32_t> walk;
  std::vector<bool> seen(stepCount());
  while (!seen[step]) {
    seen[step] = true;
    walk.push_back(step);
    uint32_t smallest = kUnset;
    for (ElementClass element : waitLists[waitClass[step]])
      for (uint32_t notifier : notifiers[element])
        if (position[notifier] == kUnset)
          smallest = std::min(smallest, notifier);
    step = smallest;
  }
  walk.erase(walk.begin(), std::ranges::find(walk, step));
  std::ranges::reverse(walk);
  std::rotate(walk.begin(), std::ranges::min_element(walk), walk.end());
  return walk;
}

void EventOrder::computeLifetimes() {
  firstUse.assign(waitLists.count(), kUnset);
  lastUse.assign(waitLists.count(), 0);
  for (uint32_t at = 0; at < order.size(); ++at) {
    uint32_t list = waitClass[order[at]];
    firstUse[list] = std::min(firstUse[list], at);
    lastUse[list] = at;
  }
  std::vector<uint32_t> elementLastUse(notifiers.count(), 0);
  for (uint32_t list = 0; list < waitLists.count(); ++list)
    for (ElementClass element : waitLists[list])
      elementLastUse[element] = std::max(elementLastUse[element], firstUse[list]);
  for (uint32_t element = 0; element < notifiers.count(); ++element)
    for (uint32_t step : notifiers[element])
      lastUse[waitClass[step]] = std::max(lastUse[waitClass[step]], elementLastUse[element]);
}

uint64_t EventOrder::peakBytes() const {
  std::vector<int64_t> change(order.size() + 1);
  for (uint32_t list = 0; list < waitLists.count(); ++list) {
    int64_t bytes = static_cast<int64_t>(AncestorSet::bytes(firstUse[list]));
    change[firstUse[list]] += bytes;
    change[lastUse[list] + 1] -= bytes;
  }
  int64_t live = 0, peak = 0;
  for (int64_t delta : change)
    peak = std::max(peak, live += delta);
  return static_cast<uint64_t>(peak);
}

void EventOrder::sweep(const std::function<void(uint32_t, uint32_t, const AncestorSet &)> &visit) {
  std::vector<std::vector<uint32_t>> freedAfter(order.size());
  for (uint32_t list = 0; list < waitLists.count(); ++list)
    freedAfter[lastUse[list]].push_back(list);
  // Latest notifiers first: what they bring makes the earlier ones redundant.
  std::vector<std::vector<uint32_t>> notifierPositions(notifiers.count());
  for (uint32_t element = 0; element < notifiers.count(); ++element) {
    std::vector<uint32_t> &list = notifierPositions[element];
    for (uint32_t step : notifiers[element])
      list.push_back(position[step]);
    std::ranges::sort(list, std::greater<>());
  }

  std::vector<AncestorSet> sets(waitLists.count());
  std::vector<uint32_t> mergedInto(waitLists.count(), kUnset);
  std::vector<ElementClass> elements;
  for (uint32_t at = 0; at < order.size(); ++at) {
    uint32_t list = waitClass[order[at]];
    if (firstUse[list] == at) {
      sets[list].resize(at);
      elements.clear();
      for (ElementClass element : waitLists[list])
        if (!notifierPositions[element].empty())
          elements.push_back(element);
      std::ranges::sort(elements, [&](ElementClass a, ElementClass b) {
        return notifierPositions[a].front() > notifierPositions[b].front();
      });
      for (ElementClass element : elements)
        for (uint32_t before : notifierPositions[element]) {
          if (sets[list].contains(before))
            continue;
          uint32_t from = waitClass[order[before]];
          if (mergedInto[from] != list) {
            sets[list].merge(sets[from]);
            mergedInto[from] = list;
          }
          sets[list].insert(before);
        }
    }
    visit(order[at], at, sets[list]);
    for (uint32_t dead : freedAfter[at])
      sets[dead].release();
  }
}

} // namespace evt::observe
