// `evt bench`: times a program over schedules and workers, or runs a registered benchmark (BenchRegistry.h).
#ifndef EVT_TOOLS_EVT_BENCH_H
#define EVT_TOOLS_EVT_BENCH_H

#include "tools/evt/Command.h"

#include <optional>

namespace evt::tool {

void addBench(Commands &commands);

/// Runs the benchmark that `bench NAME …` names, with all that follows as its own arguments; none if NAME is not
/// registered. Looks at the command line before it is parsed, since a benchmark's options are not the tool's.
std::optional<int> runRegisteredBench(int argc, char **argv);

} // namespace evt::tool

#endif
