// Short parts of attention that are fed (feed_parts.h): each is a warp's alone, so that parts need not be merged among
// warps, nor the warps meet.
//
// Without, all warps have a block of 8 positions of a part each, and merge what they have (attend_blocks.h). The bits
// are the same: a warp here finds each block's largest score and sums by themselves, then what blocks weigh, and adds
// them up in the same order.
#pragma once

#include "device/cuda/tile/feed_parts.h"

namespace evt::tile {

namespace detail {

/// The root of the norm of a key in a slot, where it was stored without; `first_row` is the row of slot 0.
template <std::int64_t D, class S>
__device__ __forceinline__ float root_of_key(const S &squares, std::int64_t first_row, int position, int slot) {
  if constexpr (parts_of_key<S>() > 0)
    if (slot >= 0 && position >= squares.from) {
      const float *sums = squares.parts.data + (first_row + slot) * parts_of_key<S>();
      return root_of_sums<(int)D, parts_of_key<S>()>(squares.epsilon, [&](int i) { return sums[i]; });
    }
  return 1.0f;
}

/// Compute, a warp: the rows of a block in a stage as they should be, where positions `own` and on are, of which lane %
/// 16 has the slot. Those that the step itself writes come from memory, keys with their roots, and where there is no
/// position come zeros, since 0 times what is no number is none. (attend_long.h has the same in a loop of its own: as a
/// function of both, it changes what the assembler makes of all of that kernel.)
template <std::int64_t D, class S, class T>
__device__ __forceinline__ void mend_rows(const T *from, std::int64_t first_row, int own, int slot, int settled,
                                          int lane, std::uint32_t rows, float root) {
  constexpr int block = streamed_block, pieces = D * sizeof(T) / 16; // of a row
#pragma unroll 2
  for (int i = lane; i < block * pieces; i += 32) {
    const int place = __shfl_sync(~0u, slot, i / pieces);
    const bool is_new = own + i / pieces >= settled;
    [[maybe_unused]] const float its = parts_of_key<S>() > 0 ? __shfl_sync(~0u, root, i / pieces) : 1.0f;
    uint4 piece{0, 0, 0, 0};
    if (place >= 0 && is_new)
      piece = *reinterpret_cast<const uint4 *>(from + (first_row + place) * D + 8 * (i % pieces));
    if constexpr (parts_of_key<S>() > 0)
      piece = rooted<T>(piece, its);
    if (place < 0 || is_new)
      ptx::store_shared(rows + 16 * i, piece);
  }
}

} // namespace detail

/// Compute, a warp: the scores of a short part and what they say of its blocks of 8 positions.
template <std::int64_t R, std::int64_t D, class T> struct ShortPart {
  using Softmax = BlockSoftmax<R, D, T>;
  static constexpr int blocks = short_part / 8;

  float weight[blocks];       // of row g: of a block's sums
  std::uint32_t both[blocks]; // what a lane's two positions of a block weigh there
  float largest, total;       // of row g

  /// Blocks 2 i and 2 i + 1.
  __device__ __forceinline__ void set(int i, const float (&score)[4], const bool (&live)[4]) {
#pragma unroll
    for (int b = 0; b < 2; ++b) {
      Softmax softmax;
      const float its[2] = {score[2 * b], score[2 * b + 1]};
      const bool lives[2] = {live[2 * b], live[2 * b + 1]};
      both[2 * i + b] = softmax.weigh_first(its, lives);
      weight[2 * i + b] = softmax.m;
      sums[2 * i + b] = softmax.sum_of_lanes();
    }
  }
  __device__ __forceinline__ void set_none(int i) {
#pragma unroll
    for (int b = 2 * i; b < 2 * i + 2; ++b) {
      both[b] = 0;
      weight[b] = Softmax{}.m;
      sums[b] = 0;
    }
  }
  /// All blocks are set. The order is that of BlockSoftmax::merge.
  __device__ __forceinline__ void weigh() {
    largest = weight[0];
#pragma unroll
    for (int b = 1; b < blocks; ++b)
      largest = fmaxf(largest, weight[b]);
#pragma unroll
    for (int b = 0; b < blocks; ++b) {
      weight[b] = evt::exp_near(weight[b] - largest);
      sums[b] *= weight[b];
    }
#pragma unroll
    for (int other = 1; other < blocks; other *= 2)
#pragma unroll
      for (int b = 0; b < blocks; b += 2 * other)
        sums[b] += sums[b + other];
    total = sums[0];
  }

private:
  float sums[blocks];
};

/// Compute, all threads: attends to the short parts of `cache`, which are the next `stages` of the ring. `query` and
/// `scale` as for BlockAttention::run. For each part, `store(part, row, column, values)` is called for every 4 columns
/// of a row, `store_sums(part, row, largest, total)` for every row, by one thread, once.
template <std::int64_t R, std::int64_t D, std::int64_t Page, int Positions, class T, class S, class Query, class Store,
          class StoreSums>
__device__ __forceinline__ void attend_short_parts(Ring ring, int stages, const Memory<T, 4> &keys,
                                                   const Memory<T, 4> &values, const CacheRow &at,
                                                   const PartPositions<Page> &cache, const S &squares, int settled,
                                                   Query query, float scale, Store store, StoreSums store_sums) {
  using Softmax = BlockSoftmax<R, D, T>;
  constexpr int rows = Softmax::rows, block = streamed_block;
  constexpr int blocks = short_part / block, passed_at_once = stages_of_round(Positions);
  constexpr std::uint32_t row_bytes = D * sizeof(T);
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32, g = lane / 4, c = lane % 4;
  const std::int64_t first_row = (at.layer * keys.dims[1] + at.head) * keys.dims[2];

  int behind = 0; // stages
  const auto pass_until = [&](int stage) {
#pragma unroll 1
    while (behind < stage) {
      const int count = least(passed_at_once, stage - behind);
      ring.await(count);
      ring.release(count);
      behind += count;
    }
  };
  const int count = least(cache.count, (int)ceildiv(cache.end - cache.begin, cache.size));
#pragma unroll 1
  for (int part = warp; part < count; part += compute_warps) {
    const int first = cache.first_of(part), limit = cache.limit_of(part);
    int slot[short_part / 32]; // of positions lane, lane + 32, …
    std::uint32_t live[short_part / 32];
#pragma unroll
    for (int i = 0; i < short_part / 32; ++i) {
      const int position = first + 32 * i + lane;
      slot[i] = cache.slot_of(cache.page_of(position, limit), position);
      live[i] = __ballot_sync(~0u, slot[i] >= 0);
    }
    pass_until(2 * part * (int)ceildiv(cache.size, Positions));
    const int own_stages = 2 * (int)ceildiv(limit - first, Positions);
    ring.await(own_stages);
    const auto rows_of = [&](int i, int which) { // a block's; of keys, or of values
      return ring.address_of(2 * (block * i / Positions) + which) + (std::uint32_t)(block * i % Positions) * row_bytes;
    };
    ShortPart<R, D, T> weights;
#pragma unroll
    for (int i = 0; i < blocks; ++i) {
      if (first + block * i >= limit) { // all lanes know
        weights.set_none(i);
        continue;
      }
      const int own = first + block * i,
                its_slot = __shfl_sync(~0u, slot[block * i / 32], block * i % 32 + lane % block);
      if (own + block > settled || __any_sync(~0u, its_slot < 0)) {
#pragma unroll 1
        for (int k = 0; k < 2; ++k)
          detail::mend_rows<D, S>(k ? values.data : keys.data, first_row, own, its_slot, settled, lane, rows_of(i, k),
                                  k ? 1.0f : detail::root_of_key<D>(squares, first_row, own + lane % block, its_slot));
        ptx::shared_copy_fence(); // the stages are filled by copies again
        __syncwarp();
      }
      uint4 key[2][Softmax::key_pieces];
      const std::uint32_t its_key = rows_of(i, 0) + g * row_bytes + 16 * c;
#pragma unroll
      for (int p = 0; p < Softmax::key_pieces; ++p)
#pragma unroll
        for (int b = 0; b < 2; ++b)
          key[b][p] = ptx::load_shared(its_key + 8 * b * row_bytes + 64 * p);
      float score[4];
      Softmax::scores(score, query, key);
      bool lives[4];
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        const int position = block * i + 8 * (p / 2) + p % 2;
        lives[p] = live[position / 32] >> (position % 32 + 2 * c) & 1;
        score[p] *= scale;
      }
      weights.set(i, score, lives);
    }
    weights.weigh();
    if (g < rows && c == 0)
      store_sums(part, g, weights.largest, weights.total);
#pragma unroll 1
    for (int j = 0; j < Softmax::value_pieces; ++j) {
      float sums[4][4] = {}; // as BlockSoftmax::acc
#pragma unroll
      for (int i = 0; i < blocks; ++i) {
        if (first + block * i >= limit)
          continue;
        const std::uint32_t its_value = rows_of(i, 1) + 2 * c * row_bytes + 16 * g + 128 * j;
        uint4 value[4];
#pragma unroll
        for (int p = 0; p < 4; ++p)
          value[p] = ptx::load_shared(its_value + (8 * (p / 2) + p % 2) * row_bytes);
#pragma unroll
        for (int b = 0; b < 2; ++b) {
          const float its[2] = {__shfl_sync(~0u, weights.weight[2 * i + b], 8 * c),
                                __shfl_sync(~0u, weights.weight[2 * i + b], 8 * c + 4)};
#pragma unroll
          for (int u = 0; u < 4; ++u) {
            float own[4] = {};
            Softmax::add_products(own, weights.both[2 * i + b], u, value[2 * b], value[2 * b + 1]);
#pragma unroll
            for (int k = 0; k < 4; ++k)
              sums[u][k] = __fmaf_rn(own[k], its[k % 2], sums[u][k]);
          }
        }
      }
#pragma unroll
      for (int r = 0; r < 2; ++r)
        if (2 * c + r < rows)
#pragma unroll
          for (int u = 0; u < 4; u += 2)
            store(part, 2 * c + r, 64 * j + 8 * g + 2 * u,
                  float4{sums[u][r], sums[u][r + 2], sums[u + 1][r], sums[u + 1][r + 2]});
    }
    ring.release(own_stages); // their products were issued, so their loads are over
    behind += own_stages;
  }
  pass_until(stages);
}

} // namespace evt::tile
