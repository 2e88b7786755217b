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
                                   const Squares &squares, std::int64_t token, std::int64_t column, std::int64_t layer,
                                   std::int64_t head) {
  constexpr int half = (int)Columns / 2, parts = half / 8, pairs = half / 2;
  constexpr int rows = ((int)Tokens + compute_warps - 1) / compute_warps; // of a warp
  constexpr bool turns = !__is_same(Turn, Nothing), norms = !__is_same(Weights, Nothing);
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
      if constexpr (norms)
        square_place[r] = (token + t) * squares.dims[1] + head * parts;
    }
  }
#pragma unroll
  for (int first = 0; first < pairs; first += 32) {
    const int pair = first + lane;
    const bool is_there = pair < pairs;
    float2 low[rows], high[rows], c[rows], s[rows], low_factor = {1, 1}, high_factor = {1, 1};
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      low[r] = high[r] = c[r] = s[r] = {0, 0};
      if (!is_there || place[r] < 0)
        continue;
      const std::int64_t t = token + warp + r * compute_warps;
      const float *from = x.data + t * x.dims[1] + column + 2 * pair;
      low[r] = *reinterpret_cast<const float2 *>(from);
      high[r] = *reinterpret_cast<const float2 *>(from + half);
      if constexpr (turns) {
        c[r] = *reinterpret_cast<const float2 *>(cosines.data + t * half + 2 * pair);
        s[r] = *reinterpret_cast<const float2 *>(sines.data + t * half + 2 * pair);
      }
    }
    if constexpr (norms) {
      if (is_there) {
        const float *factors = weights.data + layer * Columns + 2 * pair;
        low_factor = {factors[0], factors[1]};
        high_factor = {factors[half], factors[half + 1]};
      }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      float2 a = low[r], b = high[r];
      if constexpr (norms) {
        float sum = (a.x * a.x + b.x * b.x) + (a.y * a.y + b.y * b.y);
        sum += __shfl_xor_sync(~0u, sum, 1);
        sum += __shfl_xor_sync(~0u, sum, 2);
        if (is_there && place[r] >= 0 && pair % 4 == 0)
          squares.data[square_place[r] + pair / 4] = sum;
        a = {a.x * low_factor.x, a.y * low_factor.y};
        b = {b.x * high_factor.x, b.y * high_factor.y};
      }
      if constexpr (turns) {
        const float2 was = a;
        a = {was.x * c[r].x - b.x * s[r].x, was.y * c[r].y - b.y * s[r].y};
        b = {b.x * c[r].x + was.x * s[r].x, b.y * c[r].y + was.y * s[r].y};
      }
      if (is_there && place[r] >= 0) {
        T *to = out.data + place[r] + 2 * pair;
        *reinterpret_cast<detail::Two<T> *>(to) = {T(a.x), T(a.y)};
        *reinterpret_cast<detail::Two<T> *>(to + half) = {T(b.x), T(b.y)};
      }
    }
  }
}

} // namespace evt::tile
