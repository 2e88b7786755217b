// A program with its arguments where it runs, launched again and again and timed.
//
// On the CPU a launch's time is wall-clock time from the start of the workers until the last one left. On a GPU it is
// the time between two events around the kernel, with the arguments in the GPU's memory. *Cold*: before each launch the
// caches are filled with something else, so that a program is not measured reading its own leftovers.
#ifndef EVT_TOOLS_EVT_MEASUREMENT_H
#define EVT_TOOLS_EVT_MEASUREMENT_H

#include "runtime/launch/Program.h"
#include "runtime/observe/Timeline.h"
#include "tools/evt/Arguments.h"

#include <memory>
#include <string>

namespace evt::tool {

class Measurement {
public:
  virtual ~Measurement() = default;

  struct Launch {
    double seconds;
    unsigned workers;
    std::string schedule; // the one that ran
  };
  /// Puts back what the graph writes, launches and waits.
  virtual Launch launch(const std::string &schedule, unsigned workers) = 0;
  /// Brings what the last launch wrote into the arguments.
  virtual void fetch() = 0;
  /// One more launch, watched: what each worker did when.
  virtual observe::Timeline trace(const std::string &schedule, unsigned workers) = 0;
};

/// Warm, through the runtime's own copies where the program runs on a GPU. Both must outlive it.
std::unique_ptr<Measurement> measureWarm(runtime::Program &program, const std::shared_ptr<Arguments> &arguments);
/// Cold; on a GPU with the arguments in its memory. Throws runtime::Error as the driver fails.
std::unique_ptr<Measurement> measureCold(runtime::Program &program, const std::shared_ptr<Arguments> &arguments);

} // namespace evt::tool

#endif
