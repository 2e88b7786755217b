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

/// A warp takes 16 positions at a time, all of them a round.
inline constexpr int streamed_block = 16, streamed_round = streamed_block * compute_warps;
constexpr int stages_of_round(int positions) { return 2 * (streamed_round / positions); }

/// Positions of a stage: as many as all warps have blocks of 8 for, or half of that, and so on, so that they fit; 0 if
/// they do not.
template <std::int64_t R, std::int64_t D, class T> constexpr int streamed_positions(const StreamStages &ring) {
  if (!on_fragments<R, D, T>() || ring.slots < 2)
    return 0;
  int positions = 8 * compute_warps;
  while (positions >= 16 && positions * (int)(D * sizeof(T)) > ring.bytes)
    positions /= 2;
  return positions >= 16 && stages_of_round(positions) <= ring.slots ? positions : 0;
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
  constexpr int block = streamed_block, round = streamed_round, parts = parts_of_key<S>();
  constexpr std::uint32_t row_bytes = D * sizeof(T);
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
  // A round: its part and first position. The slot of the warp's position lane % 16, now and of the round behind, whose
  // page is asked for a round earlier.
  struct Round {
    int part, first;
  };
  const auto behind = [&](const Round &of) -> Round {
    const int first = of.first + round;
    return first < cache.limit_of(of.part) ? Round{of.part, first} : Round{of.part + 1, cache.first_of(of.part + 1)};
  };
  const auto slot_of = [&](const Round &of) {
    const int position = of.first + block * warp + lane % block,
              limit = of.part < cache.count ? cache.limit_of(of.part) : 0;
    return cache.slot_of(cache.page_of(position, limit), position);
  };
  Round now{0, cache.first_of(0)}, after = behind(now);
  int slot = slot_of(now), next_slot = slot_of(after);
  // The root of the norm of the key of position lane % 16, where it was stored without.
  const auto find_root = [&](int own) {
    if constexpr (parts > 0)
      if (slot >= 0 && own + lane % block >= squares.from) {
        const float *sums = squares.parts.data + (first_row + slot) * parts;
        return root_of_sums<(int)D, parts>(squares.epsilon, [&](int i) { return sums[i]; });
      }
    return 1.0f;
  };
  // The block's rows in a stage as they should be: those that the step itself writes from memory, keys with their
  // roots, and zeros where there is no position, since 0 times what is no number is none.
  const auto mend = [&](const T *from, int own, std::uint32_t rows, float root) {
    constexpr int pieces = row_bytes / 16; // of a row
#pragma unroll 2
    for (int i = lane; i < block * pieces; i += 32) {
      const int place = __shfl_sync(~0u, slot, i / pieces);
      const bool is_new = own + i / pieces >= settled;
      [[maybe_unused]] const float its = parts > 0 ? __shfl_sync(~0u, root, i / pieces) : 1.0f;
      uint4 piece{0, 0, 0, 0};
      if (place >= 0 && is_new)
        piece = *reinterpret_cast<const uint4 *>(from + (first_row + place) * D + 8 * (i % pieces));
      if constexpr (parts > 0)
        piece = rooted<T>(piece, its);
      if (place < 0 || is_new)
        ptx::store_shared(rows + 16 * i, piece);
    }
  };
#pragma unroll 1
  for (int part = 0; cache.has(part); ++part) {
    Softmax softmax;
    const int limit = cache.limit_of(part);
#pragma unroll 1
    for (; now.part == part; now = after, after = behind(now), slot = next_slot, next_slot = slot_of(after)) {
      const int stages = 2 * (int)ceildiv(least(limit - now.first, round), Positions), own = now.first + block * warp;
      ring.await(stages);
      if (own < limit) { // all lanes know
        const int pair = 2 * (block * warp / Positions);
        const std::uint32_t offset = (std::uint32_t)(block * warp % Positions) * row_bytes;
        const std::uint32_t key_rows = ring.address_of(pair) + offset, value_rows = ring.address_of(pair + 1) + offset;
        if (own + block > settled || __any_sync(~0u, slot < 0)) {
#pragma unroll 1
          for (int i = 0; i < 2; ++i)
            mend(i ? values.data : keys.data, own, i ? value_rows : key_rows, i ? 1.0f : find_root(own));
          ptx::shared_copy_fence(); // the stages are filled by copies again
          __syncwarp();
        }
        // What a lane reads is on its way before any of it is used.
        uint4 key[2][Softmax::key_pieces], value[4];
        const std::uint32_t its_key = key_rows + g * row_bytes + 16 * c,
                            its_value = value_rows + 2 * c * row_bytes + 16 * g;
#pragma unroll
        for (int i = 0; i < Softmax::key_pieces; ++i)
#pragma unroll
          for (int b = 0; b < 2; ++b)
            key[b][i] = ptx::load_shared(its_key + 8 * b * row_bytes + 64 * i);
        const auto load_values = [&](int j) {
#pragma unroll
          for (int i = 0; i < 4; ++i)
            value[i] = ptx::load_shared(its_value + (8 * (i / 2) + i % 2) * row_bytes + 128 * j);
        };
        float score[4];
        Softmax::scores(score, query, key);
        load_values(0);
        bool live[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          live[i] = __shfl_sync(~0u, slot, 8 * (i / 2) + 2 * c + i % 2) >= 0;
          score[i] *= scale;
        }
        const auto weights = softmax.weigh(score, live, c);
#pragma unroll
        for (int j = 0; j < Softmax::value_pieces; ++j) {
          if (j)
            load_values(j);
          softmax.add(weights, j, value);
        }
      }
      ring.release(stages); // their products were issued, so their loads are over
    }
    if (part)
      Worker::sync(); // the part before has been read
    softmax.merge(thread, scratch, [&](int row, int column, float largest, float total, float2 value) {
      store(part, row, column, largest, total, value);
    });
  }
}

} // namespace evt::tile
