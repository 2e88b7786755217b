#include "device/cpu/tile/copy.h"

#include "device/common/types.h"
#include "device/cpu/tile/guarded_buffer.h"

#include <gtest/gtest.h>

#include <array>

namespace evt::tile {
namespace {

template <std::size_t Rank> using Index = std::array<std::int64_t, Rank>;

template <std::size_t Rank> std::int64_t volume(const Index<Rank> &shape) {
  std::int64_t n = 1;
  for (std::int64_t extent : shape)
    n *= extent;
  return n;
}

// Calls visit(tile position, memory position or -1) for every element of a tile. `row` maps the coordinate `Dim`.
template <std::size_t Dim = 0, std::size_t Rank, typename Row, typename Visit>
void for_each_element(const Index<Rank> &sizes, const Index<Rank> &dims, const Index<Rank> &off, Row &&row,
                      Visit &&visit) {
  for (std::int64_t at = 0; at < volume(sizes); ++at) {
    Index<Rank> coordinate{};
    std::int64_t rest = at;
    for (std::size_t d = Rank; d-- > 0;) {
      coordinate[d] = rest % sizes[d];
      rest /= sizes[d];
    }
    bool inside = true;
    std::int64_t memory = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      const std::int64_t i = d == Dim ? row(coordinate[d]) : off[d] + coordinate[d];
      inside = inside && 0 <= i && i < dims[d];
      memory = memory * dims[d] + i;
    }
    visit(at, inside ? memory : -1);
  }
}

template <typename T> bool same(const T &a, const T &b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

template <typename T> T some_value() {
  T x;
  const auto bits = static_cast<std::uint64_t>(test_random()()) << 32 | test_random()();
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

template <typename T> void fill_with_noise(GuardedBuffer<T> &buffer) {
  for (std::int64_t i = 0; i < buffer.size(); ++i)
    buffer[i] = some_value<T>();
}

// One load and one store of a box, and the same through a table, against element-by-element copies.
template <typename T, std::int64_t... Sizes>
void check_box(const Index<sizeof...(Sizes)> &dims, const Index<sizeof...(Sizes)> &off) {
  constexpr std::size_t Rank = sizeof...(Sizes);
  const Index<Rank> sizes{Sizes...};
  SCOPED_TRACE(::testing::Message() << "dims " << ::testing::PrintToString(dims) << " off "
                                    << ::testing::PrintToString(off));
  const T fill = some_value<T>();
  GuardedBuffer<T> memory(volume(dims)), tile(volume(sizes));
  fill_with_noise(memory);
  fill_with_noise(tile);
  auto plain = [&](std::int64_t r) { return off[0] + r; };

  load<T, Sizes...>(tile.data(), memory.data(), dims.data(), off.data(), fill);
  for_each_element(sizes, dims, off, plain, [&](std::int64_t at, std::int64_t m) {
    ASSERT_TRUE(same(tile[at], m < 0 ? fill : memory[m])) << "loaded element " << at;
  });

  fill_with_noise(tile);
  std::vector<T> expected = memory.copy();
  for_each_element(sizes, dims, off, plain, [&](std::int64_t at, std::int64_t m) {
    if (m >= 0)
      expected[static_cast<std::size_t>(m)] = tile[at];
  });
  store<T, Sizes...>(tile.data(), memory.data(), dims.data(), off.data());
  for (std::int64_t i = 0; i < memory.size(); ++i)
    ASSERT_TRUE(same(memory[i], expected[static_cast<std::size_t>(i)])) << "stored element " << i;
}

template <int Dim, typename T, typename Entry, std::int64_t... Sizes>
void check_table_in(const Index<sizeof...(Sizes)> &dims, Index<sizeof...(Sizes)> off, const std::vector<Entry> &entries,
                    std::int64_t table_off) {
  constexpr std::size_t Rank = sizeof...(Sizes);
  const Index<Rank> sizes{Sizes...};
  const auto table_len = static_cast<std::int64_t>(entries.size());
  GuardedBuffer<Entry> table(table_len);
  std::copy(entries.begin(), entries.end(), table.data());
  off[Dim] = 1000; // must not be read
  const T fill = some_value<T>();
  GuardedBuffer<T> memory(volume(dims)), tile(volume(sizes));
  fill_with_noise(memory);
  auto row = [&](std::int64_t r) -> std::int64_t {
    const std::int64_t at = table_off + r;
    return at < 0 || at >= table_len ? -1 : static_cast<std::int64_t>(entries[static_cast<std::size_t>(at)]);
  };

  load_through<T, Sizes...>(tile.data(), memory.data(), dims.data(), off.data(), fill, table.data(), table_len,
                            table_off, RowDim<Dim>{});
  for_each_element<Dim>(sizes, dims, off, row, [&](std::int64_t at, std::int64_t m) {
    ASSERT_TRUE(same(tile[at], m < 0 ? fill : memory[m])) << "loaded element " << at;
  });

  fill_with_noise(tile);
  std::vector<T> expected = memory.copy();
  for_each_element<Dim>(sizes, dims, off, row, [&](std::int64_t at, std::int64_t m) {
    if (m >= 0)
      expected[static_cast<std::size_t>(m)] = tile[at];
  });
  store_through<T, Sizes...>(tile.data(), memory.data(), dims.data(), off.data(), table.data(), table_len, table_off,
                             RowDim<Dim>{});
  for (std::int64_t i = 0; i < memory.size(); ++i)
    ASSERT_TRUE(same(memory[i], expected[static_cast<std::size_t>(i)])) << "stored element " << i;
}

template <typename T, typename Entry, std::int64_t... Sizes>
void check_table(const Index<sizeof...(Sizes)> &dims, const Index<sizeof...(Sizes)> &off,
                 const std::vector<Entry> &entries, std::int64_t table_off) {
  check_table_in<0, T, Entry, Sizes...>(dims, off, entries, table_off);
}

TEST(Copy, EveryPositionOfARow) {
  for (std::int64_t dim = 0; dim <= 12; ++dim)
    for (std::int64_t off = -8; off <= dim + 3; ++off) {
      check_box<float, 5>({dim}, {off});
      check_box<std::int64_t, 1>({dim}, {off});
      check_box<bf16, 7>({dim}, {off});
    }
}

TEST(Copy, EveryPositionOfAMatrix) {
  for (std::int64_t d0 : {0, 1, 2, 5})
    for (std::int64_t d1 : {0, 1, 4, 7})
      for (std::int64_t o0 = -4; o0 <= d0 + 1; ++o0)
        for (std::int64_t o1 = -5; o1 <= d1 + 1; ++o1) {
          check_box<float, 3, 4>({d0, d1}, {o0, o1});
          check_box<std::uint8_t, 2, 7>({d0, d1}, {o0, o1});
        }
}

TEST(Copy, RandomBoxesOfHigherRank) {
  std::uniform_int_distribution<std::int64_t> extent(1, 9), offset(-5, 10);
  auto &random = test_random();
  for (int i = 0; i < 400; ++i) {
    check_box<float, 2, 3, 5>({extent(random), extent(random), extent(random)},
                              {offset(random), offset(random), offset(random)});
    check_box<f16, 3, 1, 2, 4>({extent(random), extent(random), extent(random), extent(random)},
                               {offset(random), offset(random), offset(random), offset(random)});
  }
}

TEST(Copy, WholeInnerDimensionsAndSingletons) {
  check_box<float, 4, 8>({9, 8}, {2, 0});
  check_box<float, 2, 3, 8>({5, 3, 8}, {1, 0, 0});
  check_box<float, 1, 1, 6>({5, 3, 9}, {4, 2, 1});
  check_box<std::int32_t, 64, 64>({200, 130}, {70, 66});
}

TEST(Copy, OffsetsFarAway) {
  constexpr std::int64_t far = std::int64_t{1} << 62;
  check_box<float, 4>({10}, {far});
  check_box<float, 4>({10}, {-far});
  check_box<float, 4>({10}, {INT64_MIN});
  check_box<float, 4>({10}, {INT64_MAX - 3});
  check_box<float, 2, 4>({3, 10}, {0, -far});
}

TEST(Copy, RankZero) {
  float tile = 0.0f, memory = 3.0f;
  load<float>(&tile, &memory, nullptr, nullptr, -1.0f);
  EXPECT_EQ(tile, 3.0f);
  tile = 5.0f;
  store<float>(&tile, &memory, nullptr, nullptr);
  EXPECT_EQ(memory, 5.0f);
}

TEST(Copy, ThroughATable) {
  for (std::int64_t table_off = -6; table_off <= 8; ++table_off) {
    check_table<float, std::int32_t, 4, 3>({6, 5}, {0, 1}, {5, 0, 3, 1, 4, 2}, table_off);
    check_table<float, std::int32_t, 4, 3>({6, 5}, {0, -1}, {5, 0, -1, 6, 4, 1 << 30}, table_off);
    check_table<bf16, std::int64_t, 3, 2, 4>({4, 3, 6}, {0, 2, 3}, {3, -5, std::int64_t{1} << 40, 0}, table_off);
    check_table<float, std::int32_t, 5>({6}, {0}, {5, 0, 3, 1, 9}, table_off);
    check_table<float, std::int32_t, 2, 8>({3, 8}, {0, 0}, {2, 2, 0}, table_off); // a row named twice: the last stays
    check_table<float, std::int32_t, 2, 8>({3, 8}, {0, 0}, {}, table_off);
    check_table<float, std::int32_t, 2, 4>({3, 8}, {0, 20}, {0, 1, 2}, table_off);
  }
}

TEST(Copy, ThroughATableOfAnInnerDimension) {
  for (std::int64_t table_off = -4; table_off <= 6; ++table_off)
    for (std::int64_t lead = -2; lead <= 3; ++lead) { // of 3
      check_table_in<1, float, std::int32_t, 1, 4, 3>({3, 6, 5}, {lead, 0, 1}, {5, 0, 3, 3, 4, -1}, table_off);
      check_table_in<1, bf16, std::int64_t, 1, 4, 1, 8>({3, 6, 2, 16}, {lead, 0, 1, 8}, {5, 5, 9, 3, 0, 1}, table_off);
      check_table_in<1, bf16, std::int64_t, 1, 4, 1, 8>({3, 6, 2, 16}, {lead, 0, 2, 8}, {5, 5, 9, 3, 0, 1}, table_off);
      check_table_in<2, std::int32_t, std::int32_t, 1, 1, 5>({3, 4, 7}, {lead, lead + 1, 0}, {6, 2, 7, 2}, table_off);
    }
}

} // namespace
} // namespace evt::tile
