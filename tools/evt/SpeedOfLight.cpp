#include "tools/evt/SpeedOfLight.h"

#include "tools/evt/Failure.h"

#include <algorithm>

namespace evt::tool {

Limits limitsFor(const runtime::Manifest &manifest, const Ceilings &ceilings, const std::string &gpu) {
  if (!manifest.cuda) {
    if (!ceilings.cpu)
      throw Failure(ExitCode::missing, "the ceilings have no CPU: measure it with 'evt bench ceilings'");
    return {ceilings.cpu->name, ceilings.cpu->readBytesPerSecond, ceilings.cpu->f32Flops};
  }
  if (!ceilings.gpu)
    throw Failure(ExitCode::missing, "the ceilings have no GPU: measure it with 'evt bench ceilings'");
  if (ceilings.gpu->name != gpu)
    throw Failure(ExitCode::missing, "the ceilings are of a GPU '" + ceilings.gpu->name + "', this one is '" + gpu +
                                         "': measure it with 'evt bench ceilings'");
  return {ceilings.gpu->name, ceilings.gpu->bestReadBytesPerSecond(), ceilings.gpu->bf16Flops.value_or(0)};
}

Bound boundOf(const runtime::Expression &ops, const runtime::Expression &bytes, std::span<const int64_t> symbols,
              const Limits &limits) {
  Bound bound;
  bound.ops = ops.evaluate(symbols);
  bound.bytes = bytes.evaluate(symbols);
  double memory = static_cast<double>(bound.bytes) / limits.bytesPerSecond;
  double arithmetic = limits.opsPerSecond > 0 ? static_cast<double>(bound.ops) / limits.opsPerSecond : 0;
  bound.byMemory = memory >= arithmetic;
  bound.seconds = std::max(memory, arithmetic);
  return bound;
}

Occupations occupationOf(const observe::Timeline &timeline, size_t calls) {
  Occupations found;
  found.calls.resize(calls);
  if (timeline.workers.empty())
    return found;
  struct Change {
    uint64_t time;
    uint32_t call;
    int workers; // more that are busy with it
  };
  std::vector<Change> changes;
  for (const std::vector<observe::TimelineTask> &tasks : timeline.workers) {
    uint64_t counted = 0; // up to here the worker's time has been given to a task
    for (const observe::TimelineTask &task : tasks) {
      if (task.call >= calls || task.end <= std::max(counted, task.begin))
        continue;
      uint64_t begin = std::max(counted, task.begin), waiting = 0;
      for (const observe::TimelineWait &wait : task.waits) {
        uint64_t from = std::max(begin, wait.begin), to = std::min(task.end, wait.end);
        waiting += to > from ? to - from : 0;
      }
      counted = task.end;
      found.calls[task.call].waiting +=
          static_cast<double>(waiting) / 1e9 / static_cast<double>(timeline.workers.size());
      changes.push_back({begin + waiting, task.call, 1}); // waits come first
      changes.push_back({task.end, task.call, -1});
    }
  }
  std::sort(changes.begin(), changes.end(), [](const Change &a, const Change &b) { return a.time < b.time; });
  std::vector<int> busy(calls);
  int all = 0;
  uint64_t now = 0;
  auto advance = [&](uint64_t time) {
    double seconds = static_cast<double>(time - now) / 1e9;
    now = time;
    if (all == 0) {
      found.nobody += seconds;
      return;
    }
    for (size_t k = 0; k < calls; ++k)
      if (busy[k])
        found.calls[k].taken += seconds * busy[k] / all;
  };
  for (const Change &change : changes) {
    advance(change.time);
    busy[change.call] += change.workers;
    all += change.workers;
  }
  advance(std::max(now, timeline.span));
  return found;
}

} // namespace evt::tool
