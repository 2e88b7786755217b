// Tile operations that have a name of their own in the IR.
#ifndef EVT_DEVICE_CPU_TILE_NAMED_H
#define EVT_DEVICE_CPU_TILE_NAMED_H

#include "reduce.h"
#include "vector.h"

#include <cstdint>

namespace evt::tile {
namespace detail {

// Floats as integers that compare the way top-k orders them: -0 equals +0, every NaN is below -infinity.
inline std::int32_t topk_key(float x) {
  const std::int32_t bits = __builtin_bit_cast(std::int32_t, x == 0.0f ? 0.0f : x);
  const std::int32_t ordered = bits < 0 ? bits ^ 0x7fffffff : bits;
  return x != x ? INT32_MIN : ordered;
}

struct TopkEntry {
  std::int32_t key, index;
};
inline bool topk_before(TopkEntry a, TopkEntry b) { return a.key > b.key || (a.key == b.key && a.index < b.index); }

// Restores, in heap[0, count), that no entry comes before the one above it, so that heap[0] comes last of all, after
// heap[0] was replaced.
inline void topk_sink(TopkEntry *heap, std::int64_t count) {
  const TopkEntry entry = heap[0];
  std::int64_t at = 0;
  for (;;) {
    std::int64_t child = 2 * at + 1;
    if (child >= count)
      break;
    if (child + 1 < count && topk_before(heap[child], heap[child + 1]))
      ++child;
    if (!topk_before(entry, heap[child]))
      break;
    heap[at] = heap[child];
    at = child;
  }
  heap[at] = entry;
}

} // namespace detail

// The K largest of N, in descending order. Of equal values the one with the lower index comes first; NaNs come after
// everything else, by index.
template <std::int64_t N, std::int64_t K> void topk(const float *x, float *values, std::int32_t *indices) {
  static_assert(0 < K && K <= N && N <= INT32_MAX);
  // A heap of the K best so far with the worst of them on top, which few later values beat.
  detail::TopkEntry heap[K];
  for (std::int64_t i = 0; i < K; ++i) { // every prefix of the row is first sifted up into a heap
    const detail::TopkEntry entry{detail::topk_key(x[i]), static_cast<std::int32_t>(i)};
    std::int64_t at = i;
    for (; at > 0 && detail::topk_before(heap[(at - 1) / 2], entry); at = (at - 1) / 2)
      heap[at] = heap[(at - 1) / 2];
    heap[at] = entry;
  }
  for (std::int64_t i = K; i < N; ++i) {
    const std::int32_t key = detail::topk_key(x[i]);
    if (key <= heap[0].key) // an equal value with a higher index stays out
      continue;
    heap[0] = {key, static_cast<std::int32_t>(i)};
    detail::topk_sink(heap, K);
  }
  for (std::int64_t i = K - 1; i >= 0; --i) {
    indices[i] = heap[0].index;
    values[i] = x[heap[0].index];
    heap[0] = heap[i];
    detail::topk_sink(heap, i);
  }
}

// The same for each of `Rows` rows.
template <std::int64_t Rows, std::int64_t N, std::int64_t K>
void topk(const float *x, float *values, std::int32_t *indices) {
  for (std::int64_t row = 0; row < Rows; ++row)
    topk<N, K>(x + row * N, values + row * K, indices + row * K);
}

// dst[o][r][i] = src[o][0][i] + … + src[o][r][i], added in that order; without the last term when Exclusive, so that
// dst[o][0][i] is 0. dst may be src.
template <std::int64_t Outer, std::int64_t R, std::int64_t Inner, bool Exclusive, typename T>
void prefix_sum(T *dst, const T *src) {
  static_assert(Outer > 0 && R > 0 && Inner > 0);
  T sum[Inner];
  for (std::int64_t o = 0; o < Outer; ++o) {
    for (std::int64_t i = 0; i < Inner; ++i)
      sum[i] = T{};
    for (std::int64_t r = 0; r < R; ++r, dst += Inner, src += Inner)
      for (std::int64_t i = 0; i < Inner; ++i) {
        const T before = sum[i], term = src[i];
        sum[i] = r == 0 ? term : Add::apply(before, term);
        dst[i] = Exclusive ? before : sum[i];
      }
  }
}

// dst (BxA) = transpose of src (AxB).
template <std::int64_t A, std::int64_t B, typename T> void transpose2d(T *dst, const T *src) {
  static_assert(A > 0 && B > 0);
  constexpr std::int64_t W = vec_lanes;
  // Squares of one vector each way: both sides are then read and written by whole cache lines.
  for (std::int64_t a0 = 0; a0 < A; a0 += W)
    for (std::int64_t b0 = 0; b0 < B; b0 += W) {
      const std::int64_t an = A - a0 < W ? A - a0 : W, bn = B - b0 < W ? B - b0 : W;
      if constexpr (__is_same(T, float)) {
        if (an == W && bn == W) {
          Vec square[W];
#pragma GCC unroll 16
          for (std::int64_t i = 0; i < W; ++i)
            square[i] = vec_load(src + (a0 + i) * B + b0);
          vec_transpose(square);
#pragma GCC unroll 16
          for (std::int64_t i = 0; i < W; ++i)
            vec_store(dst + (b0 + i) * A + a0, square[i]);
          continue;
        }
      }
      for (std::int64_t b = b0; b < b0 + bn; ++b)
        for (std::int64_t a = a0; a < a0 + an; ++a)
          dst[b * A + a] = src[a * B + b];
    }
}

// dst[i] = start + i.
template <std::int64_t N, typename T> void iota(T *dst, T start = T{}) {
  static_assert(N > 0);
  for (std::int64_t i = 0; i < N; ++i)
    dst[i] = Add::apply(start, static_cast<T>(i));
}

} // namespace evt::tile
#endif
