#include "device/cpu/tile/matmul.h"

#include "device/cpu/tile/guarded_buffer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace evt::tile {
namespace {

struct Shape {
  std::int64_t m, n, k;
};

// What the header promises: one chain of fused multiply-adds per element, in increasing k, starting at c.
float chain(float c, const float *a, std::int64_t a_step, const float *b, std::int64_t b_step, std::int64_t k) {
  for (std::int64_t i = 0; i < k; ++i)
    c = std::fma(a[i * a_step], b[i * b_step], c);
  return c;
}

template <Shape S, bool Transposed> void check(std::int64_t shift) {
  SCOPED_TRACE(::testing::Message() << S.m << "x" << S.n << "x" << S.k << (Transposed ? " tb" : "") << " shift "
                                    << shift);
  GuardedBuffer<float> a(S.m * S.k, shift), b(S.k * S.n, 2 * shift), c(S.m * S.n, 3 * shift);
  a.randomize();
  b.randomize();
  c.randomize();
  const std::vector<float> before = c.copy();
  if constexpr (Transposed)
    matmul_tb<S.m, S.n, S.k>(c.data(), a.data(), b.data());
  else
    matmul<S.m, S.n, S.k>(c.data(), a.data(), b.data());
  for (std::int64_t m = 0; m < S.m; ++m)
    for (std::int64_t n = 0; n < S.n; ++n) {
      const float start = before[static_cast<std::size_t>(m * S.n + n)];
      const float *column = b.data() + (Transposed ? n * S.k : n);
      const std::int64_t step = Transposed ? 1 : S.n;
      ASSERT_EQ(c[m * S.n + n], chain(start, a.data() + m * S.k, 1, column, step, S.k)) << m << ", " << n;
      double exact = start, magnitude = std::abs(start);
      for (std::int64_t k = 0; k < S.k; ++k) {
        exact += double(a[m * S.k + k]) * column[k * step];
        magnitude += std::abs(double(a[m * S.k + k]) * column[k * step]);
      }
      ASSERT_NEAR(c[m * S.n + n], exact, magnitude * static_cast<double>(S.k) * 0x1p-24) << m << ", " << n;
    }
}

template <Shape... S> void check_all() {
  for (std::int64_t shift : {0, 1}) {
    (check<S, false>(shift), ...);
    (check<S, true>(shift), ...);
  }
}

TEST(Matmul, SingleRowsColumnsAndProducts) {
  check_all<Shape{1, 1, 1}, Shape{1, 1, 7}, Shape{1, 16, 1}, Shape{16, 1, 16}, Shape{1, 17, 33}, Shape{1, 128, 64},
            Shape{1, 129, 100}, Shape{5, 1, 3}>();
}
TEST(Matmul, FewRows) {
  check_all<Shape{2, 64, 32}, Shape{3, 50, 31}, Shape{4, 96, 48}, Shape{5, 80, 17}, Shape{6, 33, 65}, Shape{7, 48, 16},
            Shape{8, 64, 40}, Shape{9, 31, 29}, Shape{12, 72, 24}, Shape{15, 47, 47}, Shape{16, 64, 64}>();
}
TEST(Matmul, PrimesAndTails) {
  check_all<Shape{17, 19, 23}, Shape{31, 37, 41}, Shape{43, 53, 7}, Shape{97, 101, 103}, Shape{23, 200, 11}>();
}
TEST(Matmul, WholeBlocksAndLongChains) {
  check_all<Shape{32, 32, 32}, Shape{64, 48, 256}, Shape{48, 96, 17}, Shape{24, 16, 1031}, Shape{8, 32, 2048}>();
}

// An element of a product depends on its row of a and its column of b alone, not on the product around it.
TEST(Matmul, ValuesDoNotDependOnTheShape) {
  constexpr std::int64_t K = 97;
  GuardedBuffer<float> a(40 * K), b(K * 70), bt(70 * K), large(40 * 70), one(1), row(70), large_t(40 * 70);
  a.randomize();
  b.randomize();
  for (std::int64_t k = 0; k < K; ++k)
    for (std::int64_t n = 0; n < 70; ++n)
      bt[n * K + k] = b[k * 70 + n];
  for (auto *c : {&large, &large_t, &row})
    for (std::int64_t i = 0; i < c->size(); ++i)
      (*c)[i] = 0.25f;
  one[0] = 0.25f;
  matmul<40, 70, K>(large.data(), a.data(), b.data());
  matmul_tb<40, 70, K>(large_t.data(), a.data(), bt.data());
  matmul<1, 70, K>(row.data(), a.data() + 13 * K, b.data());
  matmul_tb<1, 1, K>(one.data(), a.data() + 13 * K, bt.data() + 69 * K);
  EXPECT_EQ(large.copy(), large_t.copy());
  for (std::int64_t n = 0; n < 70; ++n)
    ASSERT_EQ(row[n], large[13 * 70 + n]);
  EXPECT_EQ(one[0], large[13 * 70 + 69]);
}

TEST(Matmul, CutsAlongKGiveTheSameBits) {
  GuardedBuffer<float> a(9 * 60), b(60 * 21), whole(9 * 21), parts(9 * 21);
  a.randomize();
  b.randomize();
  for (std::int64_t i = 0; i < whole.size(); ++i)
    whole[i] = parts[i] = 0.0f;
  matmul<9, 21, 60>(whole.data(), a.data(), b.data());
  matmul_strided<9, 21, 47>(parts.data(), 21, a.data(), 60, b.data(), 21);
  matmul_strided<9, 21, 13>(parts.data(), 21, a.data() + 47, 60, b.data() + 47 * 21, 21);
  EXPECT_EQ(whole.copy(), parts.copy());
}

template <std::int64_t M, std::int64_t N, std::int64_t K> void check_strided() {
  constexpr std::int64_t lda = K + 5, ldb = N + 3, ldbt = K + 2, ldc = N + 7;
  GuardedBuffer<float> a(M * lda), b(K * ldb), bt(N * ldbt), c(M * ldc), ct(M * ldc);
  a.randomize();
  b.randomize();
  bt.randomize();
  c.randomize();
  const std::vector<float> before = c.copy();
  std::copy(before.begin(), before.end(), ct.data());
  matmul_strided<M, N, K>(c.data(), ldc, a.data(), lda, b.data(), ldb);
  matmul_tb_strided<M, N, K>(ct.data(), ldc, a.data(), lda, bt.data(), ldbt);
  for (std::int64_t m = 0; m < M; ++m)
    for (std::int64_t n = 0; n < ldc; ++n) {
      const float start = before[static_cast<std::size_t>(m * ldc + n)];
      if (n >= N) { // between the rows of c
        ASSERT_EQ(c[m * ldc + n], start);
        ASSERT_EQ(ct[m * ldc + n], start);
        continue;
      }
      ASSERT_EQ(c[m * ldc + n], chain(start, a.data() + m * lda, 1, b.data() + n, ldb, K)) << m << ", " << n;
      ASSERT_EQ(ct[m * ldc + n], chain(start, a.data() + m * lda, 1, bt.data() + n * ldbt, 1, K)) << m << ", " << n;
    }
}

TEST(Matmul, BoxesOfLargerMemories) {
  check_strided<3, 40, 19>();
  check_strided<16, 48, 32>();
  check_strided<29, 61, 67>();
  check_strided<40, 96, 300>();
}

TEST(Matmul, NonFiniteValuesStayInTheirRowAndColumn) {
  GuardedBuffer<float> a(20 * 30), b(30 * 21), c(20 * 21);
  a.randomize();
  b.randomize();
  c.randomize();
  a[4 * 30 + 2] = INFINITY;
  b[2 * 21 + 20] = NAN;
  matmul<20, 21, 30>(c.data(), a.data(), b.data());
  for (std::int64_t m = 0; m < 20; ++m)
    for (std::int64_t n = 0; n < 21; ++n)
      EXPECT_EQ(std::isfinite(c[m * 21 + n]), m != 4 && n != 20) << m << ", " << n;
}

} // namespace
} // namespace evt::tile
