// HappensBefore: the run-time checker behind `evt run --check`.
//
// It judges one observed run by its events alone. A task that waited for an element is after every task that notified
// it, and after all those were after; inside a task, an access is ordered by the waits before it. Two accesses of the
// same memory that overlap, at least one of them a write, by two tasks that nothing orders, are a conflict: reported
// even when the values came out right, because another schedule may run them the other way round. A read of what the
// program promises to be settled (EVT_READ_SETTLED) may come before the waits of its task: nothing orders it, and any
// write of its elements in the run is a defect.
//
// Example, with the wait of `total` off by one (see Description.h for the program):
//
//   no event orders partial(i=1, j=0) and total(i=1): the first writes p[1, 0], the second reads p[1, 0:4], they share
//   p[1, 0]; done leads from partial to total, but partial(i=1, j=0) notifies done[1] and total(i=1) waits for done[0]
//
// Also reported: reads of planned memory that no task writes (UnwrittenReads.h); elements that received another number
// of notifications than their count; tasks that ran twice, never or only halfway; accesses after a notify of their
// task; tasks that wait for each other in a circle.
//
// The report depends on the program and its inputs only: not on the number of workers, the schedule or the timing.
// Tasks are named in program order, and pairs are counted as pairs of tasks per memory.
//
// Cost: 50 000 tasks with a few million waits and accesses take seconds. Memory is dominated by the ancestor sets
// (EventOrder.h); their size is known before they are built, and a run beyond the limit is refused, not half checked.
#ifndef EVT_RUNTIME_OBSERVE_HAPPENSBEFORE_H
#define EVT_RUNTIME_OBSERVE_HAPPENSBEFORE_H

#include "runtime/observe/Description.h"
#include "runtime/observe/Recorder.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace evt::observe {

struct CheckOptions {
  uint32_t examples = 3;                         // messages per group; the rest is counted
  uint64_t maxAncestorBytes = uint64_t(2) << 30; // refuse beyond it
  // Count of an element nobody waited for, where the caller knows it.
  std::function<std::optional<int64_t>(uint32_t event, int64_t element)> count{};
};

enum class FindingKind { Conflict, BrokenPromise, Unwritten, Count, TaskRuns, AccessAfterNotify, Circle };

// One group of like defects: `total` of them, the first few spelled out.
struct Finding {
  FindingKind kind;
  std::string subject; // "conflicts of partial and total on p"
  uint64_t total = 0;
  std::vector<std::string> messages;
};

struct CheckReport {
  std::string refusal; // not empty: nothing was checked, and this says why
  std::vector<Finding> findings;
  uint64_t tasks = 0;
  uint64_t accesses = 0;
  uint64_t elements = 0; // that were waited for or notified

  bool clean() const { return refusal.empty() && findings.empty(); }
  uint64_t total(FindingKind kind) const;
};

CheckReport checkHappensBefore(const Recorder &recorder, const ProgramDescription &program,
                               const CheckOptions &options = {});

// One message a line, "… and 12 more conflicts of partial and total on p" after a group that was cut short; last a
// line that says what was checked.
std::string toText(const CheckReport &report);

} // namespace evt::observe
#endif
