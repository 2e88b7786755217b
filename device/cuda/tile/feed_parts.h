// Keys and values of attention in parts (evt.attend_parts), fed to compute through the ring of weights: what both ways
// of attending to them have in common, short parts (attend_short.h) and long ones (attend_long.h).
//
// What an SM can have on its way into registers is bounded by its cache, of which shared memory leaves next to nothing.
// So keys and values go the way of weights: loaders fetch them, ahead of the task, between the weights of the product
// before and those of the one behind. A stage of keys is followed by one of the same positions' values. Positions that
// the step itself writes are fetched, too, but not used: compute reads those after the task's waits.
#pragma once

#include "device/cuda/stream.h"
#include "device/cuda/tile/attend_softmax.h"
#include "device/cuda/tile/positions.h"

namespace evt::tile {

/// A warp takes 16 positions at a time, all of them a round.
inline constexpr int streamed_block = 16, streamed_round = streamed_block * compute_warps;
constexpr int stages_of_round(int positions) { return 2 * (streamed_round / positions); }

/// Positions of a stage: as many as all warps have blocks of 8 for, or half of that, and so on, so that they fit; 0 if
/// they do not, or a round has more stages than the ring.
template <std::int64_t R, std::int64_t D, class T> constexpr int streamed_positions(const StreamStages &ring) {
  if (!on_fragments<R, D, T>())
    return 0;
  int positions = 8 * compute_warps;
  while (positions >= 16 && positions * (int)(D * sizeof(T)) > ring.bytes)
    positions /= 2;
  return positions >= 16 && stages_of_round(positions) <= ring.slots ? positions : 0;
}

/// A part is short if no warp has more than a block of 8 of it. Its bits are the same whether it is fed or not, so that
/// can hang on the launch: a warp has such a part to itself (attend_short.h), which takes longer than all of them have
/// for one, and is faster as soon as this many of them have one. Nothing is given back before the first of them is
/// done, so the ring must have room for a part of each warp.
inline constexpr int short_part = 8 * compute_warps, fewest_to_feed = 4;
template <std::int64_t R, std::int64_t D, class T> constexpr bool feeds_short_parts(const StreamStages &ring) {
  const int positions = streamed_positions<R, D, T>(ring);
  return positions > 0 && compute_warps * 2 * (short_part / positions) <= ring.slots;
}
/// Long parts are fed, unless their request is no longer than this: it has few positions, and they are on their way
/// before the waits. Their bits hang on who reads them, so that must hang on the request alone.
inline constexpr int least_to_feed = 2048;

/// Whether a task may be fed, before any table is read. Of the keys, their type is all that is asked.
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T>
__device__ __forceinline__ bool may_feed(const Memory<T, 4> &, const Memory<std::int32_t, 2> &pages,
                                         const Memory<float, 5> &m) {
  const bool has_many = feeds_short_parts<R, D, T>(Stages) && m.dims[3] >= fewest_to_feed;
  return has_many || pages.dims[1] * Page > least_to_feed;
}

/// Control: what of a task is fed, with parts that `m` has room for.
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T>
__device__ __forceinline__ Feed part_feed(const Memory<T, 4> &keys, const CacheRow &at, std::int64_t from,
                                          std::int64_t to, std::int64_t part, const Memory<float, 5> &m) {
  constexpr int positions = streamed_positions<R, D, T>(Stages);
  Feed feed;
  const std::int64_t end = least(to, from + part * m.dims[3]);
  const bool exists = at.layer >= 0 && at.layer < keys.dims[0] && at.head >= 0 && at.head < keys.dims[1];
  if (positions == 0 || !exists || from < 0 || part <= 0 || end <= from)
    return feed;
  bool feeds = to > least_to_feed;
  if constexpr (feeds_short_parts<R, D, T>(Stages))
    feeds = part > short_part ? feeds : end - from > (fewest_to_feed - 1) * part;
  if (!feeds)
    return feed;
  const int whole = (int)((end - from) / part), rest = (int)((end - from) % part);
  constexpr int each = positions > 0 ? positions : 1;
  feed.stages = 2 * (whole * (int)ceildiv(part, each) + (int)ceildiv(rest, each));
  feed.layer = (int)at.layer;
  feed.head = (int)at.head;
  feed.request = (int)at.request;
  feed.begin = (int)from;
  feed.end = (int)end;
  feed.part = (int)part;
  return feed;
}

/// A loader that feeds: its ring, and the number of stages until the next of its own.
struct StageFeeder {
  Ring &ring;
  int &turn;
};

/// A loader, one thread: its stages of an attention. A head's positions of a page lie one behind the other, so a stage
/// is a copy, or a few where it has several pages.
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T>
__device__ __forceinline__ void feed_parts(StageFeeder &feeder, const Feed &feed, const Memory<T, 4> &keys,
                                           const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages) {
  constexpr int positions = streamed_positions<R, D, T>(Stages);
  if constexpr (positions > 0) {
    constexpr std::uint32_t row_bytes = D * sizeof(T);
    const int stages = feed.stages, part = feed.part, groups = (part + positions - 1) / positions; // of a part
    const CacheRow at{feed.layer, feed.request, feed.head};
    const CachePositions<Page> cache(keys, pages, at, feed.begin, feed.end);
    const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
    struct Span {
      int first, limit, page; // positions, and the page of the first
    };
    const auto span_of = [&](int stage) -> Span {
      if (stage >= stages)
        return {0, 0, -1};
      const int group = stage / 2, own = group / groups,
                first = feed.begin + own * part + (group - own * groups) * positions;
      const int limit = (int)least(first + positions, least(feed.begin + (own + 1) * part, feed.end));
      return {first, limit, cache.page_of(first, limit)};
    };
    // Calls `use(position, slot, count)` for the positions of each page.
    const auto each_page = [&](const Span &span, auto use) {
      int page = span.page;
      for (int from = span.first; from < span.limit;) {
        const int stop = (int)least((from / (int)Page + 1) * Page, span.limit), slot = cache.slot_of(page, from);
        use(from, slot, slot < 0 ? 0 : (int)least(stop - from, cache.slots - slot));
        page = cache.page_of(stop, span.limit);
        from = stop;
      }
    };
    Span next = span_of(feeder.turn);
#pragma unroll 1
    for (; feeder.turn < stages; feeder.turn += loaders) {
      const Span span = next;
      std::uint32_t bytes = 0;
      each_page(span, [&](int, int, int count) { bytes += count * row_bytes; });
      next = span_of(feeder.turn + loaders); // its page is there when its stage is free
      const T *rows = (feeder.turn % 2 ? values.data : keys.data) + first_row * D;
      const int place =
          feeder.ring.begin_send<loaders>([=](ptx::Barrier arrived) { ptx::barrier_expect(arrived, bytes); });
      const std::uint32_t stage = feeder.ring.address + (std::uint32_t)(place * feeder.ring.stage_bytes);
      each_page(span, [&](int from, int slot, int count) {
        if (count > 0)
          ptx::bulk_load_once(stage + (from - span.first) * row_bytes, rows + (std::int64_t)slot * D, count * row_bytes,
                              feeder.ring.full[place]);
      });
    }
    feeder.turn -= stages;
  }
}

} // namespace evt::tile
