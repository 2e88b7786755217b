// The CPU's protocols: those of every target, and one that only reports.
#pragma once

#include "device/cpu/dynamic.h"
#include "device/cpu/memory.h"

#include "device/common/protocol.h"

namespace evt {

/// Tells the observer what a task waits for and notifies, without doing either.
struct Reporting {
  static constexpr bool dynamic = false, reports_only = true;
  Worker &w;
  bool wait(std::uint32_t event, const Counter *, std::int64_t element, std::int64_t count) {
    w.hooks->wait_begin(w.hooks->user, w.id, event, element, count);
    w.hooks->wait_end(w.hooks->user, w.id);
    return true;
  }
  bool wait_guard(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    return wait(event, counters, element, count);
  }
  template <int Rank>
  bool wait_table(std::uint32_t event, const Counter *counters, std::int64_t element,
                  const Memory<std::int32_t, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1], std::int64_t factor) {
    return wait(event, counters, element, read_table(w, m, at) * factor);
  }
};

} // namespace evt
