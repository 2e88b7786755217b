// Keys and values of attention in parts (evt.attend_parts), fed to compute through the ring of weights.
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

/// Positions of a stage: as many as all warps have blocks of 8 for, or half of that, and so on, so that they fit; 0 if
/// they do not.
template <std::int64_t R, std::int64_t D, class T> constexpr int streamed_positions(const StreamStages &ring) {
  if (!on_fragments<R, D, T>() || ring.slots < 2)
    return 0;
  int positions = 8 * compute_warps;
  while (positions >= 16 && positions * (int)(D * sizeof(T)) > ring.bytes)
    positions /= 2;
  return positions >= 16 ? positions : 0;
}

/// A request that is no longer reads keys and values by itself: it has few, and they are on their way before the waits.
/// The bits of a part hang on who reads it, so that must hang on the request alone.
inline constexpr int least_to_feed = 2048;

/// Whether a task may be fed, before any table is read.
template <std::int64_t Page> __device__ __forceinline__ bool may_feed(const Memory<std::int32_t, 2> &pages) {
  return pages.dims[1] * Page > least_to_feed;
}

/// Control: what of a task is fed, with parts that `m` has room for.
template <std::int64_t R, std::int64_t D, std::int64_t Page, StreamStages Stages, class T>
__device__ __forceinline__ Feed part_feed(const Memory<T, 4> &keys, const CacheRow &at, std::int64_t from,
                                          std::int64_t to, std::int64_t part, const Memory<float, 5> &m) {
  constexpr int positions = streamed_positions<R, D, T>(Stages);
  Feed feed;
  const std::int64_t end = least(to, from + part * m.dims[3]);
  const bool exists = at.layer >= 0 && at.layer < keys.dims[0] && at.head >= 0 && at.head < keys.dims[1];
  if (positions == 0 || !exists || from < 0 || part <= 0 || to <= least_to_feed || end <= from)
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

/// Compute, all threads: attends to all parts of `cache`, whose keys and values below `settled` are fed. `query`,
/// `scale`, `scratch` and `store` as for BlockAttention::run, but a warp's blocks are of 16 positions: what is done
/// once a block (its place, the largest score, the sums before times what they are kept with) takes longer than its
/// products.
template <std::int64_t R, std::int64_t D, std::int64_t Page, int Positions, class T, class S, class Query, class Store>
__device__ __forceinline__ void attend_streamed(Ring ring, const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                                const CacheRow &at, const PartPositions<Page> &cache, const S &squares,
                                                int settled, Query query, float scale, float *scratch, Store store) {
  using Softmax = BlockSoftmax<R, D, T>;
  constexpr int block = 16, round = block * compute_warps, parts = parts_of_key<S>();
  constexpr std::uint32_t row_bytes = D * sizeof(T);
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
  // The warp's next block, and the one behind it: the slot of position lane % 16. Its page is asked for one block
  // earlier.
  struct Place {
    int part, first, slot;
  } now, after;
  const auto find = [&](int part, int first) -> Place {
    const int position = first + lane % block, limit = part < cache.count ? cache.limit_of(part) : 0;
    return {part, first, cache.slot_of(cache.page_of(position, limit), position)};
  };
  const auto first_of = [&](int part) { return find(part, cache.first_of(part) + block * warp); };
  const auto behind = [&](const Place &place) {
    const int first = place.first + round;
    return first < cache.limit_of(place.part) ? find(place.part, first) : first_of(place.part + 1);
  };
  // The root of the norm of the key of position lane % 16, where it was stored without.
  const auto find_root = [&] {
    if constexpr (parts > 0)
      if (now.slot >= 0 && now.first + lane % block >= squares.from) {
        const float *own = squares.parts.data + (first_row + now.slot) * parts;
        return root_of_sums<(int)D, parts>(squares.epsilon, [&](int i) { return own[i]; });
      }
    return 1.0f;
  };
  // The block's rows in a stage as they should be: those that the step itself writes from memory, keys with their
  // roots, and zeros where there is no position, since 0 times what is no number is none.
  const auto mend = [&](const T *from, std::uint32_t rows, float root) {
    constexpr int pieces = row_bytes / 16; // of a row
#pragma unroll 2
    for (int i = lane; i < block * pieces; i += 32) {
      const int slot = __shfl_sync(~0u, now.slot, i / pieces);
      const bool is_new = now.first + i / pieces >= settled;
      [[maybe_unused]] const float own = parts > 0 ? __shfl_sync(~0u, root, i / pieces) : 1.0f;
      uint4 piece{0, 0, 0, 0};
      if (slot >= 0 && is_new)
        piece = *reinterpret_cast<const uint4 *>(from + (first_row + slot) * D + 8 * (i % pieces));
      if constexpr (parts > 0)
        piece = rooted<T>(piece, own);
      if (slot < 0 || is_new)
        ptx::store_shared(rows + 16 * i, piece);
    }
  };
  now = first_of(0);
  after = behind(now);
#pragma unroll 1
  for (int part = 0; cache.has(part); ++part) {
    Softmax softmax;
    const int limit = cache.limit_of(part);
#pragma unroll 1
    for (int first = cache.first_of(part); first < limit; first += Positions) {
      // Every warp sees every stage; whether its block is in it, all lanes know.
      const std::uint32_t key_stage = ring.receive_address(), value_stage = ring.receive_address();
      const bool is_own = now.part == part && now.first < first + Positions && now.first < limit;
      const std::uint32_t own = (std::uint32_t)(now.first - first) * row_bytes;
      if (is_own) {
        if (now.first + block > settled || __any_sync(~0u, now.slot < 0)) {
#pragma unroll 1
          for (int i = 0; i < 2; ++i)
            mend(i ? values.data : keys.data, (i ? value_stage : key_stage) + own, i ? 1.0f : find_root());
          ptx::shared_copy_fence(); // the stages are filled by copies again
          __syncwarp();
        }
        float score[4];
        bool live[4];
        const std::uint32_t key = key_stage + own + g * row_bytes + 16 * c;
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          const float2 s =
              Softmax::scores(query, [&](int i) { return ptx::load_shared(key + 8 * b * row_bytes + 64 * i); });
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const int position = 8 * b + 2 * c + i;
            live[2 * b + i] = __shfl_sync(~0u, now.slot, position) >= 0;
            score[2 * b + i] = (i ? s.y : s.x) * scale;
          }
        }
        const auto weights = softmax.weigh(score, live, c);
        const std::uint32_t value = value_stage + own + 2 * c * row_bytes + 16 * g;
#pragma unroll
        for (int j = 0; j < Softmax::value_pieces; ++j) {
          uint4 v[4];
#pragma unroll
          for (int i = 0; i < 4; ++i)
            v[i] = ptx::load_shared(value + (8 * (i / 2) + i % 2) * row_bytes + 128 * j);
          softmax.add(weights, j, v);
        }
      }
      ring.release(); // their products were issued, so their loads are over
      ring.release();
      if (is_own) {
        now = after;
        after = behind(now);
      }
    }
    if (now.part == part) { // it has no block in this part
      now = first_of(part + 1);
      after = behind(now);
    }
    if (part)
      Worker::sync(); // the part before has been read
    softmax.merge(thread, scratch, [&](int row, int column, float largest, float total, float2 value) {
      store(part, row, column, largest, total, value);
    });
  }
}

} // namespace evt::tile
