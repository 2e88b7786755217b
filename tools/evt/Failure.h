// How a command ends when it cannot do what was asked: an exit code of docs/guide/exit-codes.md and a message.
//
// The message starts in lower case, ends without a period and gives what was found and what is required. It is printed
// once, on stderr, by CommandLine.cpp; a Failure without a message has said everything already (diagnostics at source
// lines, a report on stdout).
#ifndef EVT_TOOLS_EVT_FAILURE_H
#define EVT_TOOLS_EVT_FAILURE_H

#include <stdexcept>
#include <string>

namespace evt::tool {

enum class ExitCode : int {
  done = 0,
  checkFailed = 1, // a check failed, or a comparison found a difference
  wrongInput = 2,  // the command line or an input is wrong
  missing = 3,     // something the command needs is missing here
  stopped = 4,     // the run stopped by itself
  defect = 70      // a defect of ours
};

class Failure : public std::runtime_error {
public:
  Failure(ExitCode code, const std::string &message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

private:
  ExitCode code_;
};

} // namespace evt::tool

#endif
