// `auto`: which schedule to take for a launch, from what the compiler counted.
//
// All schedules do the same work; what differs is what each adds to it. A *phase* of a call is one of its iterations:
// its tasks wait for those of another call, so everybody waits for the slowest worker, and then all start again.
//
//   static    a share of the time of each phase that has enough tasks to be divided otherwise, since workers are not
//             equally fast from moment to moment. Where arithmetic sets the pace, also of the first phase, whose
//             slowest worker the launch waits for. Memory divides itself: who is late has it alone, so that share is
//             small, and none where nobody waits in between. Of a ragged call, half the time: the tasks that the bound
//             has too many are all on the last workers
//   ticket    a fixed time for each phase behind another, to take the first number and to find the last one gone
//   dynamic   a fixed time for each phase behind another, to make its tasks ready, and one for each task, to hand it
//             out; neither skew nor excess tasks
//
// A phase's time is that of its bytes or its operations at the rates of the workers, whichever is longer. The least sum
// wins, and static where nothing differs. docs/design/schedules.md has the measurements behind the numbers.
#ifndef EVT_RUNTIME_LAUNCH_SCHEDULECHOICE_H
#define EVT_RUNTIME_LAUNCH_SCHEDULECHOICE_H

#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"

#include <array>
#include <span>
#include <string>
#include <vector>

namespace evt::runtime {

// What the choice looks at of a call, for the shapes of one launch.
struct CallWork {
  int64_t tasks = 0; // of all phases
  int64_t phases = 1;
  int64_t waits = 0; // of a task
  double bytes = 0;  // of all phases
  double ops = 0;
  bool ragged = false;
};

// What a worker can do and what handing out costs, in seconds and per second.
struct WorkerRates {
  double bytesPerSecond, opsPerSecond; // of one worker
  double byteSkew, opSkew;             // of the time of a phase that bytes or operations limit
  double ticketPhase, dynamicPhase, dynamicTask;
};
extern const WorkerRates cpuRates, gpuRates;

struct ScheduleChoice {
  evt_schedule schedule = EVT_STATIC;
  std::string why; // "ticket: …", for people
};

// What a schedule adds to the work, in seconds, by evt_schedule.
std::array<double, 3> overheadsOf(std::span<const CallWork> calls, unsigned workers, const WorkerRates &rates);

// Of the supported ones; at least one is.
ScheduleChoice chooseSchedule(std::span<const CallWork> calls, unsigned workers, const WorkerRates &rates,
                              const std::array<ScheduleSupport, 3> &support);

// The same for a launch. Without costs in the manifest it is the first that is supported.
ScheduleChoice chooseSchedule(const Manifest &manifest, std::span<const int64_t> symbols, const Shapes &shapes,
                              unsigned workers);

} // namespace evt::runtime

#endif
