#include "runtime/launch/StallReport.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <utility>

namespace evt::runtime {
namespace {

// A report is read by people: a few names of each sort, then a count.
constexpr size_t mostNames = 4;
constexpr size_t mostRoots = 3;
constexpr size_t mostWorkers = 16;
// Bounds the memory of a report on a graph with millions of blocked tasks.
constexpr size_t mostElements = 1 << 16;

struct Task {
  uint32_t call = 0;
  int64_t index = 0;
  std::vector<int64_t> coord;
};

struct Wait {
  uint32_t event;
  int64_t element;
  int64_t count;
};

using ElementKey = std::pair<uint32_t, int64_t>;

struct Incomplete {
  int64_t count = 0;
  uint32_t received = 0;
  std::vector<Task> waiters;
  size_t waiterCount = 0;
  std::vector<Task> missing; // notifiers that are not done, those that wait for nothing first
  size_t missingCount = 0;
  size_t missingFree = 0; // ... of which wait for nothing incomplete
  size_t notifierCount = 0;
};

// Receives the kernel's enumeration, task by task. Two passes: the first finds the incomplete elements that undone
// tasks wait for, the second who should have notified them.
class Enumeration {
public:
  Enumeration(const Manifest &manifest, const Shapes &shapes, const StallEvidence &evidence)
      : manifest_(manifest), shapes_(shapes), evidence_(evidence) {}

  std::map<ElementKey, Incomplete> run(const Kernel &kernel, const evt_launch &launch) {
    // A copy that shares the tensors and nothing else: the enumeration must not see the abort flag, nor write to the
    // evidence.
    evt_launch copy = launch;
    uint32_t abort = EVT_ABORT_NONE;
    evt_fault fault{};
    std::vector<evt_status> status(launch.workers);
    copy.abort = &abort;
    copy.fault = &fault;
    copy.status = status.data();
    copy.done = nullptr;
    copy.hooks = nullptr;
    copy.inject_call = copy.inject_task = -1;
    copy.perturb = 0;
    evt_hooks hooks = table();
    kernel.explain(copy, hooks);
    findNotifiers_ = true;
    abort = EVT_ABORT_NONE;
    kernel.explain(copy, hooks);
    return std::move(elements_);
  }

private:
  static Enumeration &self(void *user) { return *static_cast<Enumeration *>(user); }

  evt_hooks table() {
    evt_hooks hooks{};
    hooks.user = this;
    hooks.task_begin = [](void *user, uint32_t, uint32_t call, int64_t task, const int64_t *coord, uint32_t rank) {
      self(user).task_ = {call, task, std::vector<int64_t>(coord, coord + rank)};
      self(user).waits_.clear();
      self(user).notifies_.clear();
    };
    hooks.task_end = [](void *user, uint32_t) { self(user).finish(); };
    hooks.wait_begin = [](void *user, uint32_t, uint32_t event, int64_t element, int64_t count) {
      self(user).waits_.push_back({event, element, count});
    };
    hooks.wait_end = [](void *, uint32_t) {};
    hooks.notify = [](void *user, uint32_t, uint32_t event, int64_t element) {
      self(user).notifies_.push_back({event, element});
    };
    hooks.access = [](void *, uint32_t, uint32_t, uint32_t, const int64_t *, const int64_t *, uint32_t) {};
    return hooks;
  }

  bool isDone() const {
    if (task_.call >= shapes_.calls.size() || task_.index < 0 || task_.index >= shapes_.calls[task_.call].tasks)
      return true; // not a task of these shapes: nothing is known about it
    return evidence_.done[static_cast<size_t>(shapes_.calls[task_.call].firstTask + task_.index)] != 0;
  }

  bool isIncomplete(const Wait &wait) const {
    std::optional<uint32_t> received = evidence_.received(wait.event, wait.element);
    return received && *received < wait.count;
  }

  void finish() {
    if (findNotifiers_)
      finishNotifier();
    else if (!isDone())
      for (const Wait &wait : waits_)
        if (isIncomplete(wait))
          addWaiter(wait);
  }

  void addWaiter(const Wait &wait) {
    auto found = elements_.find({wait.event, wait.element});
    if (found == elements_.end()) {
      if (elements_.size() >= mostElements)
        return;
      found = elements_.emplace(ElementKey{wait.event, wait.element}, Incomplete{}).first;
      found->second.count = wait.count;
      found->second.received = *evidence_.received(wait.event, wait.element);
    }
    Incomplete &element = found->second;
    if (element.waiters.size() < mostNames)
      element.waiters.push_back(task_);
    ++element.waiterCount;
  }

  void finishNotifier() {
    bool done = isDone();
    bool free = std::none_of(waits_.begin(), waits_.end(), [&](const Wait &wait) { return isIncomplete(wait); });
    for (const ElementKey &key : notifies_) {
      auto found = elements_.find(key);
      if (found == elements_.end())
        continue;
      Incomplete &element = found->second;
      ++element.notifierCount;
      if (done)
        continue;
      if (free && element.missingFree < mostNames)
        element.missing.insert(element.missing.begin() + static_cast<ptrdiff_t>(element.missingFree), task_);
      else if (!free && element.missing.size() < mostNames)
        element.missing.push_back(task_);
      element.missingFree += free;
      ++element.missingCount;
    }
  }

  const Manifest &manifest_;
  const Shapes &shapes_;
  const StallEvidence &evidence_;
  bool findNotifiers_ = false;
  Task task_;
  std::vector<Wait> waits_;
  std::vector<ElementKey> notifies_;
  std::map<ElementKey, Incomplete> elements_;
};

class Writer {
public:
  Writer(const Manifest &manifest, const Shapes &shapes, const StallEvidence &evidence)
      : manifest_(manifest), shapes_(shapes), evidence_(evidence) {}

  std::string element(uint32_t event, int64_t element) const {
    if (event >= manifest_.events.size())
      return "event " + std::to_string(event) + "[" + std::to_string(element) + "]";
    return manifest_.events[event].name + describeElement(element, shapes_.events[event].dims);
  }

  std::string task(const Task &task) const {
    std::string text = callName(task.call) + "(";
    for (size_t i = 0; i < task.coord.size(); ++i)
      text += (i ? ", " : "") + std::to_string(task.coord[i]);
    return text + ")";
  }

  std::string callName(uint32_t call) const {
    return call < manifest_.calls.size() ? manifest_.calls[call].name : "call " + std::to_string(call);
  }

  // Where a task stands, from what the workers said.
  std::string place(const Task &task, const char *otherwise) const {
    for (size_t w = 0; w < evidence_.workers.size(); ++w) {
      const evt_status &status = evidence_.workers[w];
      if (status.call != task.call || status.task != task.index)
        continue;
      if (status.state == EVT_WAITING)
        return "on worker " + std::to_string(w) + ", which waits for " + element(status.event, status.element);
      if (status.state == EVT_RUNNING)
        return "running on worker " + std::to_string(w);
    }
    return otherwise;
  }

  std::string incomplete(const ElementKey &key, const Incomplete &state) const {
    std::string text = "\n  " + element(key.first, key.second) + " has received " + std::to_string(state.received) +
                       " of " + std::to_string(state.count) + " notifications";
    for (const Task &waiter : state.waiters) {
      std::string where = waiterPlace(key, waiter);
      text += "\n    waited for by " + task(waiter) + (where.empty() ? "" : ", " + where);
    }
    text += more(state.waiterCount, state.waiters.size(), "waited for by");
    size_t shown = 0;
    for (const Task &notifier : state.missing)
      if (shown < mostNames) {
        text += "\n    not notified by " + task(notifier) + ", " +
                place(notifier, shown < state.missingFree ? "on no worker" : "waits for an incomplete element itself");
        ++shown;
      }
    text += more(state.missingCount, shown, "not notified by");
    if (state.missingCount == 0)
      text += "\n    its " + std::to_string(state.notifierCount) +
              (state.notifierCount == 1 ? " notifier is" : " notifiers are") +
              " done: a notification was lost, or the count is too large";
    return text;
  }

  // What the workers were doing, for kernels that cannot enumerate their tasks and for stalls without a waiter.
  std::string workers() const {
    std::string text;
    size_t shown = 0;
    for (size_t w = 0; w < evidence_.workers.size(); ++w) {
      // Of many workers, those that wait tell most.
      if (evidence_.workers.size() > mostWorkers && evidence_.workers[w].state != EVT_WAITING)
        continue;
      if (shown == mostWorkers)
        break;
      ++shown;
      const evt_status &status = evidence_.workers[w];
      text += "\n  worker " + std::to_string(w);
      std::string current = "task " + std::to_string(status.task) + " of " + callName(status.call);
      switch (status.state) {
      case EVT_RUNNING:
        text += status.task < 0 ? " has not begun a task" : " runs " + current;
        break;
      case EVT_WAITING: {
        std::optional<uint32_t> received = evidence_.received(status.event, status.element);
        text += " waits in " + current + " for " + element(status.event, status.element) + ", which has received " +
                (received ? std::to_string(*received) : "an unknown number") + " of " + std::to_string(status.count) +
                " notifications";
        break;
      }
      case EVT_IDLE:
        text += " is idle";
        break;
      default:
        text += " has left";
      }
    }
    if (size_t rest = evidence_.workers.size() - shown)
      text += "\n  " + std::to_string(rest) + (rest == 1 ? " more worker" : " more workers");
    return text;
  }

private:
  // A waiter is normally on a worker that waits for this very element: then only the worker is worth saying.
  std::string waiterPlace(const ElementKey &key, const Task &task) const {
    for (size_t w = 0; w < evidence_.workers.size(); ++w) {
      const evt_status &status = evidence_.workers[w];
      if (status.state == EVT_WAITING && status.call == task.call && status.task == task.index &&
          ElementKey{status.event, status.element} == key)
        return "on worker " + std::to_string(w);
    }
    return place(task, "on no worker");
  }

  static std::string more(size_t total, size_t shown, const char *what) {
    if (total <= shown)
      return "";
    return "\n    " + std::string(what) + " " + std::to_string(total - shown) + " more";
  }

  const Manifest &manifest_;
  const Shapes &shapes_;
  const StallEvidence &evidence_;
};

// The elements to blame: those some free task still owes; if there are none, those whose notifiers are all done; if
// there are none either, the tasks wait in a circle and every element is part of it.
std::vector<ElementKey> findRoots(const std::map<ElementKey, Incomplete> &elements, std::string &kind) {
  auto select = [&](auto &&predicate) {
    std::vector<ElementKey> keys;
    for (const auto &[key, state] : elements)
      if (predicate(state))
        keys.push_back(key);
    return keys;
  };
  std::vector<ElementKey> roots = select([](const Incomplete &state) { return state.missingFree > 0; });
  if (roots.empty())
    roots = select([](const Incomplete &state) { return state.missingCount == 0; });
  if (roots.empty() && !elements.empty()) {
    kind = "\n  tasks wait in a circle";
    roots = select([](const Incomplete &) { return true; });
  }
  return roots;
}

std::string describeCause(const StallCause &cause) {
  char text[64];
  std::snprintf(text, sizeof text,
                cause.sign == StallSign::noTaskFinished ? "no task finished for %.3g s"
                                                        : "a wait lasted longer than %.3g s",
                cause.seconds);
  return text;
}

} // namespace

std::optional<uint32_t> StallEvidence::received(uint32_t event, int64_t element) const {
  if (event >= counters.size() || element < 0 || element >= static_cast<int64_t>(counters[event].size()))
    return std::nullopt;
  return counters[event][static_cast<size_t>(element)];
}

StallEvidence captureStall(const Manifest &manifest, const Shapes &shapes, const evt_launch &launch) {
  StallEvidence evidence;
  for (uint32_t w = 0; w < launch.workers; ++w) {
    const evt_status &status = launch.status[w];
    evt_status copy{};
    copy.state = __atomic_load_n(&status.state, __ATOMIC_ACQUIRE);
    copy.call = __atomic_load_n(&status.call, __ATOMIC_RELAXED);
    copy.task = __atomic_load_n(&status.task, __ATOMIC_RELAXED);
    copy.event = __atomic_load_n(&status.event, __ATOMIC_RELAXED);
    copy.element = __atomic_load_n(&status.element, __ATOMIC_RELAXED);
    copy.count = __atomic_load_n(&status.count, __ATOMIC_RELAXED);
    copy.finished = __atomic_load_n(&status.finished, __ATOMIC_RELAXED);
    evidence.workers.push_back(copy);
  }
  evidence.counters.resize(manifest.events.size());
  for (size_t r = 0; r < manifest.regions.size(); ++r) {
    if (!manifest.regions[r].event)
      continue;
    std::vector<uint32_t> &counters = evidence.counters[*manifest.regions[r].event];
    const uint32_t *source = static_cast<const uint32_t *>(launch.regions[r]);
    for (int64_t e = 0; e < shapes.events[*manifest.regions[r].event].elements; ++e)
      counters.push_back(__atomic_load_n(source + e, __ATOMIC_ACQUIRE));
  }
  for (int64_t t = 0; launch.done && t < shapes.tasks; ++t)
    evidence.done.push_back(__atomic_load_n(launch.done + t, __ATOMIC_ACQUIRE));
  return evidence;
}

std::string describeStall(const Manifest &manifest, const Kernel &kernel, const Shapes &shapes,
                          const evt_launch &launch, const StallEvidence &evidence, StallCause cause) {
  bool accounted = launch.done != nullptr;
  int64_t done = std::count(evidence.done.begin(), evidence.done.end(), 1);
  std::string progress = accounted
                             ? std::to_string(done) + " of " + std::to_string(shapes.tasks) + " tasks are done"
                             : "it has " + std::to_string(shapes.tasks) + (shapes.tasks == 1 ? " task" : " tasks");
  std::string text = "graph '" + manifest.graph + "' is stuck: " + describeCause(cause) + "; " + progress +
                     " (schedule " + std::string(scheduleNames[launch.schedule]) + ", " +
                     std::to_string(launch.workers) + (launch.workers == 1 ? " worker)" : " workers)");
  Writer writer(manifest, shapes, evidence);
  if (!kernel.canExplain() || !accounted)
    return text + writer.workers();
  std::map<ElementKey, Incomplete> elements = Enumeration(manifest, shapes, evidence).run(kernel, launch);
  std::string kind;
  std::vector<ElementKey> roots = findRoots(elements, kind);
  if (roots.empty())
    return text + "\n  no task waits for an incomplete element" + writer.workers();
  text += kind;
  size_t shown = std::min(roots.size(), mostRoots);
  for (size_t i = 0; i < shown; ++i)
    text += writer.incomplete(roots[i], elements.at(roots[i]));
  if (size_t rest = elements.size() - shown)
    text += "\n  " + std::to_string(rest) + (rest == 1 ? " more element is" : " more elements are") + " incomplete";
  return text;
}

} // namespace evt::runtime
