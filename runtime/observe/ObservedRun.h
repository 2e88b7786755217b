// ObservedRun: a Recorder's logs, cut into tasks and put in program order.
//
// The order is the one in which the program names the tasks: calls in order, calls of a repeat interleaved iteration by
// iteration, tasks of a call by linear index. It is the same for every schedule and every number of workers.
#ifndef EVT_RUNTIME_OBSERVE_OBSERVEDRUN_H
#define EVT_RUNTIME_OBSERVE_OBSERVEDRUN_H

#include "runtime/observe/Description.h"
#include "runtime/observe/Recorder.h"

#include <span>
#include <string>
#include <vector>

namespace evt::observe {

struct ObservedTask {
  uint32_t call;
  int64_t task; // linear index
  std::span<const int64_t> coord;
  uint32_t worker;
  uint64_t begin; // time
  uint64_t end;
  bool finished;
  LogReader records; // stands after the TaskBegin; the task's records end with a TaskEnd or the log
};

// Cuts a task's records into steps (EventOrder.h): a wait after anything else, or an access after a notify, begins a
// new one.
class StepCounter {
public:
  // The step, counted from 0 in the task, to which a record of this kind belongs.
  uint32_t step(RecordKind kind) {
    Phase next = kind == RecordKind::WaitBegin ? Waiting : kind == RecordKind::Access ? Accessing : Notifying;
    if (next < phase)
      ++current;
    phase = next;
    return current;
  }

private:
  enum Phase { Waiting, Accessing, Notifying } phase = Waiting;
  uint32_t current = 0;
};

struct ObservedRun {
  std::vector<ObservedTask> tasks; // in program order; a task that ran twice stands there twice in a row
  std::string refusal;             // not empty: the logs do not fit the description, or are incomplete
};

// Calls visit(record) for the waits, accesses and notifies of a task, in order.
template <typename Visit> void forEachRecord(const ObservedTask &task, Visit visit) {
  LogReader reader = task.records;
  for (Record record; reader.next(record) && record.kind != RecordKind::TaskEnd;)
    if (record.kind != RecordKind::WaitEnd)
      visit(record);
}

ObservedRun observedRun(const Recorder &recorder, const ProgramDescription &program);

} // namespace evt::observe
#endif
