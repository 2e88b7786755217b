// Trace: a run to look at.
//
//   writeChromeTrace   JSON for Perfetto or chrome://tracing: one track per worker, a slice per task with its
//                      coordinates as arguments, inside it a slice per wait, named after the event element
//   writeTracePage     one HTML file that needs nothing else: the same on a canvas, with totals per device function and
//                      per worker, zoom (wheel), pan (drag) and a tooltip on every task, wait and gap
//
// A Recorder without accesses and notifies (RecorderOptions) disturbs the run least; any is accepted.
#ifndef EVT_RUNTIME_OBSERVE_TRACE_H
#define EVT_RUNTIME_OBSERVE_TRACE_H

#include "runtime/observe/Description.h"
#include "runtime/observe/Recorder.h"
#include "runtime/observe/Timeline.h"

#include <ostream>

namespace evt::observe {

void writeChromeTrace(std::ostream &out, const Timeline &run, const ProgramDescription &program);

// `caption` is shown beside the program's name: the shape, the schedule.
void writeTracePage(std::ostream &out, const Timeline &run, const ProgramDescription &program,
                    const std::string &caption = "");

inline void writeChromeTrace(std::ostream &out, const Recorder &recorder, const ProgramDescription &program) {
  writeChromeTrace(out, timeline(recorder), program);
}
inline void writeTracePage(std::ostream &out, const Recorder &recorder, const ProgramDescription &program,
                           const std::string &caption = "") {
  writeTracePage(out, timeline(recorder), program, caption);
}

} // namespace evt::observe
#endif
