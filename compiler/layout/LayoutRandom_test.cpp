// Each operation's law, on random layouts, against enumeration.
#include "compiler/layout/RandomLayouts.h"

namespace evt::layout {
namespace {

using test::countUp;
using test::evaluated;
using test::flat;
using test::Point;
using test::Random;
using test::Table;
using test::tableOf;

std::string both(const Layout &a, const Layout &b) { return print(a) + "  and  " + print(b); }

TEST(LayoutRandom, PlacesAreThoseCountedOut) {
  Random random;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout l = random.layout();
    const Table table = tableOf(l.all());
    EXPECT_EQ(evaluated(l), table) << print(l);
    for (size_t x = 0; x < table.size(); ++x)
      EXPECT_EQ(l.places(static_cast<int64_t>(x)).size(), table[x].size()) << "a place more than once: " << print(l);
    for (Axis a : allAxes) {
      Layout::Parts plain = l.all();
      plain.swizzle.reset();
      int64_t least = INT64_MAX, most = INT64_MIN;
      for (const auto &places : tableOf(plain))
        for (const Point &p : places) {
          least = std::min(least, p[static_cast<size_t>(a)]);
          most = std::max(most, p[static_cast<size_t>(a)]);
        }
      EXPECT_EQ(l.range(a).least, least) << print(l);
      EXPECT_EQ(l.range(a).most, most) << print(l);
    }
  }
}

TEST(LayoutRandom, TextComesBack) {
  Random random;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout l = random.layout();
    auto back = parse(print(l));
    ASSERT_TRUE(back) << print(l) << ": " << back.why();
    EXPECT_EQ(*back, l) << print(l);
  }
}

/// Of a canonical form: the replicas' strides are larger than the reach of all smaller ones.
bool ordered(const Layout &form) {
  for (Axis a : allAxes) {
    int64_t reach = 0;
    for (const Iterator &i : form.replicated()) // by stride
      if (i.axis == a) {
        if (i.stride <= reach)
          return false;
        reach += (i.extent - 1) * i.stride;
      }
  }
  return true;
}

TEST(LayoutRandom, CanonicalFormIsTheSameFunctionAndUnique) {
  Random random;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout::Parts parts = random.parts();
    Layout l = *Layout::make(parts), other = *Layout::make(random.disguised(parts)), form = canonical(l);
    EXPECT_EQ(tableOf(form.all()), tableOf(parts)) << both(l, form);
    EXPECT_EQ(canonical(form), form) << both(l, form);
    EXPECT_LE(form.sharded().size(), l.sharded().size());
    ASSERT_EQ(tableOf(other.all()), tableOf(parts)) << "the test's own disguise: " << both(l, other);
    if (ordered(form) && ordered(canonical(other))) {
      EXPECT_EQ(canonical(other), form) << both(l, other);
    }
  }
}

/// All pairs of many small layouts of one shape: forms are equal exactly where tables are.
TEST(LayoutRandom, CanonicalFormsDecideEquality) {
  Random random;
  std::map<Table, std::set<std::string>> formsOf;
  std::map<std::string, Table> tableOfForm;
  int64_t met = 0;
  for (int64_t n = 0; n < Random::cases() * 4 && !HasFailure(); ++n) {
    Layout::Parts p{.shape = {8}, .sharded = {}};
    const std::vector<std::vector<int64_t>> factorings{{8}, {2, 4}, {4, 2}, {2, 2, 2}};
    for (int64_t e : random.from(factorings))
      p.sharded.push_back({e, random.between(-1, 4), random.once(3) ? Axis::lane : Axis::m});
    for (int64_t r = random.between(0, 2); r > 0; --r)
      p.replicated.push_back({random.between(1, 3), random.between(-2, 4), random.once(3) ? Axis::lane : Axis::m});
    p.offset[Axis::m] = random.between(0, 1);
    Layout form = canonical(*Layout::make(p));
    Table table = tableOf(p);
    auto [known, fresh] = tableOfForm.emplace(print(form), table);
    EXPECT_EQ(known->second, table) << print(form);
    if (!ordered(form))
      continue;
    auto &forms = formsOf[table];
    met += !forms.empty();
    forms.insert(print(form));
    EXPECT_EQ(forms.size(), 1u) << *forms.begin() << "  and  " << *forms.rbegin();
  }
  EXPECT_GT(met, Random::cases() / 4) << "hardly any two layouts were equal functions";
}

/// Whether the places of an element are a sum of one part for each dimension of the shape.
bool separates(const Table &table, const std::vector<int64_t> &shape) {
  auto first = [&](const std::vector<int64_t> &at) { return *table[static_cast<size_t>(flat(at, shape))].begin(); };
  std::vector<int64_t> at(shape.size());
  const Point zero = first(at);
  do {
    Point sum = zero;
    for (size_t d = 0; d < shape.size(); ++d) {
      std::vector<int64_t> alone(shape.size());
      alone[d] = at[d];
      Point part = first(alone);
      for (size_t a = 0; a < sum.size(); ++a)
        sum[a] += part[a] - zero[a];
    }
    if (sum != first(at))
      return false;
  } while (countUp(at, shape));
  return true;
}

TEST(LayoutRandom, GroupKeepsTheFunctionAndFailsOnlyWhereDimensionsDoNotSeparate) {
  Random random;
  int64_t grouped = 0, failed = 0;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout l = random.layout();
    std::vector<int64_t> factors;
    for (int64_t rest = l.elements(), f = 2; rest > 1; f = rest % f ? f + 1 : f)
      if (rest % f == 0) {
        factors.push_back(f);
        rest /= f;
      }
    std::shuffle(factors.begin(), factors.end(), random.engine);
    std::vector<int64_t> shape = random.shapeOf(factors);
    auto g = group(l, shape);
    Layout::Parts plain = l.all();
    plain.swizzle.reset();
    EXPECT_EQ(static_cast<bool>(g), separates(tableOf(plain), shape)) << print(l) << " by " << print(shape);
    ++(g ? grouped : failed);
    if (!g)
      continue;
    EXPECT_EQ(g->shape(), shape);
    EXPECT_EQ(tableOf(g->all()), tableOf(l.all())) << both(l, *g);
    // Each dimension has its own iterators: each of its borders is a border of D.
    std::set<int64_t> borders{1};
    int64_t inner = 1;
    for (size_t i = g->sharded().size(); i-- > 0;)
      borders.insert(inner *= g->sharded()[i].extent);
    inner = 1;
    for (size_t d = shape.size(); d-- > 0;)
      EXPECT_TRUE(borders.count(inner *= shape[d])) << print(*g);
  }
  EXPECT_GT(grouped, Random::cases() / 3);
  EXPECT_GT(failed, Random::cases() / 50);
}

TEST(LayoutRandom, TilesAreCopiesOfTheInnerLayout) {
  Random random;
  int64_t tiled = 0, withSwizzle = 0;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout::Parts a = random.parts(3, 1), b = random.parts(3, 1);
    a.swizzle.reset();
    a.shape.resize(std::max(a.shape.size(), b.shape.size()), 1);
    b.shape.resize(a.shape.size(), 1);
    if (b.swizzle) { // often a whole number of periods
      b.offset[Axis::m] = 0;
      if (random.once(2)) {
        b.sharded.insert(b.sharded.begin(), {4, 16, Axis::m});
        b.shape.insert(b.shape.begin(), 4);
        a.shape.insert(a.shape.begin(), 1);
        b.replicated.clear();
      }
    }
    auto outer = Layout::make(a), inner = Layout::make(b);
    if (!inner) // below 0
      continue;
    auto t = tile(*outer, *inner);
    if (!t)
      continue;
    ++tiled;
    withSwizzle += t->swizzle().has_value();
    Layout::Parts plain = b;
    plain.swizzle.reset();
    Table ta = tableOf(a), tb = tableOf(b), unswizzled = tableOf(plain), expected;
    Point span{};
    for (size_t axis = 0; axis < span.size(); ++axis) {
      int64_t least = INT64_MAX, most = INT64_MIN;
      for (const auto &places : unswizzled)
        for (const Point &p : places) {
          least = std::min(least, p[axis]);
          most = std::max(most, p[axis]);
        }
      span[axis] = most - least + 1;
    }
    std::vector<int64_t> shape, at(a.shape.size());
    for (size_t d = 0; d < a.shape.size(); ++d)
      shape.push_back(a.shape[d] * b.shape[d]);
    do {
      std::vector<int64_t> which, within;
      for (size_t d = 0; d < at.size(); ++d) {
        which.push_back(at[d] / b.shape[d]);
        within.push_back(at[d] % b.shape[d]);
      }
      std::set<Point> places;
      for (const Point &o : ta[static_cast<size_t>(flat(which, a.shape))])
        for (Point i : tb[static_cast<size_t>(flat(within, b.shape))]) {
          for (size_t axis = 0; axis < i.size(); ++axis)
            i[axis] += o[axis] * span[axis];
          places.insert(i);
        }
      expected.push_back(places);
    } while (countUp(at, shape));
    EXPECT_EQ(t->shape(), shape);
    EXPECT_EQ(evaluated(*t), expected) << both(*outer, *inner);
  }
  EXPECT_GT(tiled, Random::cases() / 3);
  EXPECT_GT(withSwizzle, Random::cases() / 100);
}

TEST(LayoutRandom, SlicesAreRegions) {
  Random random;
  int64_t sliced = 0, failed = 0;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout l = random.layout();
    std::vector<int64_t> begin, size;
    for (int64_t extent : l.shape()) {
      begin.push_back(random.between(0, extent - 1));
      size.push_back(random.between(1, extent - begin.back()));
    }
    auto s = slice(l, begin, size);
    if (!s) {
      // Only where some dimension has several iterators, or is not a dimension of D at all.
      ++failed;
      auto dims = dimensions(l);
      EXPECT_TRUE(!dims || std::any_of(dims->begin(), dims->end(), [](const auto &d) { return d.size() > 1; }))
          << s.why();
      continue;
    }
    ++sliced;
    Table whole = tableOf(l.all()), expected;
    std::vector<int64_t> at(size.size());
    do {
      std::vector<int64_t> there = begin;
      for (size_t d = 0; d < at.size(); ++d)
        there[d] += at[d];
      expected.push_back(whole[static_cast<size_t>(flat(there, l.shape()))]);
    } while (countUp(at, size));
    EXPECT_EQ(s->shape(), size);
    EXPECT_EQ(evaluated(*s), expected) << both(l, *s);
  }
  EXPECT_GT(sliced, Random::cases() / 3);
  EXPECT_GT(failed, Random::cases() / 50);
}

TEST(LayoutRandom, SwizzlesPermuteAndUndoThemselves) {
  Random random;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout::Parts p = random.parts();
    Swizzle s = p.swizzle.value_or(Swizzle{2, 1, 2});
    p.swizzle.reset();
    Layout l = *Layout::make(p);
    auto once = swizzled(l, s);
    p.swizzle = s;
    if (!once) {
      EXPECT_LT(l.range(Axis::m).least, 0) << once.why();
      continue;
    }
    EXPECT_EQ(evaluated(*once), tableOf(p)) << print(l);
    EXPECT_EQ(*swizzled(*once, s), l);
    std::set<int64_t> images;
    for (int64_t address = 0; address < s.period(); ++address)
      images.insert(s(address));
    EXPECT_EQ(static_cast<int64_t>(images.size()), s.period());
    EXPECT_EQ(*images.rbegin(), s.period() - 1);
    EXPECT_EQ(s(s.period() * 3 + 5 % s.period()), s.period() * 3 + s(5 % s.period()));
  }
}

TEST(LayoutRandom, AnInverseExistsExactlyForBijectionsOntoDenseRanges) {
  Random random;
  int64_t inverted = 0;
  for (int64_t n = 0; n < Random::cases() && !HasFailure(); ++n) {
    Layout::Parts p = random.parts();
    p.swizzle.reset();
    if (!random.once(4)) { // strides that make it dense, in any order, often
      std::vector<size_t> order(p.sharded.size());
      for (size_t i = 0; i < order.size(); ++i)
        order[i] = i;
      std::shuffle(order.begin(), order.end(), random.engine);
      std::map<Axis, int64_t> next;
      p.offset = {};
      for (size_t i : order) {
        Iterator &it = p.sharded[i];
        int64_t &stride = next.emplace(it.axis, 1).first->second;
        it.stride = stride;
        stride *= it.extent;
        if (random.once(4)) {
          p.offset[it.axis] += (it.extent - 1) * it.stride;
          it.stride = -it.stride;
        }
      }
    }
    Layout l = *Layout::make(p);
    Table table = tableOf(p);
    std::set<Point> all;
    Point most{};
    bool dense = true;
    for (const auto &places : table) {
      dense &= places.size() == 1;
      for (size_t a = 0; a < most.size(); ++a) {
        most[a] = std::max(most[a], (*places.begin())[a]);
        dense &= (*places.begin())[a] >= 0;
      }
      dense &= all.insert(*places.begin()).second;
    }
    int64_t box = 1;
    for (int64_t m : most)
      box *= m + 1;
    dense &= box == static_cast<int64_t>(table.size());
    auto back = inverse(l);
    EXPECT_EQ(static_cast<bool>(back), dense) << print(l) << ": " << back.why();
    if (!back)
      continue;
    ++inverted;
    for (size_t x = 0; x < table.size(); ++x) {
      std::vector<int64_t> at;
      for (Axis a : back->axes)
        at.push_back((*table[x].begin())[static_cast<size_t>(a)]);
      EXPECT_EQ(back->layout.place(at)[Axis::m], static_cast<int64_t>(x)) << both(l, back->layout);
    }
  }
  EXPECT_GT(inverted, Random::cases() / 4);
}

} // namespace
} // namespace evt::layout
