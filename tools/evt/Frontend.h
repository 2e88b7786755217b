// The compiler as the commands see it: files in, answers in plain C++ out. This header knows nothing of MLIR, so that
// only Frontend.cpp pays for including it; in a build without the compiler FrontendAbsent.cpp stands in its place, and
// each function throws Failure (missing).
//
// Diagnostics are printed on stderr as they come, at their source lines. Where a function throws Failure for a program
// that is wrong, the message only sums up what the diagnostics said.
#ifndef EVT_TOOLS_EVT_FRONTEND_H
#define EVT_TOOLS_EVT_FRONTEND_H

#include "tools/evt/CompileOptions.h"

#include <string>
#include <vector>

namespace evt::tool {

/// The MLIR this tool holds, as in "MLIR 19.1.7"; empty without the compiler.
std::string frontendVersion();

struct DiagnosticRecord {
  std::string severity; // error, warning, remark, note
  std::string location; // file:line:column, empty if there is none
  std::string message;
  std::vector<DiagnosticRecord> notes;
};

struct ObligationRecord {
  std::string name;
  std::string text;
  std::string location;
};

struct CheckRequest {
  bool infer = false; // drop the declared events and derive them anew
  bool quiet = false; // print no diagnostics: they are in the answer
};

struct CheckAnswer {
  bool proved = false; // nothing was refuted; obligations may be left
  std::string graph;
  size_t calls = 0, events = 0;
  size_t violations = 0;
  std::vector<ObligationRecord> obligations;
  std::vector<DiagnosticRecord> diagnostics; // errors
  std::string inferred;                      // CheckRequest::infer: the module with the derived events
  double seconds = 0;                        // without parsing
};

/// Proves a program. Throws Failure (wrong input) if there is no program to prove: the file cannot be read, does not
/// parse, or has no such graph.
CheckAnswer checkProgram(const std::string &file, const CompileOptions &options, const CheckRequest &request);

/// Compiles a program into the artifact directory, which is replaced if it holds an artifact. Steps are logged. Throws
/// Failure: check failed, wrong input, missing, or a defect. Returns the obligations left.
std::vector<ObligationRecord> compileProgram(const std::string &file, const CompileOptions &options,
                                             const std::string &directory);

/// Compiles a CUDA source to a cubin with the nvcc that compileProgram would use. Throws Failure: missing without one,
/// wrong input if it refuses.
void compileCudaFile(const std::string &source, const CompileOptions &options, const std::string &architecture,
                     const std::string &cubin);

/// The stages showProgram knows.
const std::vector<std::string> &showStages();

/// The program at one of showStages(), as text.
std::string showProgram(const std::string &file, const CompileOptions &options, const std::string &stage);

/// Where the project's examples lie; empty if they are not there.
std::string findExamples();

} // namespace evt::tool

#endif
