// Reductions and prefix sums of one dimension of a tile in shared memory, by all compute threads, in an order that
// depends on the extents only.
//
//   reduce<Op, Outer, R, Inner>(dst, src)    dst[o][i] = op(dst[o][i], src[o][0][i], …, src[o][R-1][i])
//
// With Inner = 1 a warp takes a row: lane l combines elements l, l + 32, …, then halves are folded. Otherwise a thread
// takes a column, in up to four interleaved partial results, folded in halves.
#pragma once

#include "device/common/scalar.h"
#include "device/cuda/worker.h"

namespace evt::tile {

// Integer arithmetic wraps.
struct Add {
  __device__ static float apply(float a, float b) { return a + b; }
  __device__ static std::int32_t apply(std::int32_t a, std::int32_t b) {
    return (std::int32_t)((std::uint32_t)a + (std::uint32_t)b);
  }
  __device__ static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return (std::int64_t)((std::uint64_t)a + (std::uint64_t)b);
  }
};
struct Mul {
  __device__ static float apply(float a, float b) { return a * b; }
  __device__ static std::int32_t apply(std::int32_t a, std::int32_t b) {
    return (std::int32_t)((std::uint32_t)a * (std::uint32_t)b);
  }
  __device__ static std::int64_t apply(std::int64_t a, std::int64_t b) {
    return (std::int64_t)((std::uint64_t)a * (std::uint64_t)b);
  }
};
struct Max {
  __device__ static float apply(float a, float b) { return maximum(a, b); }
  __device__ static std::int32_t apply(std::int32_t a, std::int32_t b) { return a > b ? a : b; }
  __device__ static std::int64_t apply(std::int64_t a, std::int64_t b) { return a > b ? a : b; }
};
struct Min {
  __device__ static float apply(float a, float b) { return minimum(a, b); }
  __device__ static std::int32_t apply(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
  __device__ static std::int64_t apply(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
};

template <class Op, std::int64_t Outer, std::int64_t R, std::int64_t Inner, class T>
__device__ inline void reduce(T *dst, const T *src) {
  if constexpr (Inner == 1) {
    constexpr int width = R >= 32 ? 32 : R >= 16 ? 16 : R >= 8 ? 8 : R >= 4 ? 4 : R >= 2 ? 2 : 1;
    constexpr int groups = compute_threads / width;
    const int lane = Worker::lane() % width;
    // Every lane of a warp takes part in the exchange, so the trip count is the same for all.
    for (int base = 0; base < Outer; base += groups) {
      const int o = base + Worker::lane() / width;
      T part{};
      if (o < Outer) {
        part = src[o * R + lane];
        for (int r = lane + width; r < R; r += width)
          part = Op::apply(part, src[o * R + r]);
      }
#pragma unroll
      for (int half = width / 2; half; half /= 2)
        part = Op::apply(part, __shfl_down_sync(~0u, part, half, width));
      if (o < Outer && lane == 0)
        dst[o] = Op::apply(dst[o], part);
    }
  } else {
    constexpr int parts = R >= 4 ? 4 : R >= 2 ? 2 : 1;
    for (int q = Worker::lane(); q < Outer * Inner; q += Worker::lanes()) {
      const T *column = src + q / Inner * R * Inner + q % Inner;
      T part[parts];
#pragma unroll
      for (int l = 0; l < parts; ++l) {
        part[l] = column[l * Inner];
        for (int r = l + parts; r < R; r += parts)
          part[l] = Op::apply(part[l], column[r * Inner]);
      }
#pragma unroll
      for (int half = parts / 2; half; half /= 2)
        for (int l = 0; l < half; ++l)
          part[l] = Op::apply(part[l], part[l + half]);
      dst[q] = Op::apply(dst[q], part[0]);
    }
  }
}

// dst[o][r][i] = src[o][0][i] + … + src[o][r][i], added in that order; without the last term when Exclusive.
template <std::int64_t Outer, std::int64_t R, std::int64_t Inner, bool Exclusive, class T>
__device__ inline void prefix_sum(T *dst, const T *src) {
  for (int q = Worker::lane(); q < Outer * Inner; q += Worker::lanes()) {
    const std::int64_t first = q / Inner * R * Inner + q % Inner;
    T sum{};
    for (int r = 0; r < R; ++r) {
      const T before = sum, term = src[first + r * Inner];
      sum = r == 0 ? term : Add::apply(before, term);
      dst[first + r * Inner] = Exclusive ? before : sum;
    }
  }
}

} // namespace evt::tile
