#include "device/cpu/tile/attend.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace evt::tile {
namespace {

/// A cache in which position p of request r has the slot that a shuffled page table says, and a reference in double.
template <class T, std::int64_t R, std::int64_t D, std::int64_t Page> struct Case {
  static constexpr std::int64_t layers = 2, heads = 3, parts = 4, requests = 3, columns = 9, pool = 40;
  std::mt19937 random{7};
  std::vector<T> keys, values, query;
  std::vector<float> squares, scales;
  std::vector<std::int32_t> pages;
  evt_launch launch{};
  Control control{};

  Case() {
    std::normal_distribution<float> normal;
    auto fill = [&](auto &v, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i)
        v.push_back(typename std::decay_t<decltype(v)>::value_type(normal(random)));
    };
    fill(keys, layers * pool * Page * heads * D);
    fill(values, layers * pool * Page * heads * D);
    fill(query, R * D);
    fill(scales, R);
    fill(squares, layers * pool * Page * heads * parts);
    for (float &s : squares)
      s = s * s + 0.1f;
    for (std::int32_t i = 0; i < requests * columns; ++i)
      pages.push_back((std::int32_t)(random() % pool));
    pages[columns + 2] = -1;         // no such page
    pages[columns + 4] = pool;       // beyond the cache
    pages[2 * columns] = pool * 100; // far beyond
  }

  void check(std::int64_t request, std::int64_t layer, std::int64_t head, std::int64_t begin, std::int64_t end,
             bool normed) {
    SCOPED_TRACE(testing::Message() << "request " << request << " positions " << begin << " to " << end);
    static evt_status status[1];
    launch.status = status;
    Worker w(&launch, 0, &control);
    const Memory<T, 4> k{keys.data(), {layers, pool * Page, heads, D}, 0};
    const Memory<T, 4> v{values.data(), {layers, pool * Page, heads, D}, 1};
    const Memory<float, 4> s{squares.data(), {layers, pool * Page, heads, parts}, 2};
    const Memory<std::int32_t, 2> p{pages.data(), {requests, columns}, 3};
    std::vector<float> m(R, NAN), sum(R, NAN), acc(R * D, NAN);
    const CacheRow at{layer, request, head};
    if (normed)
      attend<R, D, Page>(w, m.data(), sum.data(), acc.data(), query.data(), scales.data(), k, v, p,
                         Squares<parts>{s, 0.25f}, at, begin, end);
    else
      attend<R, D, Page>(w, m.data(), sum.data(), acc.data(), query.data(), scales.data(), k, v, p, NoSquares{}, at,
                         begin, end);
    for (std::int64_t r = 0; r < R; ++r) {
      std::vector<double> scores;
      std::vector<std::int64_t> slots;
      for (std::int64_t i = begin; i < end; ++i) {
        if (i / Page >= columns)
          continue;
        const std::int64_t page = pages[(std::size_t)(request * columns + i / Page)], slot = page * Page + i % Page;
        if (page < 0 || page >= pool)
          continue;
        const std::int64_t row = (layer * pool * Page + slot) * heads + head;
        double dot = 0, all = 0;
        for (std::int64_t d = 0; d < D; ++d)
          dot += (double)(float)query[(std::size_t)(r * D + d)] * (double)(float)keys[(std::size_t)(row * D + d)];
        for (std::int64_t q = 0; q < parts; ++q)
          all += squares[(std::size_t)(row * parts + q)];
        scores.push_back(dot * scales[(std::size_t)r] * (normed ? 1 / std::sqrt(all / D + 0.25) : 1));
        slots.push_back(row);
      }
      double largest = -1e30, total = 0;
      for (double x : scores)
        largest = std::max(largest, x);
      std::vector<double> weighted(D);
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const double weight = std::exp(scores[i] - largest);
        total += weight;
        for (std::int64_t d = 0; d < D; ++d)
          weighted[(std::size_t)d] += weight * (double)(float)values[(std::size_t)(slots[i] * D + d)];
      }
      const double unit = sizeof(T) == 2 ? 0x1p-8 : 0x1p-20;
      ASSERT_NEAR(m[(std::size_t)r], largest, 1e-4 * (1 + std::abs(largest)));
      ASSERT_NEAR(sum[(std::size_t)r], total, 1e-3 * (1 + total));
      for (std::int64_t d = 0; d < D; ++d)
        ASSERT_NEAR(acc[(std::size_t)(r * D + d)], weighted[(std::size_t)d], 4 * unit * (1 + total)) << "column " << d;
    }
  }

  void checkAll() {
    for (std::int64_t request = 0; request < requests; ++request)
      for (auto [begin, end] : {std::pair<int, int>{0, 1},
                                {0, 16},
                                {0, 17},
                                {3, 3},
                                {5, 4},
                                {7, 60},
                                {0, 9 * (int)Page},
                                {(int)Page, 12 * (int)Page},
                                {-5, 20}})
        for (bool normed : {false, true})
          check(request, request % layers, request % heads, begin < 0 ? 0 : begin, end, normed);
  }
};

TEST(Attend, AgreesWithASoftmaxInDouble) {
  Case<bf16, 4, 64, 8>().checkAll();
  Case<bf16, 1, 128, 16>().checkAll();
  Case<f16, 3, 16, 8>().checkAll();
  Case<float, 5, 20, 7>().checkAll();
}

TEST(Attend, NothingOfALayerOrHeadThatIsNotThere) {
  Case<bf16, 2, 16, 8> c;
  c.pages.assign(c.pages.size(), -1);
  c.check(0, 0, 0, 0, 40, false);
}

} // namespace
} // namespace evt::tile
