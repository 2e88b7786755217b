#include "runtime/observe/ObservedRun.h"

#include <algorithm>
#include <tuple>

namespace evt::observe {

namespace {

std::string checkRecord(const Record &record, const ProgramDescription &program) {
  auto unknown = [&](const char *what, size_t known) {
    return std::string("the log names ") + what + " " + std::to_string(record.id) + ", the program has " +
           std::to_string(known);
  };
  switch (record.kind) {
  case RecordKind::TaskBegin:
    if (record.id >= program.calls.size())
      return unknown("call", program.calls.size());
    break;
  case RecordKind::WaitBegin:
  case RecordKind::Notify:
    if (record.id >= program.events.size())
      return unknown("event", program.events.size());
    break;
  case RecordKind::Access:
    if (record.id >= program.memories.size())
      return unknown("memory", program.memories.size());
    if (record.coord.size() != program.memories[record.id].shape.size())
      return "the log accesses " + program.memories[record.id].name + " with rank " +
             std::to_string(record.coord.size()) + ", it has rank " +
             std::to_string(program.memories[record.id].shape.size());
    break;
  case RecordKind::TaskEnd:
  case RecordKind::WaitEnd:
    break;
  }
  return "";
}

std::string cutWorker(const Recorder &recorder, const ProgramDescription &program, uint32_t worker,
                      std::vector<ObservedTask> &tasks) {
  std::string name = "worker " + std::to_string(worker);
  if (recorder.truncated(worker))
    return "the log of " + name + " is incomplete: it reached its limit of " +
           std::to_string(recorder.options().maxBytesPerWorker >> 20) + " MiB or memory ran out";
  bool inside = false;
  LogReader reader = recorder.read(worker);
  for (Record record; reader.next(record);) {
    if (std::string wrong = checkRecord(record, program); !wrong.empty())
      return wrong;
    if (record.kind == RecordKind::TaskBegin) {
      if (inside)
        return name + " began " + taskName(program, record.id, record.coord) + " before it ended " +
               taskName(program, tasks.back().call, tasks.back().coord);
      inside = true;
      tasks.push_back({record.id, record.index, record.coord, worker, record.time, record.time, false, reader});
    } else if (!inside) {
      return name + " reported something outside every task";
    } else if (record.kind == RecordKind::TaskEnd) {
      inside = false;
      tasks.back().end = record.time;
      tasks.back().finished = true;
    } else if (record.kind == RecordKind::WaitEnd) {
      tasks.back().end = record.time;
    }
  }
  return "";
}

} // namespace

ObservedRun observedRun(const Recorder &recorder, const ProgramDescription &program) {
  ObservedRun run;
  for (uint32_t worker = 0; worker < recorder.workers() && run.refusal.empty(); ++worker)
    run.refusal = cutWorker(recorder, program, worker, run.tasks);
  if (!run.refusal.empty()) {
    run.tasks.clear();
    return run;
  }
  // The calls of a repeat share the place of its first call and are told apart by iteration first.
  std::vector<uint32_t> place(program.calls.size());
  for (uint32_t call = 0; call < place.size(); ++call) {
    bool joins =
        call > 0 && program.calls[call].repeat >= 0 && program.calls[call].repeat == program.calls[call - 1].repeat;
    place[call] = joins ? place[call - 1] : call;
  }
  auto key = [&](const ObservedTask &task) {
    bool repeated = program.calls[task.call].repeat >= 0 && !task.coord.empty();
    return std::tuple(place[task.call], repeated ? task.coord[0] : 0, task.call, task.task);
  };
  std::ranges::stable_sort(run.tasks, [&](const ObservedTask &a, const ObservedTask &b) { return key(a) < key(b); });
  return run;
}

} // namespace evt::observe
