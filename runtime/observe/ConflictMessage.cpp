#include "runtime/observe/ConflictMessage.h"

#include <algorithm>
#include <vector>

namespace evt::observe {

namespace {

using Element = std::pair<uint32_t, int64_t>; // event, element

// Elements a task notifies or waits for, split at one of its accesses.
struct Around {
  std::vector<Element> before;
  std::vector<Element> after;
};

Around elements(const AccessInTask &access, RecordKind kind) {
  Around around;
  StepCounter steps;
  forEachRecord(access.task, [&](const Record &record) {
    uint32_t step = steps.step(record.kind);
    if (record.kind != kind)
      return;
    // Within one step waits come before the accesses and notifies after them.
    bool before = kind == RecordKind::WaitBegin ? step <= access.step : step < access.step;
    (before ? around.before : around.after).emplace_back(record.id, record.index);
  });
  return around;
}

std::string listOf(const ProgramDescription &program, const std::vector<Element> &list, uint32_t event) {
  constexpr size_t kShown = 3;
  size_t shown = 0;
  std::string text;
  for (auto [of, element] : list) {
    if (of != event)
      continue;
    if (shown == kShown)
      return text + ", …";
    text += (shown++ > 0 ? ", " : "") + elementName(program, event, element);
  }
  return text.empty() ? "none of its elements" : text;
}

// Why the events there are do not order the two.
std::string reason(const ProgramDescription &program, const EventUse &use, const AccessInTask &first,
                   const AccessInTask &second) {
  std::string one = taskName(program, first.task.call, first.task.coord);
  std::string two = taskName(program, second.task.call, second.task.coord);
  Around notified = elements(first, RecordKind::Notify);
  Around waited = elements(second, RecordKind::WaitBegin);
  auto common = [](const std::vector<Element> &a, const std::vector<Element> &b) {
    auto found = std::ranges::find_if(a, [&](const Element &e) { return std::ranges::find(b, e) != b.end(); });
    return found == a.end() ? nullptr : &*found;
  };
  if (const Element *late = common(notified.after, waited.after))
    return two + " waits for " + elementName(program, late->first, late->second) + " only after that access";
  if (const Element *early = common(notified.before, waited.before))
    return one + " notifies " + elementName(program, early->first, early->second) + " before that access";
  for (uint32_t event = 0; event < program.events.size(); ++event)
    if (use.notified.contains({first.task.call, event}) && use.waited.contains({second.task.call, event})) {
      std::string text = program.events[event].name;
      text += " leads from " + program.calls[first.task.call].name + " to " + program.calls[second.task.call].name;
      text += ", but " + one + " notifies " + listOf(program, notified.after, event);
      text += " and " + two + " waits for " + listOf(program, waited.before, event);
      return text;
    }
  return "an event that " + program.calls[first.task.call].name + " notifies and " +
         program.calls[second.task.call].name + " waits for would have to";
}

std::string sharedName(const ProgramDescription &program, uint32_t memory, const AccessInTask &first,
                       const AccessInTask &second) {
  std::vector<int64_t> offset(first.offset.size()), size(first.offset.size());
  for (size_t d = 0; d < offset.size(); ++d) {
    offset[d] = std::max(first.offset[d], second.offset[d]);
    size[d] = std::min(first.offset[d] + first.size[d], second.offset[d] + second.size[d]) - offset[d];
  }
  return boxName(program, memory, offset, size);
}

} // namespace

std::string conflictMessage(const ProgramDescription &program, const EventUse &use, uint32_t memory,
                            const AccessInTask &first, const AccessInTask &second) {
  auto side = [&](const AccessInTask &access) {
    return std::string(access.write ? "writes " : "reads ") + boxName(program, memory, access.offset, access.size);
  };
  return "no event orders " + taskName(program, first.task.call, first.task.coord) + " and " +
         taskName(program, second.task.call, second.task.coord) + ": the first " + side(first) + ", the second " +
         side(second) + ", they share " + sharedName(program, memory, first, second) + "; " +
         reason(program, use, first, second);
}

std::string brokenPromiseMessage(const ProgramDescription &program, uint32_t memory, const AccessInTask &read,
                                 const AccessInTask &write) {
  std::string reader = taskName(program, read.task.call, read.task.coord);
  std::string writer = taskName(program, write.task.call, write.task.coord);
  return sharedName(program, memory, read, write) + " was promised to be settled, so " + reader +
         " may read it before its waits, but " +
         (&read.task == &write.task ? "it writes it itself" : writer + " writes it");
}

} // namespace evt::observe
