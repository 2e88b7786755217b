#include "LoadedPeers.h"

#include <dlfcn.h>
#include <stdexcept>
#include <string>

namespace evt::bench {

const Peers &loadedPeers() {
  static const Peers &peers = []() -> const Peers & {
    void *library = dlopen(EVT_BENCH_SCHED_PEERS, RTLD_NOW | RTLD_LOCAL);
    void *found = library ? dlsym(library, "evt_bench_sched_peers") : nullptr;
    if (!found)
      throw std::runtime_error(std::string("OpenMP and oneTBB cannot be loaded: ") + dlerror());
    return *static_cast<const Peers *>(found);
  }();
  return peers;
}

} // namespace evt::bench
