#include "runtime/cuda/TraceRecords.h"

#include <algorithm>
#include <map>

namespace evt::runtime::cuda {
namespace {

constexpr int64_t mostRecordBytes = int64_t(64) << 20;

// Puts coordinates and waits to the tasks of a trace while the kernel enumerates all tasks.
class Naming {
public:
  explicit Naming(LaunchTrace &trace) {
    for (std::vector<TracedTask> &worker : trace.workers)
      for (TracedTask &task : worker)
        tasks_.emplace(std::pair(task.call, task.task), &task);
  }

  void run(const Kernel &kernel, const evt_launch &launch) {
    evt_hooks hooks{};
    hooks.user = this;
    hooks.task_begin = [](void *user, uint32_t, uint32_t call, int64_t task, const int64_t *coord, uint32_t rank) {
      auto found = self(user).tasks_.find({call, task});
      self(user).task_ = found == self(user).tasks_.end() ? nullptr : found->second;
      if (self(user).task_)
        self(user).task_->coord.assign(coord, coord + rank);
    };
    hooks.wait_begin = [](void *user, uint32_t, uint32_t event, int64_t element, int64_t) {
      TracedTask *task = self(user).task_;
      if (task && task->waits++ == 0) {
        task->event = event;
        task->element = element;
      }
    };
    hooks.task_end = [](void *, uint32_t) {};
    hooks.wait_end = [](void *, uint32_t) {};
    hooks.notify = [](void *, uint32_t, uint32_t, int64_t) {};
    hooks.access = [](void *, uint32_t, uint32_t, uint32_t, const int64_t *, const int64_t *, uint32_t) {};
    kernel.explain(launch, hooks);
  }

private:
  static Naming &self(void *user) { return *static_cast<Naming *>(user); }

  std::map<std::pair<uint32_t, int64_t>, TracedTask *> tasks_;
  TracedTask *task_ = nullptr;
};

} // namespace

uint32_t recordsForEachWorker(int64_t tasks, unsigned workers) {
  int64_t most = mostRecordBytes / static_cast<int64_t>(sizeof(evt_cuda_record)) / static_cast<int64_t>(workers);
  return static_cast<uint32_t>(std::clamp<int64_t>(tasks, 1, std::max<int64_t>(most, 1)));
}

LaunchTrace readRecords(std::span<const evt_cuda_record> records, uint32_t recordsEach, const Kernel &kernel,
                        const evt_launch &launch) {
  LaunchTrace trace;
  trace.workers.resize(launch.workers);
  for (uint32_t w = 0; w < launch.workers; ++w) {
    for (const evt_cuda_record &record : records.subspan(size_t(w) * recordsEach, recordsEach))
      if (record.taken != 0)
        trace.workers[w].push_back(
            {record.call, record.task, {}, record.taken, record.started, record.finished, 0, 0, 0});
    std::stable_sort(trace.workers[w].begin(), trace.workers[w].end(),
                     [](const TracedTask &a, const TracedTask &b) { return a.taken < b.taken; });
    trace.truncated |= launch.status[w].finished > trace.workers[w].size();
  }
  if (kernel.canExplain())
    Naming(trace).run(kernel, launch);
  return trace;
}

} // namespace evt::runtime::cuda
