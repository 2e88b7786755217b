// OpenMP and oneTBB, in a library of their own that is loaded when the benchmark starts: the tool needs neither.
#pragma once

#include "Dag.h"

namespace evt::bench {

struct Peers {
  /// Seconds to run all (empty) tasks of a graph once in dependency order, by `workers` threads. OpenMP creates its
  /// tasks in each run; that is part of what it does.
  double (*runOpenMp)(const Dag &dag, unsigned workers);
  /// A flow graph is built once and run many times; building is not counted.
  void *(*buildTbb)(const Dag &dag, unsigned workers);
  double (*runTbb)(void *graph);
  void (*freeTbb)(void *graph);
};

/// What the library has, under this name.
extern "C" const Peers evt_bench_sched_peers;

} // namespace evt::bench
