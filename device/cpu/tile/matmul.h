// Products of tiles: c += a · b, in float.
//
//   matmul<M, N, K>(c, a, b)       c[m][n] += sum over k of a[m][k] * b[k][n]
//   matmul_tb<M, N, K>(c, a, b)    c[m][n] += sum over k of a[m][k] * b[n][k]
//
// Every element is one chain of fused multiply-adds that starts at c and runs through k = 0, 1, …, K-1:
//
//   x = c[m][n];  for k: x = fma(a[m][k], b[k][n], x);  c[m][n] = x
//
// Nothing else ever happens to it, whatever the path taken through this file. So an element does not depend on M or
// N, on its neighbours or on the vector width, and a product cut along k into several calls gives the bits of one.
// The price is that lanes of a vector must be columns, never k: `matmul_tb` transposes b on the way.
//
// How it runs: c is cut into blocks of R rows and V vectors that live in registers while k passes (`matmul_block`),
// blocks of near equal size rather than full ones and a remainder: at most two values of R and of V, so a product
// instantiates at most four blocks, and only those its shape needs. A column panel of b is read where it lies; it
// is packed first, into a buffer of the first-level cache's size, when it must be transposed, and when it is padded
// because N ends inside its last vector. (Packing every panel, as libraries do for matrices of any size, was slower
// at all sizes of tiles tried; bench/tile measures.)
//
//   c is 256x256, AVX-512:   256 rows = 32 blocks of 8     16 vectors = 4 panels of 3 + 2 of 2
#ifndef EVT_DEVICE_CPU_TILE_MATMUL_H
#define EVT_DEVICE_CPU_TILE_MATMUL_H

#include "vector.h"

namespace evt::tile {
namespace detail {

// The larger functions are compiled once for all shapes that use them: noclone keeps the compiler from making a copy
// for each set of constant arguments, which gains nothing but compile time. (`matmul_tb_few` does gain.)

// c[R][V vectors] += a[R][k] · b[k][V vectors], k >= 1. Leading dimensions are in floats.
template <int R, int V>
[[gnu::noinline, gnu::noclone]] void matmul_block(std::int64_t k, const float *a, std::int64_t lda, const float *b,
                                                  std::int64_t ldb, float *c, std::int64_t ldc) {
  static_assert(V * (R + 1) < vec_registers, "the block and one row of b must fit the registers");
  Vec sum[R][V];
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v)
      sum[r][v] = vec_load(c + r * ldc + v * vec_lanes);
  std::int64_t i = 0;
  do { // a loop that may run zero times would make the compiler keep a second copy of `sum` in memory
    Vec row[V];
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v)
      row[v] = vec_load(b + i * ldb + v * vec_lanes);
#pragma GCC unroll 32
    for (int r = 0; r < R; ++r) {
      const Vec x = vec_broadcast(a[r * lda + i]);
#pragma GCC unroll 32
      for (int v = 0; v < V; ++v)
        sum[r][v] = vec_fma(x, row[v], sum[r][v]);
    }
  } while (++i < k);
#pragma GCC unroll 32
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 32
    for (int v = 0; v < V; ++v)
      vec_store(c + r * ldc + v * vec_lanes, sum[r][v]);
}

// The same for a block whose last vector sticks out of c: only `columns` of the V * vec_lanes columns exist.
template <int R, int V>
void matmul_block_clipped(std::int64_t k, const float *a, std::int64_t lda, const float *b, std::int64_t ldb, float *c,
                          std::int64_t ldc, std::int64_t columns) {
  alignas(64) float whole[R * V * vec_lanes] = {};
  for (int r = 0; r < R; ++r)
    std::memcpy(whole + r * V * vec_lanes, c + r * ldc, static_cast<std::size_t>(columns) * sizeof(float));
  matmul_block<R, V>(k, a, lda, b, ldb, whole, V * vec_lanes);
  for (int r = 0; r < R; ++r)
    std::memcpy(c + r * ldc, whole + r * V * vec_lanes, static_cast<std::size_t>(columns) * sizeof(float));
}

// `extent` cut into the fewest parts of at most `most`, near equal: first `larges` parts of `large`, then `smalls`
// parts of `large - 1`.
struct Split {
  std::int64_t larges, smalls;
  int large;
};
constexpr Split split_evenly(std::int64_t extent, std::int64_t most) {
  const std::int64_t parts = (extent + most - 1) / most, large = (extent + parts - 1) / parts;
  const std::int64_t smalls = parts * large - extent;
  return {parts - smalls, smalls, static_cast<int>(large)};
}

// Rows of c in a block: with 8 (AVX-512) there are enough independent chains to hide an fma's latency, and no more
// rows of a than ways in a first-level cache, in which rows a multiple of 4 KiB apart collide.
inline constexpr int matmul_most_rows = vec_registers == 32 ? 8 : 6;
constexpr int matmul_most_vectors(int rows) {
  const int fit = (vec_registers - 1) / (rows + 1);
  return fit < 8 ? fit : 8;
}

// Up to this many row blocks, `matmul_tb` transposes b anew for each instead of packing it.
inline constexpr std::int64_t matmul_few_blocks = 2;

// panel[i][j] = b[i][j] for j < columns, 0 up to V vectors.
template <int V> void pack_panel(float *panel, const float *b, std::int64_t ldb, std::int64_t k, std::int64_t columns) {
  for (std::int64_t i = 0; i < k; ++i, b += ldb, panel += V * vec_lanes) {
    if (columns == V * vec_lanes) {
      for (int v = 0; v < V; ++v)
        vec_store(panel + v * vec_lanes, vec_load(b + v * vec_lanes));
    } else {
      for (std::int64_t j = 0; j < V * vec_lanes; ++j)
        panel[j] = j < columns ? b[j] : 0.0f;
    }
  }
}

// panel[i][j] = b[j][i] for j < columns, 0 up to V vectors.
template <int V>
[[gnu::noinline, gnu::noclone]] void pack_panel_transposed(float *panel, const float *b, std::int64_t ldb,
                                                           std::int64_t k, std::int64_t columns) {
  constexpr int W = vec_lanes;
  for (std::int64_t j = 0; j < V * W; j += W) {
    const std::int64_t rows = columns - j < W ? columns - j : W; // of b, in this group
    std::int64_t i = 0;
    if (rows == W)
      for (; i + W <= k; i += W) {
        Vec square[W];
#pragma GCC unroll 16
        for (int r = 0; r < W; ++r)
          square[r] = vec_load(b + (j + r) * ldb + i);
        vec_transpose(square);
#pragma GCC unroll 16
        for (int r = 0; r < W; ++r)
          vec_store(panel + (i + r) * V * W + j, square[r]);
      }
    for (; i < k; ++i)
      for (int r = 0; r < W; ++r)
        panel[i * V * W + j + r] = r < rows ? b[(j + r) * ldb + i] : 0.0f;
  }
}

// c[R][one vector] += a[R][k] · transpose of b[vec_lanes][k], k a multiple of vec_lanes. For few rows, where storing
// the transposed b and loading it again would cost more than the products.
template <int R>
[[gnu::noinline]] void matmul_tb_few(std::int64_t k, const float *a, std::int64_t lda, const float *b, std::int64_t ldb,
                                     float *c, std::int64_t ldc) {
  Vec sum[R];
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    sum[r] = vec_load(c + r * ldc);
  for (std::int64_t i = 0; i < k; i += vec_lanes) {
    Vec square[vec_lanes];
#pragma GCC unroll 16
    for (int j = 0; j < vec_lanes; ++j)
      square[j] = vec_load(b + j * ldb + i);
    vec_transpose(square);
#pragma GCC unroll 16
    for (int j = 0; j < vec_lanes; ++j)
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r)
        sum[r] = vec_fma(vec_broadcast(a[r * lda + i + j]), square[j], sum[r]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; ++r)
    vec_store(c + r * ldc, sum[r]);
}

// One panel: `columns` columns of c, at most V vectors of them, all M rows.
template <int V, std::int64_t M, bool Transposed>
[[gnu::noinline, gnu::noclone]] void matmul_panel(std::int64_t k, const float *a, std::int64_t lda, const float *b,
                                                  std::int64_t ldb, float *c, std::int64_t ldc, std::int64_t columns) {
  constexpr Split rows = split_evenly(M, matmul_most_rows);
  constexpr std::int64_t width = V * vec_lanes;
  constexpr std::int64_t depth = 8192 / width / vec_lanes * vec_lanes; // 32 KiB of b
  alignas(64) float packed[depth * width];
  const bool clipped = columns != width;
  const bool pack = Transposed || clipped;
  const std::int64_t step = pack ? depth : k;
  for (std::int64_t k0 = 0; k0 < k; k0 += step) {
    const std::int64_t kn = k - k0 < step ? k - k0 : step;
    const float *panel = packed;
    std::int64_t ldp = width;
    if constexpr (Transposed) {
      pack_panel_transposed<V>(packed, b + k0, ldb, kn, columns);
    } else if (pack) {
      pack_panel<V>(packed, b + k0 * ldb, ldb, kn, columns);
    } else {
      panel = b;
      ldp = ldb;
    }
    auto block = [&]<int R>(std::int64_t m) {
      if (clipped)
        matmul_block_clipped<R, V>(kn, a + m * lda + k0, lda, panel, ldp, c + m * ldc, ldc, columns);
      else
        matmul_block<R, V>(kn, a + m * lda + k0, lda, panel, ldp, c + m * ldc, ldc);
    };
    std::int64_t m = 0;
    for (std::int64_t i = 0; i < rows.larges; ++i, m += rows.large)
      block.template operator()<rows.large>(m);
    if constexpr (rows.smalls > 0)
      for (std::int64_t i = 0; i < rows.smalls; ++i, m += rows.large - 1)
        block.template operator()<rows.large - 1>(m);
  }
}

template <std::int64_t M, std::int64_t N, bool Transposed>
void matmul_panels(std::int64_t k, const float *a, std::int64_t lda, const float *b, std::int64_t ldb, float *c,
                   std::int64_t ldc) {
  constexpr Split rows = split_evenly(M, matmul_most_rows);
  constexpr Split panels = split_evenly((N + vec_lanes - 1) / vec_lanes, matmul_most_vectors(rows.large));
  std::int64_t n = 0;
  if constexpr (Transposed && rows.larges + rows.smalls <= matmul_few_blocks) {
    const std::int64_t squares = k / vec_lanes * vec_lanes;
    for (; n + vec_lanes <= N; n += vec_lanes) {
      std::int64_t m = 0;
      for (std::int64_t i = 0; i < rows.larges; ++i, m += rows.large)
        matmul_tb_few<rows.large>(squares, a + m * lda, lda, b + n * ldb, ldb, c + m * ldc + n, ldc);
      if constexpr (rows.smalls > 0)
        for (std::int64_t i = 0; i < rows.smalls; ++i, m += rows.large - 1)
          matmul_tb_few<rows.large - 1>(squares, a + m * lda, lda, b + n * ldb, ldb, c + m * ldc + n, ldc);
      if (squares < k)
        matmul_panel<1, M, true>(k - squares, a + squares, lda, b + n * ldb + squares, ldb, c + n, ldc, vec_lanes);
    }
    if (n < N)
      matmul_panel<1, M, true>(k, a, lda, b + n * ldb, ldb, c + n, ldc, N - n);
    return;
  }
  auto panel = [&]<int V>() {
    const std::int64_t columns = N - n < V * vec_lanes ? N - n : V * vec_lanes;
    matmul_panel<V, M, Transposed>(k, a, lda, b + (Transposed ? n * ldb : n), ldb, c + n, ldc, columns);
    n += columns;
  };
  for (std::int64_t i = 0; i < panels.larges; ++i)
    panel.template operator()<panels.large>();
  if constexpr (panels.smalls > 0)
    for (std::int64_t i = 0; i < panels.smalls; ++i)
      panel.template operator()<panels.large - 1>();
}

} // namespace detail

// c (MxN) += a (MxK) · b (KxN). The tiles must not overlap c.
template <std::int64_t M, std::int64_t N, std::int64_t K> void matmul(float *c, const float *a, const float *b) {
  static_assert(M > 0 && N > 0 && K > 0);
  detail::matmul_panels<M, N, false>(K, a, K, b, N, c, N);
}

// c (MxN) += a (MxK) · transpose of b (NxK).
template <std::int64_t M, std::int64_t N, std::int64_t K> void matmul_tb(float *c, const float *a, const float *b) {
  static_assert(M > 0 && N > 0 && K > 0);
  detail::matmul_panels<M, N, true>(K, a, K, b, K, c, N);
}

// The same with operands that are boxes of larger row-major memories: a row of a, b, c begins lda, ldb, ldc floats
// after the one before. A box that lies inside its memory need not be copied to a tile first.
template <std::int64_t M, std::int64_t N, std::int64_t K>
void matmul_strided(float *c, std::int64_t ldc, const float *a, std::int64_t lda, const float *b, std::int64_t ldb) {
  static_assert(M > 0 && N > 0 && K > 0);
  detail::matmul_panels<M, N, false>(K, a, lda, b, ldb, c, ldc);
}
template <std::int64_t M, std::int64_t N, std::int64_t K>
void matmul_tb_strided(float *c, std::int64_t ldc, const float *a, std::int64_t lda, const float *b, std::int64_t ldb) {
  static_assert(M > 0 && N > 0 && K > 0);
  detail::matmul_panels<M, N, true>(K, a, lda, b, ldb, c, ldc);
}

} // namespace evt::tile
#endif
