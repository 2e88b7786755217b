// Row sums by hand: y[i] = sum of x[i, :], four tasks partial(i, j) for a row and one task total(i) after them.
// The kernel a compiler would emit for this graph under the static schedule, for tests that need no compiler.
#include "runtime/testdata/HandWritten.h"

using handwritten::Worker;

namespace {

enum : uint32_t { partial = 0, total = 1 };     // calls
enum : uint32_t { done = 0 };                   // events
enum : uint32_t { x = 0, y = 1, quarters = 2 }; // memories

template <typename T> T *memory(const evt_launch &launch, uint32_t index) {
  return static_cast<T *>(launch.memories[index]);
}

// Task `flat` of the 5 n tasks: all partial sums, then all totals. False if the launch was aborted.
bool task(const evt_launch &launch, Worker &worker, int64_t flat, int64_t n) {
  const float *in = memory<const float>(launch, x);
  float *p = memory<float>(launch, quarters), *out = memory<float>(launch, y);
  if (flat < 4 * n) {
    int64_t coord[2] = {flat / 4, flat % 4};
    int64_t read[2] = {coord[0], coord[1] * 1024}, readSize[2] = {1, 1024}, one[2] = {1, 1};
    worker.begin(partial, flat, flat, coord, 2);
    worker.access(x, false, read, readSize, 2);
    worker.access(quarters, true, coord, one, 2);
    if (worker.runs()) {
      float sum = 0;
      for (int64_t k = 0; k < 1024; ++k)
        sum += in[coord[0] * 4096 + read[1] + k];
      p[flat] = sum;
    }
    worker.notify(done, coord[0]);
    worker.end();
    return true;
  }
  int64_t i = flat - 4 * n;
  int64_t row[2] = {i, 0}, rowSize[2] = {1, 4}, one = 1;
  worker.begin(total, i, flat, &i, 1);
  if (!worker.wait(done, i, 4))
    return false;
  worker.access(quarters, false, row, rowSize, 2);
  worker.access(y, true, &i, &one, 1);
  if (worker.runs())
    out[i] = ((p[4 * i] + p[4 * i + 1]) + p[4 * i + 2]) + p[4 * i + 3];
  worker.end();
  return true;
}

} // namespace

extern "C" uint32_t evt_kernel_abi() { return EVT_ABI_VERSION; }

extern "C" void evt_kernel_worker(const evt_launch *launch, uint32_t id) {
  int64_t n = launch->symbols[0];
  Worker worker(*launch, id);
  for (int64_t flat = id; flat < 5 * n; flat += launch->workers)
    if (worker.aborted() || !task(*launch, worker, flat, n))
      break;
  int64_t bytes[2] = {4 * n, 4};
  worker.leave(2, bytes);
}

extern "C" void evt_kernel_explain(const evt_launch *launch, const evt_hooks *hooks) {
  int64_t n = launch->symbols[0];
  Worker worker(*launch, 0, hooks);
  for (int64_t flat = 0; flat < 5 * n; ++flat)
    task(*launch, worker, flat, n);
}
