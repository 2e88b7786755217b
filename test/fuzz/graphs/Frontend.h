// The compiler, as the fuzzer sees it: text in, findings and source out.
#pragma once

#include "compiler/analysis/Findings.h"

#include <memory>
#include <string>

namespace evt::fuzz {

struct Checked {
  bool parsed = false;
  bool accepted = false;   // parsed, events inferred where there were none, no violation
  Findings findings;       // violations and obligations of the proof
  std::string diagnostics; // all of them, one a line
  std::string source;      // of an accepted program
  std::string manifest;    // JSON
  double seconds = 0;      // of processor time
};

class Frontend {
public:
  explicit Frontend(const ProofLimits &limits = {});
  ~Frontend();
  /// parse, infer, prove and, if accepted, emit a kernel whose entry points start with `entry`.
  Checked check(const std::string &text, const std::string &entry);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace evt::fuzz
