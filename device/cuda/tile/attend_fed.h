// Attention of up to 8 query rows over positions of a paged cache, on the tensor cores, with keys and values that
// loaders feed to compute through the ring of tiles: the same numbers as those of attend_blocks.h.
//
// What an SM can have on its way into registers is bounded by its cache, of which shared memory leaves next to nothing:
// 1.7 of 4.7 TB/s. Asynchronous copies pass by it. And loaders run ahead: the positions of the next task are on their
// way while this one ends.
//
// A stage holds 64 positions of a head, or twice that of small heads: keys, and which of them are there, by one loader;
// values, by the other. Where the ring's stages are too small for both, which is where products have few rows, they
// take one each, one after the other.
//
// All warps have blocks of 8 positions of every stage. Two heads have a group of warps each, and stages in turn: a warp
// has 16 positions of every other stage. So the start and the end of a task are shared, and what is done once for a
// block (the largest score, the sums before times what they are kept with), which takes longer than its products.
//
// Rows lie as they do in the cache, where those of a page are one piece of memory: 64 positions of a page are one bulk
// copy, and a loader is done with them at once. Fragments are then read with conflicts, two lanes or four at a time,
// which costs nothing: it is memory that all wait for. Lanes copy pieces of 16 bytes where positions end, with zeros
// where there is none, and where pages are small.
#pragma once

#include "device/cuda/tile/attend_softmax.h"
#include "device/cuda/tile/positions.h"
#include "device/cuda/tile_ring.h"

namespace evt::tile {

/// Where things are in a stage.
template <std::int64_t D> struct FedStage {
  static constexpr int together = 8 * compute_warps; // positions: a block of each warp of a group
  static constexpr int blocks = D > 64 ? 1 : 2, positions = blocks * together;
  static constexpr int row_bytes = 2 * (int)D, pieces = row_bytes / 16;
  static constexpr int there_at = positions * row_bytes;
  static constexpr int values_at = (there_at + positions / 8 + 1023) / 1024 * 1024; // behind the keys
  static constexpr int bytes = values_at + positions * row_bytes, half_bytes = values_at;
  /// Whether keys and values have a stage each.
  __device__ __forceinline__ static bool is_apart(const TileRing &ring) { return ring.stage_bytes < bytes; }
};

/// Whether attention is fed through a ring of such stages.
template <std::int64_t R, std::int64_t D, std::int64_t Heads, class T> constexpr bool is_fed(const TileStages &ring) {
  if constexpr (on_fragments<R, D, T>() && Heads <= 2)
    return ring.slots > 1 && ring.bytes >= FedStage<D>::half_bytes && ring.bytes % 128 == 0 &&
           32 % FedStage<D>::pieces == 0;
  else
    return false;
}

/// A loader, all lanes of its warp: its part of all stages of an attention. The task's waits are passed before the
/// first positions that are not settled, when their pages are known.
template <std::int64_t R, std::int64_t D, std::int64_t Page, std::int64_t Heads, TileStages Stages, class Waits,
          class T>
__device__ __forceinline__ void feed_attention(TileRing &ring, TileLoader part, Waits &waits, const Memory<T, 4> &keys,
                                               const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages,
                                               const CacheRow &at, std::int64_t from, std::int64_t to,
                                               std::int64_t settled) {
  if constexpr (is_fed<R, D, Heads, T>(Stages)) {
    using Stage = FedStage<D>;
    constexpr int halves = Stage::positions / 32;
    const CachePositions<Page> cache(keys, pages, at, from, to);
    constexpr int each = 32 / Stage::pieces; // rows that a warp copies at once
    const int lane = ptx::kept_thread() % 32;
    constexpr std::uint32_t stride = Stage::row_bytes;
    const int row = lane / Stage::pieces, piece = lane % Stage::pieces;
    const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
    const char *const first_rows =
        reinterpret_cast<const char *>((part == load_weights ? keys.data : values.data) + first_row * D);
    const bool is_apart = Stage::is_apart(ring);
    const std::uint32_t place = row * stride + 16 * piece;
    const std::uint32_t at_stage = is_apart || part == load_weights ? 0 : Stage::values_at;
    int page[halves];
#pragma unroll
    for (int h = 0; h < halves; ++h)
      page[h] = cache.page_of(cache.begin + 32 * h + lane);
    waits.begin();
#pragma unroll 1
    for (int first = cache.begin; first < cache.end; first += Stage::positions) {
      if (first + Stage::positions > settled)
        waits.pass();
      int slot[halves];
#pragma unroll
      for (int h = 0; h < halves; ++h) {
        slot[h] = cache.slot_of(page[h], first + 32 * h + lane);
        page[h] = cache.page_of(first + Stage::positions + 32 * h + lane); // is there when the next stage is free
      }
#pragma unroll 1
      for (int head = 0; head < (int)Heads; ++head) {
        if (at.head + head >= keys.dims[1])
#pragma unroll
          for (int h = 0; h < halves; ++h)
            slot[h] = -1;
        std::uint32_t stage;
        if ((is_apart && part != load_weights && !ring.feed_nothing(lane == 0)) || !ring.begin_feed(stage))
          return;
        stage += at_stage;
        const char *const rows = first_rows + head * keys.dims[2] * (std::int64_t)stride;
        constexpr int copies = Stage::together / each, halves_each = Stage::together / 32;
        std::uint32_t bulk = 0; // bytes that the copy engine fetches
#pragma unroll
        for (int b = 0; b < Stage::blocks; ++b) {
          const int begin = first + b * Stage::together;
          const std::uint32_t block = stage + b * Stage::together * stride;
          const auto to = [&](int first) { return block + place + first * stride; }; // the piece of row first + `row`
          const bool is_piece = begin % (int)Page + Stage::together <= (int)Page;    // rows follow each other
          const int s = __shfl_sync(~0u, slot[b * halves_each], 0);
          const int count = s < 0 ? 0 : (int)least(cache.end - begin, cache.slots - s);
          if (is_piece && count >= Stage::together) {
            bulk += Stage::together * stride;
            if (lane == 0) {
              ring.begin_bulk();
              ptx::bulk_load_once(block, rows + (std::int64_t)s * stride, Stage::together * stride, ring.arrived());
            }
          } else if (is_piece) {
            const char *from = rows + (std::int64_t)(s + row) * stride + 16 * piece;
#pragma unroll 16
            for (int i = 0; i < copies; ++i, from += each * stride)
              ptx::copy_piece_below(to(each * i), from, each * i, count - row);
          } else {
#pragma unroll
            for (int h = 0; h < halves_each; ++h)
#pragma unroll 4
              for (int i = 0; i < 32 / each; ++i)
                ptx::copy_piece_of(to(32 * h + each * i), rows + 16 * piece,
                                   __shfl_sync(~0u, slot[b * halves_each + h], each * i + row), stride);
          }
        }
        if (part == load_weights) {
#pragma unroll
          for (int h = 0; h < halves; ++h) {
            const std::uint32_t there = __ballot_sync(~0u, slot[h] >= 0);
            if (lane == 0)
              ptx::store_shared(stage + Stage::there_at + 4 * h, there);
          }
          __syncwarp();
        }
        if (bulk < Stage::positions * stride)
          ring.has_pieces = true;
        ring.end_feed(lane == 0, bulk);
        if (is_apart && part == load_weights && !ring.feed_nothing(lane == 0))
          return;
      }
    }
  }
}

/// Compute, all threads: positions `from` … `to` - 1. `query` and `scale` as for BlockAttention::run, those of the
/// thread's head; `store` likewise, with the rows of all heads.
template <std::int64_t R, std::int64_t D, std::int64_t Heads, class T, class Query, class Store>
__device__ __forceinline__ void attend_fed(TileRing &of_worker, int thread, int from, int to, Query query, float scale,
                                           float *scratch, Store store) {
  using Softmax = BlockSoftmax<R, D, T>;
  using Stage = FedStage<D>;
  constexpr int warps = compute_warps / (int)Heads, block = 8 * (int)Heads;
  const int warp = thread / 32 % warps, head = thread / 32 / warps;
  const int lane = thread % 32, g = lane / 4, c = lane % 4;
  // The lane's first piece of keys, and of values.
  const std::uint32_t own_key = (block * warp + g) * Stage::row_bytes + 16 * c;
  const std::uint32_t own_value = (block * warp + 2 * c) * Stage::row_bytes + 16 * g;
  TileRing ring = of_worker.at_hand();
  const bool is_apart = Stage::is_apart(ring);
  Softmax softmax;
  const int stages = (int)Heads * ((to - from + Stage::positions - 1) / Stage::positions);
#pragma unroll 1
  for (int i = 0; i < stages; ++i) {
    const std::uint32_t stage = ring.receive();
    const std::uint32_t values = is_apart ? ring.receive() : stage + Stage::values_at;
    if (i % (int)Heads == head) {
#pragma unroll
      for (int b = 0; b < Stage::blocks; ++b) {
        const int first = b * Stage::together + block * warp; // of the warp's positions
        const std::uint32_t keys = stage + own_key + b * Stage::together * Stage::row_bytes;
        const std::uint32_t value = values + own_value + b * Stage::together * Stage::row_bytes;
        const std::uint32_t there = ptx::load_shared_word(stage + Stage::there_at + first / 32 * 4) >> (first % 32);
        float score[block / 4];
        bool live[block / 4];
#pragma unroll
        for (int half = 0; half < (int)Heads; ++half) {
          const float2 s = Softmax::scores(
              query, [&](int p) { return ptx::load_shared(keys + 8 * half * Stage::row_bytes + 64 * p); });
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const int position = 8 * half + 2 * c + e;
            live[2 * half + e] = there >> position & 1;
            score[2 * half + e] = (e ? s.y : s.x) * scale;
          }
        }
        const auto weights = softmax.weigh(score, live, c);
#pragma unroll
        for (int j = 0; j < Softmax::value_pieces; ++j) {
          uint4 v[block / 4];
#pragma unroll
          for (int e = 0; e < block / 4; ++e)
            v[e] = ptx::load_shared(value + (8 * (e / 2) + e % 2) * Stage::row_bytes + 128 * j);
          if constexpr (Heads == 1)
            softmax.add(weights, j, v[0], v[1]);
          else
            softmax.add(weights, j, v);
        }
      }
    }
    ring.release(); // its products were issued, so its loads are over
    if (is_apart)
      ring.release();
  }
  of_worker.go_on_from(ring);
  softmax.template merge<warps>(thread, scratch, store);
}

} // namespace evt::tile
