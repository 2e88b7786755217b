#include "device/cpu/tile/named.h"

#include "device/common/types.h"
#include "device/cpu/tile/guarded_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace evt::tile {
namespace {

constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

template <std::int64_t N, std::int64_t K> void check_topk(const std::vector<float> &row) {
  GuardedBuffer<float> x(N), values(K);
  GuardedBuffer<std::int32_t> indices(K);
  std::copy(row.begin(), row.end(), x.data());
  topk<N, K>(x.data(), values.data(), indices.data());
  std::vector<std::int32_t> order(N);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    const float va = row[static_cast<std::size_t>(a)], vb = row[static_cast<std::size_t>(b)];
    return std::isnan(va) ? false : std::isnan(vb) ? true : va > vb;
  });
  for (std::int64_t i = 0; i < K; ++i) {
    ASSERT_EQ(indices[i], order[static_cast<std::size_t>(i)]) << "rank " << i << " of " << K << " in " << N;
    const float want = row[static_cast<std::size_t>(order[static_cast<std::size_t>(i)])];
    ASSERT_EQ(std::memcmp(&values[i], &want, sizeof want), 0) << "rank " << i;
  }
}

template <std::int64_t N, std::int64_t K> void check_topk_rows() {
  std::uniform_real_distribution<float> uniform(-3, 3);
  std::uniform_int_distribution<int> few(-2, 2), one_in(0, 4);
  auto &random = test_random();
  for (int round = 0; round < 8; ++round) {
    std::vector<float> distinct(N), ties(N), holes(N), rising(N), equal(N, 1.5f);
    for (std::size_t i = 0; i < N; ++i) {
      distinct[i] = uniform(random);
      ties[i] = static_cast<float>(few(random)) * (few(random) < 0 ? -1.0f : 1.0f); // zeros of both signs
      holes[i] = one_in(random) == 0 ? (few(random) < 0 ? -nan : nan) : one_in(random) == 0 ? -inf : uniform(random);
      rising[i] = static_cast<float>(i);
    }
    check_topk<N, K>(distinct);
    check_topk<N, K>(ties);
    check_topk<N, K>(holes);
    check_topk<N, K>(rising);
    check_topk<N, K>(equal);
  }
}

TEST(TopK, AgreesWithAStableSort) {
  check_topk_rows<1, 1>();
  check_topk_rows<2, 1>();
  check_topk_rows<2, 2>();
  check_topk_rows<7, 3>();
  check_topk_rows<64, 8>();
  check_topk_rows<127, 5>();
  check_topk_rows<128, 128>();
  check_topk_rows<1009, 50>();
}

TEST(TopK, OnlyNans) { check_topk<5, 3>({nan, -nan, nan, nan, nan}); }

template <typename T, std::int64_t Outer, std::int64_t R, std::int64_t Inner> void check_prefix_sum() {
  GuardedBuffer<T> src(Outer * R * Inner), inclusive(Outer * R * Inner), exclusive(Outer * R * Inner);
  src.randomize();
  prefix_sum<Outer, R, Inner, false>(inclusive.data(), src.data());
  prefix_sum<Outer, R, Inner, true>(exclusive.data(), src.data());
  for (std::int64_t o = 0; o < Outer; ++o)
    for (std::int64_t i = 0; i < Inner; ++i) {
      T sum{};
      for (std::int64_t r = 0; r < R; ++r) {
        const std::int64_t at = (o * R + r) * Inner + i;
        ASSERT_EQ(exclusive[at], sum) << o << ", " << r << ", " << i;
        sum = static_cast<T>(sum + src[at]);
        ASSERT_EQ(inclusive[at], sum) << o << ", " << r << ", " << i;
      }
    }
  const std::vector<T> want_in = inclusive.copy(), want_ex = exclusive.copy();
  std::copy(src.data(), src.data() + src.size(), exclusive.data());
  prefix_sum<Outer, R, Inner, true>(exclusive.data(), exclusive.data());
  prefix_sum<Outer, R, Inner, false>(src.data(), src.data());
  EXPECT_EQ(exclusive.copy(), want_ex) << "in place";
  EXPECT_EQ(src.copy(), want_in) << "in place";
}

TEST(PrefixSum, AgreesWithARunningSum) {
  check_prefix_sum<std::int32_t, 1, 1, 1>();
  check_prefix_sum<std::int32_t, 1, 257, 1>();
  check_prefix_sum<std::int64_t, 3, 17, 5>();
  check_prefix_sum<float, 2, 31, 1>();
  check_prefix_sum<float, 2, 9, 33>();
}

TEST(PrefixSum, ExclusiveStartsAtZeroAndIntegersWrap) {
  const std::int32_t src[3] = {INT32_MAX, 1, 5};
  std::int32_t dst[3];
  prefix_sum<1, 3, 1, true>(dst, src);
  EXPECT_EQ(dst[0], 0);
  EXPECT_EQ(dst[1], INT32_MAX);
  EXPECT_EQ(dst[2], INT32_MIN);
}

template <typename T, std::int64_t A, std::int64_t B> void check_transpose() {
  GuardedBuffer<T> src(A * B, 1), dst(A * B, 3);
  for (std::int64_t i = 0; i < A * B; ++i)
    src[i] = static_cast<T>(static_cast<float>(i % 1021));
  transpose2d<A, B>(dst.data(), src.data());
  for (std::int64_t a = 0; a < A; ++a)
    for (std::int64_t b = 0; b < B; ++b)
      ASSERT_EQ(static_cast<float>(dst[b * A + a]), static_cast<float>(src[a * B + b])) << a << ", " << b;
}

TEST(Transpose, EveryElementMoves) {
  check_transpose<float, 1, 1>();
  check_transpose<float, 1, 37>();
  check_transpose<float, 16, 16>();
  check_transpose<float, 64, 32>();
  check_transpose<float, 17, 53>();
  check_transpose<float, 101, 7>();
  check_transpose<std::int64_t, 19, 33>();
  check_transpose<bf16, 16, 40>();
  check_transpose<std::uint8_t, 5, 16>();
}

TEST(Iota, CountsFromItsStart) {
  GuardedBuffer<std::int32_t> ints(19);
  iota<19>(ints.data());
  EXPECT_EQ(ints[0], 0);
  EXPECT_EQ(ints[18], 18);
  iota<19, std::int32_t>(ints.data(), -4);
  for (std::int32_t i = 0; i < 19; ++i)
    EXPECT_EQ(ints[i], i - 4);
  GuardedBuffer<float> floats(3);
  iota<3, float>(floats.data(), 0.5f);
  EXPECT_EQ(floats[2], 2.5f);
}

} // namespace
} // namespace evt::tile
