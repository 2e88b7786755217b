// How far something long is that handles bytes: a line that changes for people, now and then a line for logs. On
// stderr.
#ifndef EVT_TOOLS_EVT_PROGRESSLINE_H
#define EVT_TOOLS_EVT_PROGRESSLINE_H

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <unistd.h>

namespace evt::tool {

class ProgressLine {
public:
  void operator()(uint64_t done, uint64_t total) {
    Clock::time_point now = Clock::now();
    bool people = isatty(STDERR_FILENO);
    if (now < next_ && !(shown_ && done == total))
      return;
    next_ = now + (people ? std::chrono::milliseconds(200) : std::chrono::seconds(10));
    shown_ = true;
    double seconds = std::chrono::duration<double>(now - start_).count();
    fmt::print(stderr, "{}  {:3.0f} % of {:.2f} GB, {:.2f} GB/s{}", people ? "\r" : "", 100.0 * done / total,
               total * 1e-9, done * 1e-9 / seconds, people && done < total ? "" : "\n");
    std::fflush(stderr);
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now(),
                    next_ = start_ + std::chrono::seconds(1); // what is done by then needs no line
  bool shown_ = false;
};

} // namespace evt::tool

#endif
