#include "tools/evt/Frontend.h"

#include "tools/evt/Failure.h"

namespace evt::tool {
namespace {

[[noreturn]] void refuse() {
  throw Failure(ExitCode::missing, "this evt was built without the compiler: it runs artifacts only "
                                   "(configure with -DEVT_BUILD_COMPILER=ON)");
}

} // namespace

std::string frontendVersion() { return ""; }

CheckAnswer checkProgram(const std::string &, const CompileOptions &, const CheckRequest &) { refuse(); }

std::vector<ObligationRecord> compileProgram(const std::string &, const CompileOptions &, const std::string &) {
  refuse();
}

void compileCudaFile(const std::string &, const CompileOptions &, const std::string &, const std::string &) {
  refuse();
}

const std::vector<std::string> &showStages() {
  static const std::vector<std::string> none;
  return none;
}

std::string showProgram(const std::string &, const CompileOptions &, const std::string &) { refuse(); }

std::string findExamples() { return ""; }

} // namespace evt::tool
