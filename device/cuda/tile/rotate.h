// A head of consecutive tokens on its way from a product to where attention finds it (evt.rotate_head), by all compute
// threads: a warp has a token at a time, a lane pairs of neighbouring columns of both halves. What a warp's tokens need
// is on its way before the first of them is computed.
#pragma once

#include "device/common/attention.h"
#include "device/cuda/memory.h"

namespace evt::tile {

namespace detail {
template <class T> struct alignas(2 * sizeof(T)) Two { T first, second; };
} // namespace detail

/// `slots`, `cosines` and `sines`, `weights` and `squares` may be Nothing.
template <std::int64_t Tokens, std::int64_t Columns, class T, int Rank, class Slots, class Turn, class Weights,
          class Squares>
__device__ inline void rotate_head(Worker &, const Memory<float, 2> &x, const Memory<T, Rank> &out, const Slots &slots,
                                   const Turn &cosines, const Turn &sines, const Weights &weights,
                                   const Squares &squares, float epsilon, std::int64_t token, std::int64_t column,
                                   std::int64_t layer, std::int64_t head) {
  constexpr int half = (int)Columns / 2, parts = half / 8, pairs = half / 2, rounds = (pairs + 31) / 32;
  constexpr int rows = ((int)Tokens + compute_warps - 1) / compute_warps; // of a warp
  constexpr bool turns = !__is_same(Turn, Nothing), norms = !__is_same(Weights, Nothing),
                 says = !__is_same(Squares, Nothing);
  static_assert(Tokens <= 32);
  const int thread = Worker::kept_lane(), warp = thread / 32, lane = thread % 32,
            count = (int)least(Tokens, x.dims[0] - token);
  std::int64_t place[rows]; // of the head's first column; -1: nowhere
  std::int64_t square_place[rows];
  int slot = -1; // of token `lane`
  if constexpr (Rank == 4) {
    if (lane < count && token + lane < slots.dims[0])
      slot = slots.data[token + lane];
    slot = slot < out.dims[2] ? slot : -1;
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    const int t = warp + r * compute_warps;
    place[r] = square_place[r] = -1;
    if constexpr (Rank == 4) {
      const int mine = __shfl_sync(~0u, slot, t % 32);
      const unsigned later = __ballot_sync(~0u, slot == mine && lane > t);
      if (t < count && mine >= 0 && !later) {
        const std::int64_t row = (layer * out.dims[1] + head) * out.dims[2] + mine;
        place[r] = row * Columns;
        square_place[r] = row * parts;
      }
    } else if (t < count) {
      place[r] = (token + t) * out.dims[1] + head * Columns;
      if constexpr (says)
        square_place[r] = (token + t) * squares.dims[1] + head * parts;
    }
  }
  // [i]: of pair 32 i + lane.
  float2 low[rounds][rows], high[rounds][rows], c[rounds][rows], s[rounds][rows], low_factor[rounds],
      high_factor[rounds];
#pragma unroll
  for (int i = 0; i < rounds; ++i) {
    const int pair = 32 * i + lane;
    low_factor[i] = high_factor[i] = {1, 1};
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      low[i][r] = high[i][r] = c[i][r] = s[i][r] = {0, 0};
      if (pair >= pairs || place[r] < 0)
        continue;
      const std::int64_t t = token + warp + r * compute_warps;
      const float *from = x.data + t * x.dims[1] + column + 2 * pair;
      low[i][r] = *reinterpret_cast<const float2 *>(from);
      high[i][r] = *reinterpret_cast<const float2 *>(from + half);
      if constexpr (turns) {
        c[i][r] = *reinterpret_cast<const float2 *>(cosines.data + t * half + 2 * pair);
        s[i][r] = *reinterpret_cast<const float2 *>(sines.data + t * half + 2 * pair);
      }
    }
    if constexpr (norms) {
      if (pair < pairs) {
        const float *factors = weights.data + layer * Columns + 2 * pair;
        low_factor[i] = {factors[0], factors[1]};
        high_factor[i] = {factors[half], factors[half + 1]};
      }
    }
  }
#pragma unroll
  for (int r = 0; r < rows; ++r) {
    float root = 1;
    if constexpr (norms) {
      float sum = 0;
#pragma unroll
      for (int i = 0; i < rounds; ++i) {
        const float2 a = low[i][r], b = high[i][r];
        sum += (a.x * a.x + b.x * b.x) + (a.y * a.y + b.y * b.y);
      }
#pragma unroll
      for (int other = 1; other < 32; other *= 2)
        sum += __shfl_xor_sync(~0u, sum, other);
      root = evt::rsqrt_near(sum / (float)Columns + epsilon);
    }
    if (place[r] < 0)
      continue;
    if constexpr (says)
      for (int i = lane; i < parts; i += 32)
        squares.data[square_place[r] + i] = rooted_square(epsilon);
#pragma unroll
    for (int i = 0; i < rounds; ++i) {
      const int pair = 32 * i + lane;
      float2 a = low[i][r], b = high[i][r];
      if constexpr (norms) {
        a = {a.x * (low_factor[i].x * root), a.y * (low_factor[i].y * root)};
        b = {b.x * (high_factor[i].x * root), b.y * (high_factor[i].y * root)};
      }
      if constexpr (turns) {
        const float2 was = a;
        a = {was.x * c[i][r].x - b.x * s[i][r].x, was.y * c[i][r].y - b.y * s[i][r].y};
        b = {b.x * c[i][r].x + was.x * s[i][r].x, b.y * c[i][r].y + was.y * s[i][r].y};
      }
      if (pair < pairs) {
        T *to = out.data + place[r] + 2 * pair;
        *reinterpret_cast<detail::Two<T> *>(to) = {T(a.x), T(a.y)};
        *reinterpret_cast<detail::Two<T> *>(to + half) = {T(b.x), T(b.y)};
      }
    }
  }
}

} // namespace evt::tile
