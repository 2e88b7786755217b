#include "runtime/observe/Timeline.h"

#include <algorithm>

namespace evt::observe {

namespace {

bool timed(RecordKind kind) { return kind != RecordKind::Notify && kind != RecordKind::Access; }

struct Span {
  uint64_t begin = UINT64_MAX, end = 0;
};

Span wholeSpan(const Recorder &recorder) {
  Span span;
  for (uint32_t worker = 0; worker < recorder.workers(); ++worker) {
    LogReader reader = recorder.read(worker);
    for (Record record; reader.next(record);)
      if (timed(record.kind)) {
        span.begin = std::min(span.begin, record.time);
        span.end = std::max(span.end, record.time);
      }
  }
  return span.begin == UINT64_MAX ? Span{0, 0} : span;
}

std::vector<TimelineTask> workerTasks(LogReader reader, Span span) {
  std::vector<TimelineTask> tasks;
  uint64_t length = span.end - span.begin;
  bool inTask = false;
  RecordKind previous = RecordKind::TaskEnd;
  uint64_t longest = 0, waitBegin = 0;
  Record wait{};
  for (Record record; reader.next(record); previous = record.kind) {
    uint64_t time = timed(record.kind) ? record.time - span.begin : 0;
    if (record.kind == RecordKind::TaskBegin) {
      tasks.push_back({record.id, {record.coord.begin(), record.coord.end()}, time, length, false, {}});
      inTask = true;
      continue;
    }
    if (!inTask)
      continue;
    std::vector<TimelineWait> &waits = tasks.back().waits;
    if (record.kind == RecordKind::WaitBegin) {
      wait = record;
      waitBegin = time;
      if (previous == RecordKind::WaitEnd) {
        ++waits.back().elements;
      } else {
        waits.push_back({time, length, record.id, record.index, 1});
        longest = 0;
      }
    } else if (record.kind == RecordKind::WaitEnd && !waits.empty()) {
      TimelineWait &stretch = waits.back();
      stretch.end = time;
      if (time - waitBegin > longest) {
        longest = time - waitBegin;
        stretch.event = wait.id;
        stretch.element = wait.index;
      }
    } else if (record.kind == RecordKind::TaskEnd) {
      tasks.back().end = time;
      tasks.back().finished = true;
      inTask = false;
    }
  }
  // A log that ends between wait_begin and wait_end: the element that never came names the stretch.
  if (inTask && previous == RecordKind::WaitBegin) {
    TimelineWait &stretch = tasks.back().waits.back();
    stretch.end = length;
    stretch.event = wait.id;
    stretch.element = wait.index;
  }
  return tasks;
}

} // namespace

Timeline timeline(const Recorder &recorder) {
  Timeline result;
  Span span = wholeSpan(recorder);
  result.span = span.end - span.begin;
  for (uint32_t worker = 0; worker < recorder.workers(); ++worker) {
    result.workers.push_back(workerTasks(recorder.read(worker), span));
    result.truncated |= recorder.truncated(worker);
  }
  return result;
}

} // namespace evt::observe
