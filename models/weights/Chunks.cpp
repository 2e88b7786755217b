#include "models/weights/Chunks.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace evt::models {

void forEachChunk(uint64_t total, uint64_t chunk, unsigned threads,
                  const std::function<void(uint64_t begin, uint64_t end)> &work) {
  uint64_t chunks = total / chunk + (total % chunk != 0);
  if (!threads)
    threads = std::max(1u, std::thread::hardware_concurrency());
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::exception_ptr first;
  auto take = [&] {
    while (!failed) {
      uint64_t taken = next.fetch_add(1);
      if (taken >= chunks)
        return;
      try {
        work(taken * chunk, std::min(total, (taken + 1) * chunk));
      } catch (...) {
        std::lock_guard lock(mutex);
        if (!first)
          first = std::current_exception();
        failed = true;
      }
    }
  };
  std::vector<std::jthread> others;
  for (uint64_t i = 1; i < std::min<uint64_t>(threads, chunks); ++i)
    others.emplace_back(take);
  take();
  others.clear(); // joins
  if (first)
    std::rethrow_exception(first);
}

} // namespace evt::models
