// Timeline: who did what when, from a Recorder's times, or from those a GPU's workers wrote down themselves.
//
// Waits that follow each other with nothing in between (a task that waits for sixteen tiles before it starts) form one
// stretch, named after the element that took longest. A run that was cut short is still worth looking at: what was open
// at the end of a log is drawn to the end of the timeline and marked.
#ifndef EVT_RUNTIME_OBSERVE_TIMELINE_H
#define EVT_RUNTIME_OBSERVE_TIMELINE_H

#include "runtime/observe/Recorder.h"

#include <cstdint>
#include <vector>

namespace evt::observe {

// Times are nanoseconds since the timeline's begin.
struct TimelineWait {
  uint64_t begin;
  uint64_t end;
  uint32_t event; // of the element that took longest
  int64_t element;
  uint32_t elements; // waited for in this stretch
};

struct TimelineTask {
  uint32_t call;
  std::vector<int64_t> coord;
  uint64_t begin;
  uint64_t end;
  bool finished;
  std::vector<TimelineWait> waits;
};

struct Timeline {
  uint64_t span = 0;                              // from the first record of any worker to the last
  std::vector<std::vector<TimelineTask>> workers; // each in order of time
  bool truncated = false;                         // a log was too long to keep
};

Timeline timeline(const Recorder &recorder);

} // namespace evt::observe
#endif
