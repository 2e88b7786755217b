#include "runtime/launch/Watchdog.h"

#include <algorithm>

namespace evt::runtime {

Watchdog::Watchdog(std::span<const evt_status> workers, double seconds, Clock::time_point now)
    : workers_(workers), moved_(now) {
  if (seconds > 0)
    limit_ = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  seen_ = finished();
}

std::optional<Watchdog::Clock::duration> Watchdog::interval() const {
  if (!limit_)
    return std::nullopt;
  Clock::duration longest = std::chrono::milliseconds(250), shortest = std::chrono::milliseconds(1);
  return std::clamp(*limit_ / 8, shortest, longest);
}

bool Watchdog::expired(Clock::time_point now) {
  uint64_t count = finished();
  if (count != seen_) {
    seen_ = count;
    moved_ = now;
  }
  return limit_ && now - moved_ >= *limit_;
}

// Counts only grow, so the sum stands still exactly when each of them does.
uint64_t Watchdog::finished() const {
  uint64_t sum = 0;
  for (const evt_status &worker : workers_)
    sum += __atomic_load_n(&worker.finished, __ATOMIC_RELAXED);
  return sum;
}

} // namespace evt::runtime
