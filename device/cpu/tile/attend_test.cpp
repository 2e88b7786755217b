#include "device/cpu/tile/attend_tokens.h"
#include "device/cpu/tile/rotate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <vector>

namespace evt::tile {
namespace {

/// A cache in which position p of request r has the slot that a shuffled page table says, and a reference in double.
/// The query's R rows are those of `Of` heads.
template <class T, std::int64_t R, std::int64_t D, std::int64_t Page, std::int64_t Of = 1> struct Case {
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
    const Memory<T, 4> k{keys.data(), {layers, heads, pool * Page, D}, 0};
    const Memory<T, 4> v{values.data(), {layers, heads, pool * Page, D}, 1};
    const Memory<float, 4> s{squares.data(), {layers, heads, pool * Page, parts}, 2};
    const Memory<std::int32_t, 2> p{pages.data(), {requests, columns}, 3};
    std::vector<float> m(R, NAN), sum(R, NAN), acc(R * D, NAN);
    const CacheRow at{layer, request, head};
    // In parts, of which there is one; half of the keys have the root of their norm.
    const std::int64_t settled = (begin + end) / 2;
    if (normed) {
      const Memory<T, 2> q{query.data(), {1, R * D}, 4};
      attend_parts<R, D, Page>(w, QueryRows<T>{q, 0, 0, scales[0]}, NoSquares{}, k, v, p,
                               Squares<parts>{s, 0.25f, settled}, at, begin, end, pool * Page, settled,
                               Memory<float, 5>{m.data(), {1, 1, 1, 1, R}, 5},
                               Memory<float, 5>{sum.data(), {1, 1, 1, 1, R}, 6},
                               Memory<float, 6>{acc.data(), {1, 1, 1, 1, R, D}, 7}, 0, 0, 0);
      if (begin >= end)
        return; // a part without a position is not written
    } else {
      attend<R / Of, D, Page, Of>(w, m.data(), sum.data(), acc.data(), query.data(), scales.data(), k, v, p, at, begin,
                                  end);
    }
    for (std::int64_t r = 0; r < R; ++r) {
      std::vector<double> scores;
      std::vector<std::int64_t> slots;
      const std::int64_t own = head + r / (R / Of);
      for (std::int64_t i = begin; i < end; ++i) {
        if (i / Page >= columns || own >= heads)
          continue;
        const std::int64_t page = pages[(std::size_t)(request * columns + i / Page)], slot = page * Page + i % Page;
        if (page < 0 || page >= pool)
          continue;
        const std::int64_t row = (layer * heads + own) * pool * Page + slot;
        double dot = 0, all = 0;
        for (std::int64_t q = 0; q < parts; ++q)
          all += squares[(std::size_t)(row * parts + q)];
        const double root = normed && i >= settled ? 1 / std::sqrt(all / D + 0.25) : 1;
        for (std::int64_t d = 0; d < D; ++d) { // with its root a key is rounded as the cache is
          const T key = T((float)((double)(float)keys[(std::size_t)(row * D + d)] * root));
          dot += (double)(float)query[(std::size_t)(r * D + d)] * (double)(float)key;
        }
        scores.push_back(dot * scales[normed ? 0 : (std::size_t)r]);
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
        for (bool normed : Of == 1 ? std::vector{false, true} : std::vector{false})
          check(request, request % layers, request % heads, begin < 0 ? 0 : begin, end, normed);
  }
};

TEST(Attend, AgreesWithASoftmaxInDouble) {
  Case<bf16, 4, 64, 8>().checkAll();
  Case<bf16, 1, 128, 16>().checkAll();
  Case<f16, 3, 16, 8>().checkAll();
  Case<float, 5, 20, 7>().checkAll();
}

TEST(Attend, RowsOfSeveralHeadsAttendToTheirOwn) {
  Case<bf16, 8, 64, 8, 2>().checkAll();
  Case<float, 6, 20, 7, 3>().checkAll();
}

/// A key that is stored with its root, rounded, in the end of a step has the bits that were used in that step.
TEST(Attend, AKeyInPartsHasTheBitsOfOneThatIsSettled) {
  using C = Case<bf16, 4, 64, 8>;
  C c;
  static evt_status status[1];
  c.launch.status = status;
  Worker w(&c.launch, 0, &c.control);
  constexpr std::int64_t rows = C::layers * C::heads * C::pool * 8;
  std::vector<bf16> settled;
  for (std::int64_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::int64_t i = 0; i < C::parts; ++i)
      sum += c.squares[(std::size_t)(row * C::parts + i)];
    const float root = rsqrt_near(sum / 64 + 0.25f);
    for (std::int64_t d = 0; d < 64; ++d)
      settled.push_back(bf16((float)c.keys[(std::size_t)(row * 64 + d)] * root));
  }
  const Memory<bf16, 2> q{c.query.data(), {1, 4 * 64}, 4};
  const Memory<float, 4> s{c.squares.data(), {C::layers, C::heads, C::pool * 8, C::parts}, 2};
  const Memory<std::int32_t, 2> p{c.pages.data(), {C::requests, C::columns}, 3};
  const Memory<bf16, 4> v{c.values.data(), {C::layers, C::heads, C::pool * 8, 64}, 1};
  const auto attend = [&](std::vector<bf16> &keys, std::int64_t from) {
    std::vector<float> m(4), sum(4), acc(4 * 64);
    attend_parts<4, 64, 8>(w, QueryRows<bf16>{q, 0, 0, 0.125f}, NoSquares{},
                           Memory<bf16, 4>{keys.data(), {C::layers, C::heads, C::pool * 8, 64}, 0}, v, p,
                           Squares<C::parts>{s, 0.25f, from}, {1, 0, 2}, 0, 70, 1000, from,
                           Memory<float, 5>{m.data(), {1, 1, 1, 1, 4}, 5},
                           Memory<float, 5>{sum.data(), {1, 1, 1, 1, 4}, 6},
                           Memory<float, 6>{acc.data(), {1, 1, 1, 1, 4, 64}, 7}, 0, 0, 0);
    return acc;
  };
  const std::vector<float> own = attend(c.keys, 0), later = attend(settled, 1000);
  EXPECT_EQ(own, later);
  EXPECT_NE(own, attend(c.keys, 1000));
}

/// Observers hear of keys and values below `settled` that they may be read before the waits, and of nothing else.
TEST(Attend, SaysWhatIsReadAsSettled) {
  using C = Case<bf16, 1, 16, 8>;
  C c;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> slots; // memory and kind -> slots
  evt_hooks hooks{};
  hooks.user = &slots;
  hooks.access = [](void *user, uint32_t, uint32_t memory, uint32_t kind, const int64_t *offset, const int64_t *,
                    uint32_t rank) {
    if (rank == 4)
      (*static_cast<decltype(slots) *>(user))[{memory, kind}].push_back(offset[2]);
    else
      EXPECT_NE(kind, EVT_READ_SETTLED);
  };
  static evt_status status[1];
  c.launch.status = status;
  c.launch.hooks = &hooks;
  Worker w(&c.launch, 0, &c.control);
  std::vector<std::int32_t> table = {5, 2};
  const std::vector<std::int64_t> below = {40, 41, 42, 43, 44, 45, 46, 47, 16}, from = {17, 18};
  const Memory<bf16, 4> k{c.keys.data(), {C::layers, C::heads, C::pool * 8, 16}, 0};
  const Memory<bf16, 4> v{c.values.data(), {C::layers, C::heads, C::pool * 8, 16}, 1};
  const Memory<float, 4> s{c.squares.data(), {C::layers, C::heads, C::pool * 8, C::parts}, 2};
  const Memory<std::int32_t, 2> p{table.data(), {1, 2}, 3};
  const Memory<bf16, 2> q{c.query.data(), {1, 16}, 4};
  float m[1], sum[1], acc[16];
  attend<1, 16, 8>(w, m, sum, acc, c.query.data(), c.scales.data(), k, v, p, {1, 0, 2}, 0, 11, 9);
  const decltype(slots) own = {
      {{0, EVT_READ_SETTLED}, below}, {{0, EVT_READ}, from}, {{1, EVT_READ_SETTLED}, below}, {{1, EVT_READ}, from}};
  EXPECT_EQ(slots, own);
  slots.clear();
  attend_parts<1, 16, 8>(w, QueryRows<bf16>{q, 0, 0, 0.25f}, NoSquares{}, k, v, p, Squares<C::parts>{s, 0.25f, 9},
                         {1, 0, 2}, 0, 11, 100, 9, Memory<float, 5>{m, {1, 1, 1, 1, 1}, 5},
                         Memory<float, 5>{sum, {1, 1, 1, 1, 1}, 6}, Memory<float, 6>{acc, {1, 1, 1, 1, 1, 16}, 7}, 0, 0,
                         0);
  decltype(slots) inParts = own;
  inParts[{2, EVT_READ}] = from;
  EXPECT_EQ(slots, inParts);
}

/// Tokens of several requests in a step: whose they are, and where. Every token in a long run, and no other, gets what
/// a softmax in double says; which runs are long is found from the whole list, token by token.
template <class T, std::int64_t G, std::int64_t D, std::int64_t Page, std::int64_t Tile> void checkTokens() {
  constexpr std::int64_t enough = 4, heads = 3;
  using C = Case<T, 1, D, Page>;
  C c;
  std::vector<std::int32_t> requests, positions;
  auto add = [&](std::int32_t request, std::int32_t first, int count) {
    for (int i = 0; i < count; ++i) {
      requests.push_back(request);
      positions.push_back(first + i);
    }
  };
  add(0, 11, 3), add(0, 20, 4), add(1, 0, 1), add(2, 5, 9), add(2, 0, 2), add(0, 2, 2), add(1, 2, 2), add(1, 30, 17);
  const auto n = (std::int64_t)requests.size();
  std::vector<T> query, out((std::size_t)(n * heads * G * D), T(7.0f));
  std::normal_distribution<float> normal;
  for (std::int64_t i = 0; i < n * heads * G * D; ++i)
    query.push_back(T(normal(c.random)));
  static evt_status status[1];
  c.launch.status = status;
  Worker w(&c.launch, 0, &c.control);
  const Memory<T, 2> q{query.data(), {n, heads * G * D}, 4}, o{out.data(), {n, heads * G * D}, 5};
  const Memory<std::int32_t, 1> r{requests.data(), {n}, 7}, p{positions.data(), {n}, 8};
  const Memory<T, 4> k{c.keys.data(), {C::layers, heads, C::pool * Page, D}, 0};
  const Memory<T, 4> v{c.values.data(), {C::layers, heads, C::pool * Page, D}, 1};
  const Memory<std::int32_t, 2> pages{c.pages.data(), {C::requests, C::columns}, 3};
  std::int64_t found = 0, expected = 0;
  for (std::int64_t first = 0; first < n; first += Tile) {
    found += short_tokens<Tile, enough>(w, r, p, first);
    for (std::int64_t head = 0; head < heads; ++head)
      attend_tokens<Tile, G, D, Page, enough>(w, q, o, r, p, k, v, pages, 1, first, head, 0.3f);
  }
  auto at = [](std::int64_t i) { return (std::size_t)i; };
  std::int64_t begin = 0;
  for (std::int64_t t = 0; t < n; ++t) {
    if (t && (requests[at(t)] != requests[at(t - 1)] || positions[at(t)] != positions[at(t - 1)] + 1))
      begin = t;
    std::int64_t end = t + 1;
    while (end < n && requests[at(end)] == requests[at(t)] && positions[at(end)] == positions[at(t)] + end - t)
      ++end;
    const bool isLong = end - begin >= enough;
    expected += !isLong;
    for (std::int64_t h = 0; h < heads * G; ++h) {
      std::vector<double> weighted(D), scores;
      std::vector<std::int64_t> rows;
      double largest = -1e30, total = 0;
      for (std::int64_t i = 0; i <= positions[at(t)]; ++i) {
        const std::int64_t page = c.pages[at(requests[at(t)] * C::columns + i / Page)];
        if (i / Page >= C::columns || page < 0 || page >= C::pool)
          continue;
        const std::int64_t row = (heads + h / G) * C::pool * Page + page * Page + i % Page;
        double dot = 0;
        for (std::int64_t d = 0; d < D; ++d)
          dot += (double)(float)query[at((t * heads * G + h) * D + d)] * (double)(float)c.keys[at(row * D + d)];
        scores.push_back(dot * 0.3);
        rows.push_back(row);
        largest = std::max(largest, scores.back());
      }
      for (std::size_t i = 0; i < scores.size(); ++i) {
        const double weight = std::exp(scores[i] - largest);
        total += weight;
        for (std::int64_t d = 0; d < D; ++d)
          weighted[at(d)] += weight * (double)(float)c.values[at(rows[i] * D + d)];
      }
      for (std::int64_t d = 0; d < D; ++d)
        ASSERT_NEAR((float)out[at((t * heads * G + h) * D + d)],
                    isLong ? (total == 0 ? 0.0 : weighted[at(d)] / total) : 7.0,
                    isLong ? 8 * (sizeof(T) == 2 ? 0x1p-8 : 0x1p-20) : 0.0)
            << "token " << t << " head " << h << " column " << d;
    }
  }
  EXPECT_EQ(found, expected);
}

TEST(AttendTokens, TokensInLongRunsAgreeWithASoftmaxInDouble) {
  checkTokens<bf16, 4, 16, 8, 8>();
  checkTokens<bf16, 1, 64, 16, 1>();
  checkTokens<float, 3, 20, 7, 64>();
}

/// Heads of tokens through a table of slots, against doubles: norm, rotation, and squares that say that no root is
/// left to be applied.
TEST(RotateHead, GoesToItsSlotNormedAndTurned) {
  constexpr float epsilon = 0.25f;
  constexpr std::int64_t n = 11, columns = 32, half = 16, layers = 2, pool = 20, heads = 3, parts = 2;
  std::mt19937 random{3};
  std::normal_distribution<float> normal;
  auto some = [&](std::int64_t count) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < count; ++i)
      v.push_back(normal(random));
    return v;
  };
  auto at = [](std::int64_t i) { return (std::size_t)i; };
  std::vector<float> x = some(n * 100), c = some(n * half), s = some(n * half), weights = some(layers * columns);
  std::vector<bf16> keys(at(layers * pool * heads * columns), bf16(7.0f));
  std::vector<float> squares(at(layers * pool * heads * parts), 7.0f);
  // Tokens 3 and 5 share a slot, token 4 has none, token 6's is beyond the cache.
  std::vector<std::int32_t> slots = {4, 0, 19, 8, -1, 8, 20, 3, 2, 1, 11};
  evt_launch launch{};
  evt_status status[1];
  launch.status = status;
  Control control{};
  Worker w(&launch, 0, &control);
  const Memory<float, 2> xs{x.data(), {n, 100}, 0}, cs{c.data(), {n, half}, 1}, ss{s.data(), {n, half}, 2};
  const Memory<float, 2> ws{weights.data(), {layers, columns}, 3};
  const Memory<bf16, 4> ks{keys.data(), {layers, heads, pool, columns}, 4};
  const Memory<float, 4> qs{squares.data(), {layers, heads, pool, parts}, 5};
  const Memory<std::int32_t, 1> table{slots.data(), {n}, 6};
  for (std::int64_t first = 0; first < n; first += 8)
    rotate_head<8, columns>(w, xs, ks, table, cs, ss, ws, qs, epsilon, first, 40, 1, 2);
  std::int64_t written = 0;
  for (std::int64_t slot = 0; slot < layers * pool * heads; ++slot) {
    std::int64_t token = -1;
    for (std::int64_t t = 0; t < n; ++t)
      if (slots[at(t)] >= 0 && slots[at(t)] < pool && (heads + 2) * pool + slots[at(t)] == slot)
        token = t;
    written += token >= 0;
    double squared = 0, marked = 0;
    for (std::int64_t i = 0; token >= 0 && i < columns; ++i)
      squared += std::pow((double)x[at(token * 100 + 40 + i)], 2);
    const double root = 1 / std::sqrt(squared / columns + epsilon);
    for (std::int64_t i = 0; i < half; ++i) {
      if (token < 0) {
        ASSERT_EQ((float)keys[at(slot * columns + i)], 7.0f);
        ASSERT_EQ((float)keys[at(slot * columns + i + half)], 7.0f);
        continue;
      }
      const double low = x[at(token * 100 + 40 + i)], high = x[at(token * 100 + 40 + i + half)];
      const double a = low * root * weights[at(columns + i)], b = high * root * weights[at(columns + i + half)];
      const double cosine = c[at(token * half + i)], sine = s[at(token * half + i)];
      ASSERT_NEAR((float)keys[at(slot * columns + i)], a * cosine - b * sine,
                  0x1p-8 * (1 + std::abs(a) + std::abs(b)) * 3);
      ASSERT_NEAR((float)keys[at(slot * columns + i + half)], b * cosine + a * sine,
                  0x1p-8 * (1 + std::abs(a) + std::abs(b)) * 3);
    }
    for (std::int64_t i = 0; i < parts; ++i)
      marked += squares[at(slot * parts + i)];
    if (token < 0)
      ASSERT_EQ(marked, 7.0 * parts);
    else
      ASSERT_NEAR(1 / std::sqrt(marked / columns + epsilon), 1.0, 1e-6);
  }
  EXPECT_EQ(written, 8);
}

TEST(Attend, NothingOfALayerOrHeadThatIsNotThere) {
  Case<bf16, 2, 16, 8> c;
  c.pages.assign(c.pages.size(), -1);
  c.check(0, 0, 0, 0, 40, false);
}

} // namespace
} // namespace evt::tile
