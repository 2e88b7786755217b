// What a task's waits and notifies do under each schedule. Emitted protocols are templates over one of these.
//
// Included by a target's kernel.h after its Worker, DynamicWorker, Counter, Memory and read_table.
#pragma once

namespace evt {

/// Counts read from memory complete, under the dynamic schedule, when the sum of notifications and (bias - count)
/// reaches the bias: whoever brings it there, a notifier or the worker that made the count known, triggers the
/// element's waiters. An element whose count is 0 is triggered by the latter.
inline constexpr std::uint32_t table_bias = 1u << 30;

/// Waits that block, by the `wait` of `Self`.
template <class Self> struct Blocking {
  static constexpr bool dynamic = false, reports_only = false;
  Worker &w;
  EVT_DEVICE explicit Blocking(Worker &w) : w(w) {}
  /// The event that orders a count in memory.
  EVT_DEVICE bool wait_guard(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    return static_cast<Self *>(this)->wait(event, counters, element, count);
  }
  template <int Rank>
  EVT_DEVICE bool wait_table(std::uint32_t event, const Counter *counters, std::int64_t element,
                             const Memory<std::int32_t, Rank> &m, const std::int64_t (&at)[Rank ? Rank : 1],
                             std::int64_t factor) {
    return static_cast<Self *>(this)->wait(event, counters, element, read_table(w, m, at) * factor);
  }
};

/// Static and ticket schedules.
struct Polling : Blocking<Polling> {
  using Blocking::Blocking;
  EVT_DEVICE bool wait(std::uint32_t event, const Counter *counters, std::int64_t element, std::int64_t count) {
    return w.wait(event, counters, element, (std::uint32_t)most(count, 0));
  }
};

/// Dynamic schedule: a notify that completes an element makes its waiters ready.
struct Triggering {
  static constexpr bool dynamic = true, reports_only = false;
  DynamicWorker &w;
};

/// Counts the elements a task waits for that are not complete from the start.
struct Counting {
  Worker &w;
  std::int64_t elements = 0;
  EVT_DEVICE bool wait(std::uint32_t, const Counter *, std::int64_t, std::int64_t count) {
    elements += count > 0;
    return true;
  }
  /// A count in memory completes its element only after its guard, so the guard is not waited for apart.
  EVT_DEVICE bool wait_guard(std::uint32_t, const Counter *, std::int64_t, std::int64_t) { return true; }
  template <int Rank>
  EVT_DEVICE bool wait_table(std::uint32_t, const Counter *, std::int64_t, const Memory<std::int32_t, Rank> &,
                             const std::int64_t (&)[Rank ? Rank : 1], std::int64_t) {
    ++elements;
    return true;
  }
};

/// Groups of a ragged grid, decoded from an `indptr` table: `offsets[e]` is the first row tile of group e.
template <int Groups> struct Ragged {
  std::int64_t offsets[Groups + 1];
  EVT_DEVICE Ragged(Worker &, const Memory<std::int32_t, 1> &indptr, std::int64_t by) {
    offsets[0] = 0;
    for (int e = 0; e < Groups; ++e) {
      std::int64_t rows = (std::int64_t)indptr.data[e + 1] - indptr.data[e];
      offsets[e + 1] = offsets[e] + (rows > 0 ? ceildiv(rows, by) : 0);
    }
  }
  EVT_DEVICE std::int64_t tiles() const { return offsets[Groups]; }
  /// The group of a row tile.
  EVT_DEVICE std::int64_t group(std::int64_t tile) const {
    int lo = 0, hi = Groups;
    while (hi - lo > 1) {
      int mid = (lo + hi) / 2;
      (offsets[mid] <= tile ? lo : hi) = mid;
    }
    return lo;
  }
};

} // namespace evt
