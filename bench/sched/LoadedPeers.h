// The peers as the benchmark uses them.
#pragma once

#include "Peers.h"

namespace evt::bench {

/// Loads the library when it is first asked for; throws std::runtime_error if it, or what it needs, is not there.
const Peers &loadedPeers();

class TbbGraph {
public:
  TbbGraph(const Dag &dag, unsigned workers) : graph(loadedPeers().buildTbb(dag, workers)) {}
  ~TbbGraph() { loadedPeers().freeTbb(graph); }
  TbbGraph(const TbbGraph &) = delete;
  TbbGraph &operator=(const TbbGraph &) = delete;
  double run() { return loadedPeers().runTbb(graph); }

private:
  void *graph;
};

} // namespace evt::bench
