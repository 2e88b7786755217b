// How to launch: the options that `run`, `bench` and `demo` have in common, and a launch that keeps what it uses alive.
#ifndef EVT_TOOLS_EVT_LAUNCHSETTINGS_H
#define EVT_TOOLS_EVT_LAUNCHSETTINGS_H

#include "runtime/launch/Program.h"
#include "runtime/observe/Recorder.h"
#include "tools/evt/Arguments.h"

#include <memory>
#include <string>
#include <vector>

namespace evt::tool {

/// What --schedule may be: static, ticket, dynamic, auto.
std::vector<std::string> scheduleNames();
/// Those the artifact holds.
std::vector<std::string> supportedSchedules(const runtime::Manifest &manifest);

/// One worker for each CPU this process may use.
unsigned defaultWorkers();

/// Throws Failure (wrong input) unless it is a number of seconds the watchdog can count, 0 for never.
void requireWatchdog(double seconds);

/// Launches. When the workers had to be stopped, arguments and recorder are never freed: a worker that did not leave
/// may still use them.
runtime::LaunchStats launchKept(runtime::Program &program, const std::shared_ptr<Arguments> &arguments,
                                const std::shared_ptr<observe::Recorder> &recorder, runtime::LaunchOptions options);

/// The middle one of the sorted times, or the mean of the two in the middle.
double median(std::vector<double> times);

} // namespace evt::tool

#endif
