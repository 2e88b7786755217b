// OpenMP `task depend`: every task names the tasks before it by the addresses they write.
#include "PeerRuns.h"

#include <chrono>

namespace evt::bench {

double runOpenMp(const Dag &dag, unsigned workers) {
  static std::vector<char> written;
  written.assign(dag.tasks, 0);
  [[maybe_unused]] char *out = written.data();
  const int32_t *predFirst = dag.predFirst.data();
  [[maybe_unused]] const int32_t *pred = dag.pred.data();
  int32_t tasks = dag.tasks;
  auto start = std::chrono::steady_clock::now();
#pragma omp parallel num_threads(workers)
#pragma omp single
  for (int32_t i = 0; i < tasks; ++i) {
    [[maybe_unused]] int32_t from = predFirst[i], to = predFirst[i + 1];
    if (from == to) {
#pragma omp task depend(out : out[i])
      {}
    } else {
#pragma omp task depend(iterator(k = from : to), in : out[pred[k]]) depend(out : out[i])
      {}
    }
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace evt::bench
