#include "tools/evt/LaunchSettings.h"

#include "runtime/Error.h"
#include "tools/evt/Failure.h"
#include "tools/evt/Words.h"

#include <algorithm>
#include <sched.h>
#include <thread>

namespace evt::tool {

std::vector<std::string> scheduleNames() {
  std::vector<std::string> names{runtime::scheduleNames.begin(), runtime::scheduleNames.end()};
  names.emplace_back("auto");
  return names;
}

std::vector<std::string> supportedSchedules(const runtime::Manifest &manifest) {
  std::vector<std::string> names;
  for (size_t s = 0; s < manifest.schedules.size(); ++s)
    if (manifest.schedules[s].supported)
      names.emplace_back(runtime::scheduleNames[s]);
  return names;
}

unsigned defaultWorkers() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
    return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

void requireWatchdog(double seconds) {
  if (!(seconds >= 0 && seconds <= 31536000))
    throw Failure(ExitCode::wrongInput,
                  "--watchdog is " + shortNumber(seconds) + ", required 0 (never) to 31536000 seconds");
}

runtime::LaunchStats launchKept(runtime::Program &program, const std::shared_ptr<Arguments> &arguments,
                                const std::shared_ptr<observe::Recorder> &recorder, runtime::LaunchOptions options) {
  if (recorder)
    options.hooks = recorder->hooks();
  try {
    return program.launch(arguments->values(), options);
  } catch (const runtime::Error &error) {
    if (error.code() == EVT_ERROR_STUCK) {
      new std::shared_ptr<Arguments>(arguments);
      new std::shared_ptr<observe::Recorder>(recorder);
    }
    throw;
  }
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  return times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
}

} // namespace evt::tool
