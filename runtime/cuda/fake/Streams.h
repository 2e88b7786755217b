// Streams of the fake driver: a thread each, which does what it is given in order.
#ifndef EVT_RUNTIME_CUDA_FAKE_STREAMS_H
#define EVT_RUNTIME_CUDA_FAKE_STREAMS_H

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace fakecuda {

class FakeStream {
public:
  FakeStream() : thread_([this] { serve(); }) {}
  ~FakeStream() {
    {
      std::lock_guard lock(mutex_);
      leaving_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  void add(std::function<void()> work) {
    {
      std::lock_guard lock(mutex_);
      queue_.push_back(std::move(work));
    }
    changed_.notify_all();
  }
  void synchronize() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return queue_.empty(); });
  }

private:
  void serve() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return leaving_ || !queue_.empty(); });
      if (queue_.empty())
        return;
      std::function<void()> work = queue_.front(); // stays in the queue until it is done
      lock.unlock();
      work();
      lock.lock();
      queue_.pop_front();
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool leaving_ = false;
  std::thread thread_; // last: it uses the others
};

// Records are counted, since what waits for an event waits for the record that was the last one when it was put there.
class FakeEvent {
public:
  // The number of a new record, which is over when `complete` has been called for it.
  uint64_t begin() {
    std::lock_guard lock(mutex_);
    return ++begun_;
  }
  void complete(uint64_t record, uint64_t nanoseconds) {
    {
      std::lock_guard lock(mutex_);
      done_ = record;
      time_ = nanoseconds;
    }
    changed_.notify_all();
  }
  uint64_t last() {
    std::lock_guard lock(mutex_);
    return begun_;
  }
  void wait(uint64_t record) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= record; });
  }
  bool isOver() { // one that was never recorded is
    std::lock_guard lock(mutex_);
    return done_ == begun_;
  }
  uint64_t time() {
    std::lock_guard lock(mutex_);
    return time_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  uint64_t begun_ = 0, done_ = 0, time_ = 0;
};

} // namespace fakecuda

#endif
