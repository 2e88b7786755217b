// Threads that stay between launches. One launch runs one job on workers 0 … n-1 at once, each on a thread of its own,
// while the thread that launched watches.
#ifndef EVT_RUNTIME_LAUNCH_WORKERPOOL_H
#define EVT_RUNTIME_LAUNCH_WORKERPOOL_H

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace evt::runtime {

class WorkerPool {
public:
  WorkerPool();
  ~WorkerPool(); // waits for its threads, unless they were abandoned
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  // Starts job(0) … job(workers - 1). The previous job must be over. Throws Error (memory) if the system gives no
  // more threads. What the job refers to should be owned by it: see abandon.
  void start(unsigned workers, std::function<void(unsigned)> job);

  // Waits until every worker has returned, at most this long (nothing: for ever). True if they have.
  bool wait(std::optional<std::chrono::nanoseconds> limit);

  // Gives up on workers that do not return: they keep running, with their own share of the job and of the pool's
  // state, until they return or the process ends. The pool cannot be used afterwards.
  void abandon();

private:
  struct State;
  std::shared_ptr<State> state_;
  std::vector<std::thread> threads_;
};

} // namespace evt::runtime

#endif
