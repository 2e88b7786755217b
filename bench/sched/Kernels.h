// The benchmark's graphs as kernels: bench/sched/programs, compiled when the benchmark starts.
#pragma once

#include "Dag.h"

#include <memory>

namespace evt::bench {

class Kernel {
public:
  /// Compiles the program of a kind into a directory of its own; throws std::runtime_error.
  explicit Kernel(const std::string &kind);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;
  /// Seconds of one launch at the shape of `dag`.
  double run(const Dag &dag, const std::string &schedule, unsigned workers);

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace evt::bench
