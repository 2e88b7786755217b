// Products of tiles in shared memory, by all compute threads: c += a * b (matmul) or a * transpose of b (matmul_tb),
// where a is M x K and c is f32.
//
// 16-bit operands whose K is a multiple of 16 go through the tensor cores: warps take 16 x 8 pieces of c and walk K
// upwards. Everything else is a fused multiply-add at a time, one thread for an element of c. Either way the order of
// the sum depends on the extents only.
#pragma once

#include "device/common/types.h"
#include "device/cuda/ptx.h"
#include "device/cuda/worker.h"

namespace evt::tile {

namespace detail {

template <class T> inline constexpr bool is_half = __is_same(T, bf16) || __is_same(T, f16);

/// Two neighbouring 16-bit elements of a row, zero where the row does not exist.
template <class T> __device__ inline std::uint32_t pair(const T *row, int k, bool exists) {
  return exists ? *reinterpret_cast<const std::uint32_t *>(row + k) : 0u;
}

template <std::int64_t M, std::int64_t N, std::int64_t K, bool TransposedB, class T>
__device__ inline void product_of_halves(float *c, const T *a, const T *b) {
  constexpr int rows = (M + 15) / 16, columns = (N + 7) / 8;
  const int thread = Worker::kept_lane(), warp = thread / 32, g = thread % 32 / 4, t = thread % 4;
  for (int piece = warp; piece < rows * columns; piece += compute_warps) {
    const int m0 = piece / columns * 16 + g, m1 = m0 + 8, n = piece % columns * 8 + g;
    const int out = piece % columns * 8 + 2 * t;
    float acc[4] = {};
    for (int k = 0; k < K; k += 16) {
      std::uint32_t b0, b1;
      if constexpr (TransposedB) {
        b0 = pair(b + n * K, k + 2 * t, n < N);
        b1 = pair(b + n * K, k + 2 * t + 8, n < N);
      } else {
        auto at = [&](int row) { return n < N ? (std::uint32_t)b[row * N + n].bits : 0u; };
        b0 = at(k + 2 * t) | at(k + 2 * t + 1) << 16;
        b1 = at(k + 2 * t + 8) | at(k + 2 * t + 9) << 16;
      }
      const std::uint32_t a0 = pair(a + m0 * K, k + 2 * t, m0 < M), a1 = pair(a + m1 * K, k + 2 * t, m1 < M);
      const std::uint32_t a2 = pair(a + m0 * K, k + 2 * t + 8, m0 < M), a3 = pair(a + m1 * K, k + 2 * t + 8, m1 < M);
      if constexpr (__is_same(T, bf16))
        ptx::mma_bf16(acc, a0, a1, a2, a3, b0, b1);
      else
        ptx::mma_f16(acc, a0, a1, a2, a3, b0, b1);
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      const int m = e < 2 ? m0 : m1, column = out + e % 2;
      if (m < M && column < N)
        c[m * N + column] += acc[e];
    }
  }
}

template <std::int64_t M, std::int64_t N, std::int64_t K, bool TransposedB, class T>
__device__ inline void product(float *c, const T *a, const T *b) {
  if constexpr (is_half<T> && K % 16 == 0 && (TransposedB || N % 2 == 0)) {
    product_of_halves<M, N, K, TransposedB>(c, a, b);
  } else {
    for (int q = Worker::lane(); q < M * N; q += Worker::lanes()) {
      const int m = q / (int)N, n = q % (int)N;
      float acc = c[q];
      // Rows of a transposed b lie K apart, often in one bank: each column starts somewhere else.
      int k = TransposedB ? n % (int)K : 0;
      for (int i = 0; i < K; ++i) {
        const T y = TransposedB ? b[n * K + k] : b[k * N + n];
        acc = __fmaf_rn((float)a[m * K + k], (float)y, acc);
        if (++k == K)
          k = 0;
      }
      c[q] = acc;
    }
  }
}

} // namespace detail

template <std::int64_t M, std::int64_t N, std::int64_t K, class T>
__device__ inline void matmul(float *c, const T *a, const T *b) {
  detail::product<M, N, K, false>(c, a, b);
}
template <std::int64_t M, std::int64_t N, std::int64_t K, class T>
__device__ inline void matmul_tb(float *c, const T *a, const T *b) {
  detail::product<M, N, K, true>(c, a, b);
}

} // namespace evt::tile
