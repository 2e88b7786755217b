#include "runtime/launch/WorkerPool.h"

#include "runtime/Error.h"

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <system_error>

namespace evt::runtime {

struct WorkerPool::State {
  std::mutex mutex;
  std::condition_variable started, ended;
  std::shared_ptr<const std::function<void(unsigned)>> job;
  uint64_t generation = 0; // counts jobs
  unsigned workers = 0;    // of the current job
  unsigned running = 0;
  bool leaving = false;

  void serve(unsigned worker) {
    uint64_t seen = 0;
    std::unique_lock lock(mutex);
    for (;;) {
      started.wait(lock, [&] { return leaving || (generation != seen && worker < workers); });
      if (leaving)
        return;
      seen = generation;
      auto mine = job;
      lock.unlock();
      (*mine)(worker);
      mine.reset();
      lock.lock();
      if (--running == 0)
        ended.notify_all();
    }
  }
};

WorkerPool::WorkerPool() : state_(std::make_shared<State>()) {}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(state_->mutex);
    state_->leaving = true;
  }
  state_->started.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void WorkerPool::start(unsigned workers, std::function<void(unsigned)> job) {
  while (threads_.size() < workers) {
    unsigned worker = static_cast<unsigned>(threads_.size());
    try {
      threads_.emplace_back([state = state_, worker] { state->serve(worker); });
    } catch (const std::system_error &error) {
      throw Error(EVT_ERROR_MEMORY, "cannot start worker " + std::to_string(worker) + " of " + std::to_string(workers) +
                                        ": " + error.what());
    }
  }
  std::lock_guard lock(state_->mutex);
  assert(state_->running == 0 && "a job is still running");
  state_->job = std::make_shared<const std::function<void(unsigned)>>(std::move(job));
  state_->workers = state_->running = workers;
  ++state_->generation;
  state_->started.notify_all();
}

bool WorkerPool::wait(std::optional<std::chrono::nanoseconds> limit) {
  std::unique_lock lock(state_->mutex);
  auto over = [&] { return state_->running == 0; };
  if (limit && !state_->ended.wait_for(lock, *limit, over))
    return false;
  state_->ended.wait(lock, over);
  state_->job.reset();
  return true;
}

void WorkerPool::abandon() {
  for (std::thread &thread : threads_)
    thread.detach();
  threads_.clear();
}

} // namespace evt::runtime
