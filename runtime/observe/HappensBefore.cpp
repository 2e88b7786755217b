#include "runtime/observe/HappensBefore.h"

#include "runtime/observe/ConflictMessage.h"
#include "runtime/observe/ConflictSearch.h"
#include "runtime/observe/EventOrder.h"
#include "runtime/observe/ObservedRun.h"
#include "runtime/observe/UnwrittenReads.h"

#include <algorithm>
#include <map>

namespace evt::observe {

namespace {

constexpr uint32_t kNoStep = UINT32_MAX;

// One wait or notification, waiting to be grouped by element.
struct ElementUse {
  uint64_t element; // over all events, one after the other
  uint32_t step;    // kNoStep: a second run of a task, whose notifications still count
  bool wait;
  int64_t count; // of a wait
};

class Check {
public:
  Check(const Recorder &recorder, const ProgramDescription &program, const CheckOptions &options)
      : recorder(recorder), program(program), options(options), search(taskOfStep, callOfTask, options.examples),
        unwritten(program) {}

  CheckReport run() {
    if (!recorder.options().accesses || !recorder.options().notifies) {
      report.refusal = "the recorder kept no accesses or no notifies, the check needs both";
      return report;
    }
    observed = observedRun(recorder, program);
    if (!observed.refusal.empty()) {
      report.refusal = observed.refusal;
      return report;
    }
    uint64_t start = 0;
    for (const EventDescription &event : program.events) {
      eventStart.push_back(start);
      start += static_cast<uint64_t>(elementCount(event.shape));
    }
    eventStart.push_back(start);
    countRuns();
    for (size_t task = 0; task < observed.tasks.size(); ++task)
      readTask(task);
    reportUnwritten();
    groupElements();
    if (order.sort())
      findConflicts();
    else
      reportCircle();
    for (auto &[key, finding] : groups)
      report.findings.push_back(std::move(finding));
    return report;
  }

private:
  // Groups come out by kind, then by the order in which the program names their subjects.
  void add(FindingKind kind, uint64_t subjectOrder, const std::string &subject, const std::string &message) {
    Finding &finding = groups[{kind, subjectOrder}];
    finding.kind = kind;
    finding.subject = subject;
    if (finding.total++ < options.examples)
      finding.messages.push_back(message);
  }
  void addRun(uint32_t call, const std::string &message) {
    add(FindingKind::TaskRuns, call, "wrong runs of " + program.calls[call].name, message);
  }
  void addCount(uint32_t event, const std::string &message) {
    add(FindingKind::Count, event, "wrong counts of " + program.events[event].name, message);
  }

  bool repeats(size_t task) const {
    const std::vector<ObservedTask> &tasks = observed.tasks;
    return task > 0 && tasks[task].call == tasks[task - 1].call && tasks[task].task == tasks[task - 1].task;
  }

  void countRuns() {
    std::vector<std::vector<int64_t>> ran(program.calls.size());
    const std::vector<ObservedTask> &tasks = observed.tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const ObservedTask &task = tasks[t];
      if (!task.finished)
        addRun(task.call, taskName(program, task.call, task.coord) + " began but did not end");
      if (repeats(t))
        continue;
      size_t times = 1;
      while (t + times < tasks.size() && repeats(t + times))
        ++times;
      if (times > 1)
        addRun(task.call, taskName(program, task.call, task.coord) + " ran " + std::to_string(times) + " times");
      int64_t expected = elementCount(program.calls[task.call].extents);
      if (task.task < 0 || task.task >= expected)
        addRun(task.call, "task " + std::to_string(task.task) + " of " + program.calls[task.call].name +
                              " is outside its grid of " + std::to_string(expected) + " tasks");
      else
        ran[task.call].push_back(task.task);
    }
    for (uint32_t call = 0; call < program.calls.size(); ++call) {
      const CallDescription &description = program.calls[call];
      std::ranges::sort(ran[call]); // program order of a repeat is already increasing; this does not rely on it
      int64_t next = 0;
      auto missingUpTo = [&](int64_t end) {
        int64_t spelled = std::min(end, next + static_cast<int64_t>(options.examples));
        for (; next < spelled; ++next)
          addRun(call, taskName(program, call, next) + " never ran");
        if (next < end)
          groups[{FindingKind::TaskRuns, call}].total += static_cast<uint64_t>(end - next);
      };
      if (!description.ragged) {
        for (int64_t task : ran[call]) {
          missingUpTo(task);
          next = task + 1;
        }
        missingUpTo(elementCount(description.extents));
      }
      int64_t distinct = static_cast<int64_t>(ran[call].size());
      if (description.tasks && *description.tasks != distinct)
        addRun(call, description.name + " ran " + std::to_string(distinct) + " tasks, " +
                         std::to_string(*description.tasks) + " were expected");
    }
  }

  bool elementInside(const Record &record) {
    int64_t size = elementCount(program.events[record.id].shape);
    if (record.index >= 0 && record.index < size)
      return true;
    addCount(record.id, "element " + std::to_string(record.index) + " of " + program.events[record.id].name +
                            " is outside its " + std::to_string(size) + " elements");
    return false;
  }

  void readTask(size_t index) {
    const ObservedTask &task = observed.tasks[index];
    if (repeats(index)) {
      forEachRecord(task, [&](const Record &record) {
        if (record.kind == RecordKind::Notify && elementInside(record))
          uses.push_back({eventStart[record.id] + static_cast<uint64_t>(record.index), kNoStep, false, 0});
      });
      return;
    }
    uint32_t number = static_cast<uint32_t>(callOfTask.size());
    callOfTask.push_back(task.call);
    taskRuns.push_back(&task);
    firstStep.push_back(static_cast<uint32_t>(taskOfStep.size()));
    taskOfStep.push_back(number);
    StepCounter steps;
    bool anyNotify = false, reported = false;
    Record latest{};
    forEachRecord(task, [&](const Record &record) {
      uint32_t step = firstStep.back() + steps.step(record.kind);
      if (step == taskOfStep.size())
        taskOfStep.push_back(number);
      if (record.kind == RecordKind::Access) {
        ++report.accesses;
        search.add(step, record.id, record.coord, record.size, record.access);
        unwritten.add(number, record.id, record.coord, record.size, record.access);
        if (anyNotify && !reported) {
          reported = true;
          add(FindingKind::AccessAfterNotify, task.call,
              "tasks of " + program.calls[task.call].name + " that access after a notify",
              taskName(program, task.call, task.coord) + (record.access == EVT_WRITE ? " writes " : " reads ") +
                  boxName(program, record.id, record.coord, record.size) + " after it notified " +
                  elementName(program, latest.id, latest.index) + ", a notify must follow every access of its task");
        }
        return;
      }
      bool wait = record.kind == RecordKind::WaitBegin;
      if (!wait) {
        anyNotify = true;
        latest = record;
      }
      (wait ? eventUse.waited : eventUse.notified).emplace(task.call, record.id);
      if (elementInside(record))
        uses.push_back({eventStart[record.id] + static_cast<uint64_t>(record.index), step, wait, record.count});
    });
    ++report.tasks;
  }

  // Element by element: check the count, give the element its class, hand the class to the steps that waited.
  void groupElements() {
    std::ranges::sort(uses, [](const ElementUse &a, const ElementUse &b) {
      return std::tuple(a.element, a.wait, a.step, a.count) < std::tuple(b.element, b.wait, b.step, b.count);
    });
    std::vector<std::pair<uint32_t, uint32_t>> waits; // step, element class
    std::vector<uint32_t> notifiers;
    for (size_t begin = 0, end; begin < uses.size(); begin = end) {
      notifiers.clear();
      int64_t notifications = 0, smallest = INT64_MAX, largest = INT64_MIN;
      for (end = begin; end < uses.size() && uses[end].element == uses[begin].element; ++end) {
        const ElementUse &use = uses[end];
        if (use.wait) {
          smallest = std::min(smallest, use.count);
          largest = std::max(largest, use.count);
          continue;
        }
        ++notifications;
        if (use.step != kNoStep && (notifiers.empty() || notifiers.back() != use.step))
          notifiers.push_back(use.step);
      }
      ++report.elements;
      checkCount(uses[begin].element, notifications, smallest, largest);
      uint32_t elementClass = kNoStep;
      for (size_t u = begin; u < end; ++u)
        if (uses[u].wait) {
          if (elementClass == kNoStep)
            elementClass = order.elementNotifiedBy(notifiers);
          waits.emplace_back(uses[u].step, elementClass);
        }
    }
    uses = {};
    std::ranges::sort(waits);
    std::vector<EventOrder::ElementClass> classes;
    size_t next = 0;
    for (uint32_t step = 0; step < taskOfStep.size(); ++step) {
      classes.clear();
      for (; next < waits.size() && waits[next].first == step; ++next)
        classes.push_back(waits[next].second);
      bool continues = step > 0 && taskOfStep[step - 1] == taskOfStep[step];
      order.addStep(classes, continues ? step - 1 : EventOrder::kNone);
    }
  }

  void checkCount(uint64_t element, int64_t notifications, int64_t smallest, int64_t largest) {
    uint32_t event = static_cast<uint32_t>(std::ranges::upper_bound(eventStart, element) - eventStart.begin() - 1);
    int64_t index = static_cast<int64_t>(element - eventStart[event]);
    bool waited = smallest <= largest;
    if (!waited) {
      std::optional<int64_t> known = options.count ? options.count(event, index) : std::nullopt;
      if (!known || notifications <= *known)
        return;
      smallest = largest = *known;
    }
    std::string name = elementName(program, event, index);
    if (smallest != largest)
      addCount(event, "waits for " + name + " gave the counts " + std::to_string(smallest) + " and " +
                          std::to_string(largest));
    else if (notifications != smallest)
      addCount(event, name + " received " + std::to_string(notifications) +
                          (notifications == 1 ? " notification" : " notifications") + ", its count is " +
                          std::to_string(smallest));
  }

  void reportUnwritten() {
    for (const UnwrittenRead &read : unwritten.find()) {
      const ObservedTask &task = *taskRuns[read.task];
      const std::string &memory = program.memories[read.memory].name;
      std::vector<int64_t> one(read.element.size(), 1);
      add(FindingKind::Unwritten, task.call * program.memories.size() + read.memory,
          "reads of " + program.calls[task.call].name + " on " + memory + " of what no task writes",
          taskName(program, task.call, task.coord) + " reads " + boxName(program, read.memory, read.offset, read.size) +
              ", but no task writes " + boxName(program, read.memory, read.element, one));
    }
  }

  void reportCircle() {
    std::vector<uint32_t> tasks;
    for (uint32_t step : order.circle())
      if (tasks.empty() || tasks.back() != taskOfStep[step])
        tasks.push_back(taskOfStep[step]);
    if (tasks.size() > 1 && tasks.front() == tasks.back())
      tasks.pop_back();
    std::string text;
    for (size_t t = 0; t < tasks.size(); ++t) {
      const ObservedTask &task = *taskRuns[tasks[t]], &next = *taskRuns[tasks[(t + 1) % tasks.size()]];
      text += taskName(program, task.call, task.coord) + " notifies " + linkName(task, next) + ", ";
    }
    const ObservedTask &first = *taskRuns[tasks.front()];
    add(FindingKind::Circle, 0, "circles",
        "tasks wait for each other in a circle: " + text + "for which " + taskName(program, first.call, first.coord) +
            " waits; conflicts were not searched");
  }

  // The first element that `from` notifies and `to` waits for.
  std::string linkName(const ObservedTask &from, const ObservedTask &to) const {
    std::set<std::pair<uint32_t, int64_t>> notified;
    forEachRecord(from, [&](const Record &record) {
      if (record.kind == RecordKind::Notify)
        notified.emplace(record.id, record.index);
    });
    std::string name;
    forEachRecord(to, [&](const Record &record) {
      if (name.empty() && record.kind == RecordKind::WaitBegin && notified.contains({record.id, record.index}))
        name = elementName(program, record.id, record.index);
    });
    return name;
  }

  void findConflicts() {
    uint64_t bytes = order.peakBytes();
    if (bytes > options.maxAncestorBytes) {
      auto amount = [](uint64_t value) {
        return value >> 20 == 0 ? std::to_string(value) + " bytes" : std::to_string(value >> 20) + " MiB";
      };
      report.refusal = "the check of " + std::to_string(report.tasks) + " tasks needs " + amount(bytes) +
                       " for their ancestors, at most " + amount(options.maxAncestorBytes) +
                       " are allowed; check a smaller shape";
      groups.clear();
      return;
    }
    search.prepare(order);
    order.sweep([&](uint32_t step, uint32_t position, const AncestorSet &ancestors) {
      search.visit(step, position, ancestors);
    });
    uint64_t place = 0;
    for (const auto &[key, group] : search.conflicts()) {
      auto [first, second, memory] = key;
      Finding &finding = groups[{FindingKind::Conflict, place++}];
      finding = {FindingKind::Conflict,
                 "conflicts of " + program.calls[first].name + " and " + program.calls[second].name + " on " +
                     program.memories[memory].name,
                 group.total,
                 {}};
      for (const Conflict &conflict : group.examples)
        finding.messages.push_back(
            conflictMessage(program, eventUse, memory, side(conflict.first), side(conflict.second)));
    }
    place = 0;
    for (const auto &[key, group] : search.brokenPromises()) {
      auto [reader, writer, memory] = key;
      Finding &finding = groups[{FindingKind::BrokenPromise, place++}];
      finding = {FindingKind::BrokenPromise,
                 "promises to " + program.calls[reader].name + " on " + program.memories[memory].name + " that " +
                     program.calls[writer].name + " breaks",
                 group.total,
                 {}};
      for (const BrokenPromise &broken : group.examples)
        finding.messages.push_back(brokenPromiseMessage(program, memory, side(broken.read), side(broken.write)));
    }
  }

  AccessInTask side(const ConflictingAccess &access) const {
    uint32_t task = taskOfStep[access.step];
    std::span<const int64_t> box = search.box(access.box);
    return {*taskRuns[task], access.step - firstStep[task], box.first(box.size() / 2), box.last(box.size() / 2),
            access.write};
  }

  const Recorder &recorder;
  const ProgramDescription &program;
  const CheckOptions &options;
  CheckReport report;
  ObservedRun observed;
  std::map<std::pair<FindingKind, uint64_t>, Finding> groups;
  std::vector<uint64_t> eventStart;            // first element of each event in one numbering of all
  std::vector<const ObservedTask *> taskRuns;  // each task once, in program order
  std::vector<uint32_t> callOfTask, firstStep; // by task
  std::vector<uint32_t> taskOfStep;
  std::vector<ElementUse> uses;
  EventUse eventUse;
  EventOrder order;
  ConflictSearch search;
  UnwrittenReads unwritten;
};

} // namespace

uint64_t CheckReport::total(FindingKind kind) const {
  uint64_t sum = 0;
  for (const Finding &finding : findings)
    sum += finding.kind == kind ? finding.total : 0;
  return sum;
}

CheckReport checkHappensBefore(const Recorder &recorder, const ProgramDescription &program,
                               const CheckOptions &options) {
  return Check(recorder, program, options).run();
}

std::string toText(const CheckReport &report) {
  if (!report.refusal.empty())
    return report.refusal + "\n";
  std::string text;
  uint64_t total = 0;
  for (const Finding &finding : report.findings) {
    total += finding.total;
    for (const std::string &message : finding.messages)
      text += message + "\n";
    if (finding.total > finding.messages.size())
      text += "… and " + std::to_string(finding.total - finding.messages.size()) + " more " + finding.subject + "\n";
  }
  return text + "checked " + std::to_string(report.tasks) + " tasks, " + std::to_string(report.accesses) +
         " accesses and " + std::to_string(report.elements) + " event elements: " +
         (total == 0 ? "no defect" : std::to_string(total) + (total == 1 ? " defect" : " defects")) + "\n";
}

} // namespace evt::observe
