// A launch that is watched: what it did, for --check and --trace.
#ifndef EVT_TOOLS_EVT_OBSERVATION_H
#define EVT_TOOLS_EVT_OBSERVATION_H

#include "runtime/artifact/Manifest.h"
#include "runtime/artifact/Shapes.h"
#include "runtime/launch/LaunchOptions.h"
#include "runtime/observe/Description.h"
#include "runtime/observe/HappensBefore.h"
#include "runtime/observe/Recorder.h"
#include "runtime/observe/Timeline.h"

#include <string>

namespace evt::tool {

/// The names and shapes of one launch, for the observers.
observe::ProgramDescription describeProgram(const runtime::Manifest &manifest, const runtime::Shapes &shapes);

/// Judges a recorded run. Counts the manifest gives as a number are checked for elements nobody waited for, too.
observe::CheckReport checkRun(const observe::Recorder &recorder, const runtime::Manifest &manifest,
                              const runtime::Shapes &shapes);

/// Throws Failure (wrong input) unless a trace can have this name: it ends in .html or .json.
void requireTraceName(const std::string &file);

/// Writes a page (.html) or a Chrome trace (.json). Throws Failure (wrong input) if the file cannot be written.
void writeTrace(const std::string &file, const observe::Timeline &timeline, const observe::ProgramDescription &program,
                const std::string &caption);

/// The timeline of a launch whose workers wrote down their times themselves. Tasks of calls the program does not have
/// are left out.
observe::Timeline timelineOf(const runtime::LaunchTrace &trace, const observe::ProgramDescription &program);

/// "n = 37, m = 4"; empty for a program without symbols.
std::string describeSymbols(const runtime::Manifest &manifest, const std::vector<int64_t> &values);

} // namespace evt::tool

#endif
