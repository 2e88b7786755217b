// The K largest of a row, in descending order: equal values by index, NaNs after everything else.
#pragma once

#include "device/cuda/worker.h"

namespace evt::tile {

namespace detail {
/// Floats as integers that compare the way top-k orders them: -0 equals +0, every NaN is below -infinity.
__device__ inline std::int32_t topk_key(float x) {
  const std::int32_t bits = __float_as_int(x == 0.0f ? 0.0f : x);
  return x != x ? INT32_MIN : bits < 0 ? bits ^ 0x7fffffff : bits;
}
} // namespace detail

/// Rows are dealt to warps. Each of K rounds finds the best entry that comes after the last one found.
template <std::int64_t Rows, std::int64_t N, std::int64_t K>
__device__ inline void topk(const float *x, float *values, std::int32_t *indices) {
  for (int row = Worker::lane() / 32; row < Rows; row += compute_warps) {
    const float *in = x + row * N;
    const int lane = Worker::lane() % 32;
    std::int64_t last = INT64_MAX; // order of the entry found before: larger comes first
    for (int k = 0; k < K; ++k) {
      std::int64_t best = INT64_MIN;
      for (int i = lane; i < N; i += 32) {
        // The key above, the negated index below: a lower index is larger.
        const std::int64_t order = ((std::int64_t)detail::topk_key(in[i]) << 32) + (INT32_MAX - i);
        if (order < last && order > best)
          best = order;
      }
#pragma unroll
      for (int half = 16; half; half /= 2) {
        const std::int64_t other = __shfl_xor_sync(~0u, best, half);
        best = other > best ? other : best;
      }
      last = best;
      if (lane == 0) {
        const std::int32_t index = INT32_MAX - (std::int32_t)(best & 0xffffffff);
        indices[row * K + k] = index;
        values[row * K + k] = in[index];
      }
    }
  }
}

} // namespace evt::tile
