// Attention of up to 8 query rows over positions of a paged cache, on the tensor cores, with keys and values that
// loaders feed to compute through the ring of tiles: the same numbers as those of attend_blocks.h.
//
// What an SM can have on its way into registers is bounded by its cache, of which shared memory leaves next to nothing:
// 1.7 of 4.7 TB/s. Asynchronous copies pass by it. And loaders run ahead: the positions of the next task are on their
// way while this one ends.
//
// A stage holds 64 positions, or twice that of small heads, of which each compute warp has blocks of 8: keys, what the
// roots of their norms are found from and which of them are there, by one loader; values, by the other. Where the
// ring's stages are too small for both, which is where products have few rows, they take one each, one after the other.
// Where pieces of a row lie is chosen such that fragments are read without conflicts:
//
//   keys     piece p of position g at p ^ 4 (g % 2): 8 lanes read 4 pieces each of two positions
//   values   piece p of position g at p ^ 2 (g / 2 % 4): 8 lanes read 2 pieces each of four positions
#pragma once

#include "device/cuda/tile/attend_softmax.h"
#include "device/cuda/tile/positions.h"
#include "device/cuda/tiled.h"

namespace evt::tile {

/// Where things are in a stage.
template <std::int64_t D, class S> struct FedStage {
  static constexpr int together = 8 * compute_warps; // positions: a block of each warp
  static constexpr int blocks = D > 64 ? 1 : 2, positions = blocks * together;
  static constexpr int row_bytes = 2 * (int)D, pieces = row_bytes / 16;
  static constexpr int square_bytes = (4 * parts_of_key<S>() + 15) / 16 * 16;
  static constexpr int squares_at = positions * row_bytes, there_at = squares_at + positions * square_bytes;
  static constexpr int values_at = (there_at + positions / 8 + 1023) / 1024 * 1024; // behind the keys
  static constexpr int bytes = values_at + positions * row_bytes, half_bytes = values_at;
  /// Whether keys and values have a stage each.
  __device__ __forceinline__ static bool is_apart(const TileRing &ring) { return ring.stage_bytes < bytes; }
  __host__ __device__ static constexpr int key_place(int row, int piece) {
    return row * row_bytes + 16 * (piece ^ row % 2 * 4);
  }
  __host__ __device__ static constexpr int value_place(int row, int piece) {
    return row * row_bytes + 16 * (piece ^ row / 2 % 4 * 2);
  }
};

/// Whether attention is fed through a ring of such stages.
template <std::int64_t R, std::int64_t D, class T, class S> constexpr bool is_fed(const TileStages &ring) {
  if constexpr (on_fragments<R, D, T>())
    return ring.slots > 1 && ring.bytes >= FedStage<D, S>::half_bytes && ring.bytes % 128 == 0 &&
           32 % FedStage<D, S>::pieces == 0;
  else
    return false;
}

/// A loader, all lanes of its warp: its part of all stages of an attention. The task's waits are passed when the first
/// pages are known.
template <std::int64_t R, std::int64_t D, std::int64_t Page, TileStages Stages, class Waits, class T, class S>
__device__ __forceinline__ void feed_attention(TileRing &ring, TileLoader part, Waits &waits, const Memory<T, 4> &keys,
                                               const Memory<T, 4> &values, const Memory<std::int32_t, 2> &pages,
                                               const S &squares, const CacheRow &at, std::int64_t from,
                                               std::int64_t to) {
  if constexpr (is_fed<R, D, T, S>(Stages)) {
    using Stage = FedStage<D, S>;
    constexpr int parts = parts_of_key<S>(), halves = Stage::positions / 32;
    const CachePositions<Page> cache(keys, pages, at, from, to);
    constexpr int each = 32 / Stage::pieces; // rows that a warp copies at once
    const int lane = ptx::kept_thread() % 32;
    constexpr std::uint32_t stride = Stage::row_bytes;
    const int row = lane / Stage::pieces, piece = lane % Stage::pieces;
    const int place = part == load_weights ? Stage::key_place(row, piece) : Stage::value_place(row, piece);
    const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];
    const char *rows =
        reinterpret_cast<const char *>((part == load_weights ? keys.data : values.data) + first_row * D) + 16 * piece;
    const bool is_apart = Stage::is_apart(ring);
    const std::uint32_t at_stage = is_apart || part == load_weights ? 0 : Stage::values_at;
    int page[halves];
#pragma unroll
    for (int h = 0; h < halves; ++h)
      page[h] = cache.page_of(cache.begin + 32 * h + lane);
    waits.pass();
#pragma unroll 1
    for (int first = cache.begin; first < cache.end; first += Stage::positions) {
      int slot[halves];
#pragma unroll
      for (int h = 0; h < halves; ++h) {
        slot[h] = cache.slot_of(page[h], first + 32 * h + lane);
        page[h] = cache.page_of(first + Stage::positions + 32 * h + lane); // is there when the next stage is free
      }
      std::uint32_t stage;
      if ((is_apart && part != load_weights && !ring.feed_nothing(lane == 0)) || !ring.begin_feed(stage))
        return;
      stage += at_stage;
      // Row `each` i + lane / pieces lies where the lane's of row lane / pieces does, but for a bit or two.
      const auto to = [&](int i) {
        const std::uint32_t flip = part == load_weights ? each * i % 2 * 4 : each * i / 2 % 4 * 2;
        return ((stage + place) ^ 16 * flip) + each * i * Stage::row_bytes;
      };
      constexpr int copies = Stage::together / each, halves_each = Stage::together / 32;
#pragma unroll
      for (int b = 0; b < Stage::blocks; ++b) {
        const int begin = first + b * Stage::together;
        if (begin % (int)Page + Stage::together <= (int)Page) { // of one page: rows follow each other
          const int s = __shfl_sync(~0u, slot[b * halves_each], 0);
          const int count = s < 0 ? 0 : (int)least(cache.end - begin, cache.slots - s) - row;
          const char *from = rows + (std::int64_t)(s + row) * stride;
#pragma unroll 16
          for (int i = 0; i < copies; ++i, from += each * stride)
            ptx::copy_piece_below(to(b * copies + i), from, each * i, count);
        } else {
#pragma unroll
          for (int h = 0; h < halves_each; ++h)
#pragma unroll 4
            for (int i = 0; i < 32 / each; ++i)
              ptx::copy_piece_of(to(b * copies + h * (32 / each) + i), rows,
                                 __shfl_sync(~0u, slot[b * halves_each + h], each * i + row), stride);
        }
      }
#pragma unroll
      for (int h = 0; h < halves; ++h) {
        if constexpr (parts > 0)
          if (part == load_weights) { // a lane has a position's
            const float *own = squares.parts.data + (first_row + slot[h]) * parts;
            const std::uint32_t to = stage + Stage::squares_at + (32 * h + lane) * Stage::square_bytes;
            const bool is_there = slot[h] >= 0;
            if constexpr (parts % 4 == 0) {
#pragma unroll
              for (int i = 0; i < parts; i += 4)
                ptx::copy_piece(to + 4 * i, own + i, is_there);
            } else {
#pragma unroll
              for (int i = 0; i < parts; ++i)
                ptx::copy_word(to + 4 * i, own + i, is_there);
            }
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
      ring.end_feed(lane == 0);
      if (is_apart && part == load_weights && !ring.feed_nothing(lane == 0))
        return;
    }
  }
}

/// Compute, all threads: positions `from` … `to` - 1. `query`, `scale` and `store` as for BlockAttention::run.
template <std::int64_t R, std::int64_t D, class T, class S, class Query, class Store>
__device__ __forceinline__ void attend_fed(TileRing &of_worker, int thread, int from, int to, Query query, float scale,
                                           const S &squares, float *scratch, Store store) {
  using Softmax = BlockSoftmax<R, D, T>;
  using Stage = FedStage<D, S>;
  constexpr int parts = parts_of_key<S>();
  const int warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  // The lane's first piece of keys, and of values.
  const std::uint32_t own_key = Stage::key_place(8 * warp + g, c);
  const std::uint32_t own_value = Stage::value_place(8 * warp + 2 * c, g);
  TileRing ring = of_worker.at_hand();
  const bool is_apart = Stage::is_apart(ring);
  Softmax softmax;
#pragma unroll 1
  for (int first = from; first < to; first += Stage::positions) {
    const std::uint32_t stage = ring.receive();
    const std::uint32_t values = is_apart ? ring.receive() : stage + Stage::values_at;
#pragma unroll
    for (int b = 0; b < Stage::blocks; ++b) {
      const std::uint32_t block = b * Stage::together * Stage::row_bytes;
      const int eights = b * compute_warps + warp; // of positions, before the warp's
      const std::uint32_t there = ptx::load_shared_byte(stage + Stage::there_at + eights);
      const float2 s = Softmax::scores(
          query, [&](int i) { return ptx::load_shared(stage + block + (own_key ^ 64 * (i % 2)) + 128 * (i / 2)); });
      float root = 1;
      if constexpr (parts > 0)
        root = Softmax::template root<parts>(squares.epsilon, [&](int i) {
          const int at = 4 * i + lane / 8;
          const std::uint32_t from = stage + Stage::squares_at + (8 * eights + lane % 8) * Stage::square_bytes + 4 * at;
          return at < parts ? ptx::load_shared_float(from) : 0.0f;
        });
      float score[2];
      bool live[2];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        live[i] = there >> (2 * c + i) & 1;
        score[i] = (i ? s.y : s.x) * (parts ? scale * __shfl_sync(~0u, root, 2 * c + i) : scale);
      }
      const typename Softmax::Weights weights = softmax.weigh(score, live, c);
#pragma unroll
      for (int j = 0; j < Softmax::value_pieces; ++j)
        softmax.add(weights, j, ptx::load_shared(values + block + own_value + 128 * j),
                    ptx::load_shared(values + block + own_value + Stage::row_bytes + 128 * j));
    }
    ring.release(); // its products were issued, so its loads are over
    if (is_apart)
      ring.release();
  }
  of_worker.go_on_from(ring);
  softmax.merge(thread, scratch, store);
}

} // namespace evt::tile
