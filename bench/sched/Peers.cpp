#include "PeerRuns.h"

namespace evt::bench {

const Peers evt_bench_sched_peers = {runOpenMp, buildTbb, runTbb, freeTbb};

} // namespace evt::bench
