// Three stages over n items: first(i) -> ready[i] -> second(i) -> set[i] -> third(i). A notification lost in the first
// stage leaves two elements incomplete, of which only the first is to blame.
#include "runtime/testdata/HandWritten.h"

using handwritten::Worker;

namespace {

bool task(Worker &worker, int64_t flat, int64_t n) {
  uint32_t stage = static_cast<uint32_t>(flat / n);
  int64_t i = flat % n;
  worker.begin(stage, i, flat, &i, 1);
  if (stage > 0 && !worker.wait(stage - 1, i, 1))
    return false;
  if (stage < 2)
    worker.notify(stage, i);
  worker.end();
  return true;
}

} // namespace

extern "C" uint32_t evt_kernel_abi() { return EVT_ABI_VERSION; }

extern "C" void evt_kernel_worker(const evt_launch *launch, uint32_t id) {
  int64_t n = launch->symbols[0];
  Worker worker(*launch, id);
  for (int64_t flat = id; flat < 3 * n; flat += launch->workers)
    if (worker.aborted() || !task(worker, flat, n))
      break;
  int64_t bytes[3] = {4 * n, 4 * n, 4};
  worker.leave(3, bytes);
}

extern "C" void evt_kernel_explain(const evt_launch *launch, const evt_hooks *hooks) {
  int64_t n = launch->symbols[0];
  Worker worker(*launch, 0, hooks);
  for (int64_t flat = 0; flat < 3 * n; ++flat)
    task(worker, flat, n);
}
