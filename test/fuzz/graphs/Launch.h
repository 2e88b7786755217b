// One launch of a compiled subject, compared with what it must give.
#pragma once

#include "Subject.h"

namespace evt::fuzz {

struct LaunchChoice {
  std::string schedule;
  unsigned workers = 1;
  uint64_t perturb = 0;
  bool check = false; // under the happens-before checker
  double watchdogSeconds = 60;
};

struct Outcome {
  bool supported = true; // false: the artifact does not hold this schedule
  std::string refusal;   // a fault, a stall, or what the checker found; empty if none
  std::string wrong;     // the first element that differs; empty if none
};

class LoadedProgram {
public:
  explicit LoadedProgram(const std::string &directory);
  ~LoadedProgram();
  Outcome launch(const std::vector<Argument> &arguments, const std::vector<Argument> &expected,
                 const LaunchChoice &choice);

private:
  struct State;
  std::unique_ptr<State> state;
};

LaunchChoice randomChoice(Random &random);
std::string describe(const LaunchChoice &choice);

} // namespace evt::fuzz
