// For tests: random layouts, and a table of all their places, counted digit by digit by code that shares nothing with
// the library. EVT_LAYOUT_CASES asks for another number of cases, EVT_LAYOUT_SEED for other ones.
#pragma once

#include "compiler/layout/Layout.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

namespace evt::layout::test {

using Point = std::array<int64_t, 7>;
using Table = std::vector<std::set<Point>>; // of each flattened element

inline int64_t fromEnvironment(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

/// Digits of a mixed-radix number, last one fastest; false after the last number.
inline bool countUp(std::vector<int64_t> &digits, const std::vector<int64_t> &radices) {
  for (size_t i = digits.size(); i-- > 0;) {
    if (++digits[i] < radices[i])
      return true;
    digits[i] = 0;
  }
  return false;
}

inline std::vector<int64_t> extents(const std::vector<Iterator> &iterators) {
  std::vector<int64_t> all;
  all.reserve(iterators.size());
  for (const Iterator &i : iterators)
    all.push_back(i.extent);
  return all;
}

inline void move(Point &p, const std::vector<Iterator> &iterators, const std::vector<int64_t> &digits) {
  for (size_t i = 0; i < iterators.size(); ++i)
    p[static_cast<size_t>(iterators[i].axis)] += digits[i] * iterators[i].stride;
}

/// Bit by bit.
inline int64_t swizzledAddress(int64_t address, const Swizzle &s) {
  int64_t result = address;
  for (int b = 0; b < s.bits; ++b)
    if ((address >> (s.base + s.shift + b)) % 2)
      result += (address >> (s.base + b)) % 2 ? -(int64_t{1} << (s.base + b)) : int64_t{1} << (s.base + b);
  return result;
}

inline Table tableOf(const Layout::Parts &parts) {
  Table table;
  std::vector<int64_t> d(parts.sharded.size()), dRadices = extents(parts.sharded);
  do {
    std::set<Point> places;
    std::vector<int64_t> r(parts.replicated.size()), rRadices = extents(parts.replicated);
    do {
      Point p = parts.offset.at;
      move(p, parts.sharded, d);
      move(p, parts.replicated, r);
      if (parts.swizzle)
        p[0] = swizzledAddress(p[0], *parts.swizzle);
      places.insert(p);
    } while (countUp(r, rRadices));
    table.push_back(places);
  } while (countUp(d, dRadices));
  return table;
}

/// What the library says.
inline Table evaluated(const Layout &layout) {
  Table table;
  for (int64_t x = 0; x < layout.elements(); ++x) {
    std::set<Point> places;
    for (const Place &p : layout.places(x))
      places.insert(p.at);
    table.push_back(places);
  }
  return table;
}

inline int64_t flat(const std::vector<int64_t> &at, const std::vector<int64_t> &shape) {
  int64_t x = 0;
  for (size_t d = 0; d < at.size(); ++d)
    x = x * shape[d] + at[d];
  return x;
}

class Random {
public:
  Random() : seed(static_cast<unsigned>(fromEnvironment("EVT_LAYOUT_SEED", 20240607))), engine(seed) {
    ::testing::Test::RecordProperty("seed", std::to_string(seed));
    std::printf("seed %u, %lld cases\n", seed, static_cast<long long>(cases()));
  }
  static int64_t cases() { return fromEnvironment("EVT_LAYOUT_CASES", 10000); }

  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low + 1));
  }
  bool once(int64_t in) { return between(1, in) == 1; }
  template <class T> const T &from(const std::vector<T> &list) {
    return list[static_cast<size_t>(between(0, static_cast<int64_t>(list.size()) - 1))];
  }

  /// D with many chances to merge: strides often continue a neighbour's.
  std::vector<Iterator> sharded(int64_t most) {
    std::vector<Iterator> out;
    std::map<Axis, int64_t> next;
    for (int64_t n = between(0, most); n > 0; --n) {
      Iterator i{between(1, 4), between(-3, 9), once(3) ? from(axes) : out.empty() ? Axis::m : out.front().axis};
      if (!once(3))
        i.stride = next.count(i.axis) ? next[i.axis] : 1;
      next[i.axis] = i.stride * i.extent;
      out.insert(out.begin(), i);
    }
    return out;
  }
  std::vector<Iterator> replicated(int64_t most) {
    std::vector<Iterator> out;
    for (int64_t n = between(0, most); n > 0; --n)
      out.push_back({between(1, 3), between(-3, 6), from(axes)});
    return out;
  }
  /// A shape that an order of D's extents, cut and merged, makes groupable more often than not.
  std::vector<int64_t> shapeOf(const std::vector<int64_t> &radices) {
    std::vector<int64_t> shape;
    for (int64_t e : radices)
      if (!shape.empty() && once(2))
        shape.back() *= e;
      else
        shape.push_back(e);
    if (once(4))
      std::shuffle(shape.begin(), shape.end(), engine);
    if (once(4))
      shape.insert(shape.begin() + between(0, static_cast<int64_t>(shape.size())), 1);
    return shape;
  }
  Layout::Parts parts(int64_t mostSharded = 4, int64_t mostReplicated = 2) {
    Layout::Parts p;
    p.sharded = sharded(mostSharded);
    p.shape = shapeOf(extents(p.sharded));
    if (once(3))
      p.replicated = replicated(mostReplicated);
    if (once(3))
      p.offset[from(axes)] = between(-5, 5);
    if (once(4)) {
      int bits = static_cast<int>(between(0, 2));
      p.swizzle = Swizzle{bits, static_cast<int>(between(0, 2)), static_cast<int>(between(bits, 3))};
      int64_t least = 0; // addresses below 0 cannot be swizzled
      for (const auto *list : {&p.sharded, &p.replicated})
        for (const Iterator &i : *list)
          least += i.axis == Axis::m && i.stride < 0 ? (i.extent - 1) * i.stride : 0;
      p.offset[Axis::m] = -least + between(0, 9);
    }
    return p;
  }
  Layout layout(int64_t mostSharded = 4, int64_t mostReplicated = 2) {
    auto made = Layout::make(parts(mostSharded, mostReplicated));
    EXPECT_TRUE(made) << made.why();
    return *made;
  }
  /// The same function, written in another way.
  Layout::Parts disguised(Layout::Parts p) {
    auto split = [&](std::vector<Iterator> &list, bool anywhere) {
      for (size_t i = 0; i < list.size(); ++i)
        for (int64_t f : {2, 3})
          if (list[i].extent % f == 0 && once(2)) {
            Iterator outer{list[i].extent / f, list[i].stride * f, list[i].axis};
            list[i].extent = f;
            list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), outer);
          }
      while (once(3))
        list.insert(list.begin() + between(0, static_cast<int64_t>(list.size())), {1, between(-9, 9), from(axes)});
      for (Iterator &i : list)
        if (i.stride == 0)
          i.axis = from(axes);
      if (anywhere)
        std::shuffle(list.begin(), list.end(), engine);
    };
    split(p.sharded, false);
    split(p.replicated, true);
    for (Iterator &r : p.replicated)
      if (once(3)) { // counted from the other end
        p.offset[r.axis] += (r.extent - 1) * r.stride;
        r.stride = -r.stride;
      }
    if (once(3))
      p.replicated.push_back({between(1, 3), 0, from(axes)});
    return p;
  }

  const unsigned seed;
  std::mt19937_64 engine;
  const std::vector<Axis> axes{Axis::m, Axis::reg, Axis::lane, Axis::warp, Axis::warpgroup, Axis::cta, Axis::rank};
};

} // namespace evt::layout::test
