// Decides when a launch stands still: no worker's `finished` count has moved for the limit.
//
// It is asked from time to time by the thread that launched; it has no thread of its own. A single task that takes
// longer than the limit looks the same as a stuck one, so the limit must exceed the longest task.
#ifndef EVT_RUNTIME_LAUNCH_WATCHDOG_H
#define EVT_RUNTIME_LAUNCH_WATCHDOG_H

#include "device/common/abi.h"

#include <chrono>
#include <optional>
#include <span>

namespace evt::runtime {

class Watchdog {
public:
  using Clock = std::chrono::steady_clock;

  // Watches `workers`, which must outlive it. 0 seconds: never expires.
  Watchdog(std::span<const evt_status> workers, double seconds, Clock::time_point now);

  // How long to wait before asking again; nothing if it never expires.
  std::optional<Clock::duration> interval() const;

  // Whether nothing has finished for the limit, as of now.
  bool expired(Clock::time_point now);

private:
  uint64_t finished() const;

  std::span<const evt_status> workers_;
  std::optional<Clock::duration> limit_;
  uint64_t seen_ = 0;
  Clock::time_point moved_;
};

} // namespace evt::runtime

#endif
