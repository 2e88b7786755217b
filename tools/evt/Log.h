// What the tool says about its own work: on stderr, above the level of --log-level. Results go to stdout instead.
//
//   evt: error: argument 'x' has rank 1, required 2 (n x 4096)
#ifndef EVT_TOOLS_EVT_LOG_H
#define EVT_TOOLS_EVT_LOG_H

#include <string>
#include <vector>

namespace evt::tool {

/// The values of --log-level, each including those before it.
const std::vector<std::string> &logLevels();

/// Prepares stderr; `level` is one of logLevels().
void startLog(const std::string &level);

void logError(const std::string &message);
void logWarning(const std::string &message);
void logInfo(const std::string &message);
void logDebug(const std::string &message);

/// One step of a command and how long it took. Shown at level info, and to people: when stderr is a terminal.
void logStep(const std::string &step, double seconds);

} // namespace evt::tool

#endif
