#include "Judge.h"

#include <algorithm>

namespace evt::fuzz {

namespace {

std::string text(const std::vector<int64_t> &numbers) {
  std::string s;
  for (int64_t n : numbers)
    s += (s.empty() ? "" : ", ") + std::to_string(n);
  return s;
}

bool overlap(const Box &a, const Box &b) {
  if (a.memory != b.memory || !(a.write || b.write))
    return false;
  for (size_t d = 0; d < a.lower.size(); ++d)
    if (a.lower[d] >= b.upper[d] || b.lower[d] >= a.upper[d])
      return false;
  return true;
}

using TaskSet = std::vector<bool>;

void unite(TaskSet &into, const TaskSet &from) {
  for (size_t i = 0; i < into.size(); ++i)
    if (from[i])
      into[i] = true;
}

} // namespace

Enumeration enumerate(const Model &model, const Values &symbols) {
  Enumeration program;
  std::vector<std::vector<int64_t>> shapes;
  for (size_t e = 0; e < model.events.size(); ++e) {
    std::vector<int64_t> &shape = shapes.emplace_back();
    for (const Size &d : model.events[e].dims)
      shape.push_back(d.at(symbols));
    forEachPoint(shape, [&](const std::vector<int64_t> &element) {
      int64_t least = INT64_MAX;
      for (const Expr &term : model.events[e].count)
        least = std::min(least, term.at(element, symbols));
      program.counts[{static_cast<int>(e), element}] = std::max<int64_t>(least, 0);
    });
  }
  forEachTask(model, symbols, [&](int c, const std::vector<int64_t> &coords) {
    const Call &call = model.calls[static_cast<size_t>(c)];
    Task &task = program.tasks.emplace_back();
    task.name = call.name + "(" + text(coords) + ")";
    for (auto [list, write] : {std::pair{&call.reads, false}, {&call.writes, true}})
      for (const Access &access : *list) {
        Box box{access.memory, {}, {}, write};
        bool empty = false;
        for (size_t d = 0; d < access.tile.size(); ++d) {
          int64_t extent = model.memories[static_cast<size_t>(access.memory)].dims[d].at(symbols);
          int64_t at = access.offset[d].at(coords, symbols);
          box.lower.push_back(std::max<int64_t>(at, 0));
          box.upper.push_back(std::min<int64_t>(at + access.tile[d], extent));
          empty |= box.lower.back() >= box.upper.back();
        }
        if (!empty)
          task.boxes.push_back(box);
      }
    auto elements = [&](const EventUse &use, bool clip) {
      std::vector<int64_t> lower, extents;
      const std::vector<int64_t> &shape = shapes[static_cast<size_t>(use.event)];
      for (size_t d = 0; d < use.spans.size(); ++d) {
        const Span &span = use.spans[d];
        int64_t lo = span.whole ? 0 : span.lower.at(coords, symbols);
        int64_t hi = span.whole ? shape[d] : span.upper ? span.upper->at(coords, symbols) : lo + 1;
        if (clip) {
          lo = std::max<int64_t>(lo, 0);
          hi = std::min(hi, shape[d]);
        }
        lower.push_back(lo);
        extents.push_back(hi - lo);
      }
      std::vector<Element> found;
      forEachPoint(extents, [&](std::vector<int64_t> point) {
        for (size_t d = 0; d < point.size(); ++d)
          point[d] += lower[d];
        found.emplace_back(use.event, point);
      });
      return found;
    };
    for (const EventUse &use : call.waits)
      task.waits.push_back(elements(use, true));
    for (const EventUse &use : call.notifies)
      for (Element &element : elements(use, false))
        task.notifies.push_back(std::move(element));
  });
  return program;
}

std::string findDefect(const Enumeration &program) {
  size_t n = program.tasks.size();
  std::map<Element, std::vector<size_t>> notifiers;
  for (size_t t = 0; t < n; ++t)
    for (const Element &element : program.tasks[t].notifies) {
      if (!program.counts.count(element))
        return program.tasks[t].name + " notifies element [" + text(element.second) + "] outside event " +
               std::to_string(element.first);
      notifiers[element].push_back(t);
    }
  for (auto &[element, count] : program.counts) {
    auto found = notifiers.find(element);
    int64_t received = found == notifiers.end() ? 0 : static_cast<int64_t>(found->second.size());
    if (received != count)
      return "element [" + text(element.second) + "] of event " + std::to_string(element.first) + " has count " +
             std::to_string(count) + " and receives " + std::to_string(received);
  }
  // Program order is a topological order once every notifier is known to come earlier.
  std::vector<std::vector<TaskSet>> before(n); // after each number of waits
  for (size_t t = 0; t < n; ++t) {
    TaskSet ancestors(n, false);
    before[t].push_back(ancestors);
    for (const std::vector<Element> &wait : program.tasks[t].waits) {
      for (const Element &element : wait)
        for (size_t s : notifiers[element]) {
          if (s >= t)
            return program.tasks[t].name + " waits for " + program.tasks[s].name;
          if (!ancestors[s]) {
            ancestors[s] = true;
            unite(ancestors, before[s].back());
          }
        }
      before[t].push_back(ancestors);
    }
  }
  for (size_t t = 0; t < n; ++t)
    for (size_t s = 0; s < t; ++s)
      for (const Box &b : program.tasks[t].boxes) {
        if (before[t][std::min(b.afterWaits, before[t].size() - 1)][s])
          continue;
        for (const Box &a : program.tasks[s].boxes)
          if (overlap(a, b))
            return "nothing orders " + program.tasks[s].name + " and " + program.tasks[t].name + " on memory " +
                   std::to_string(a.memory) + " [" + text(b.lower) + "]";
      }
  return "";
}

} // namespace evt::fuzz
