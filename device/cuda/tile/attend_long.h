// Long parts of attention that are fed (feed_parts.h): all warps take blocks of a part in turn, and their softmaxes are
// merged at its end.
#pragma once

#include "device/cuda/tile/feed_parts.h"

namespace evt::tile {

/// Compute, all threads: attends to all parts of `cache`, whose keys and values below `settled` are fed. `query`,
/// `scale`, `scratch` and `store` as for BlockAttention::run, but a warp's blocks are of 16 positions: what is done
/// once a block (its place, the largest score, the sums before times what they are kept with) takes longer than its
/// products.
template <std::int64_t R, std::int64_t D, std::int64_t Page, int Positions, class T, class S, class Query, class Store>
__device__ __forceinline__ void attend_long_parts(Ring ring, const Memory<T, 4> &keys, const Memory<T, 4> &values,
                                                  const CacheRow &at, const PartPositions<Page> &cache,
                                                  const S &squares, int settled, Query query, float scale,
                                                  float *scratch, Store store) {
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
