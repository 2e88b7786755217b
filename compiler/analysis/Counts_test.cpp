#include "compiler/analysis/Counts.h"

#include <gtest/gtest.h>

#include <map>

namespace evt {
namespace {

/// Number of points of the domain for each point of the range, by looking at every pair.
std::map<std::vector<int64_t>, int64_t> fibresByEnumeration(const isl::map &relation) {
  std::map<std::vector<int64_t>, int64_t> result;
  unsigned inputs = relation.domain_tuple_dim();
  isl::set flat = relation.wrap().flatten();
  flat.foreach_point([&](isl::point point) {
    std::vector<int64_t> element;
    for (unsigned dim = inputs; dim < flat.tuple_dim(); ++dim)
      element.push_back(coordinate(point, dim));
    ++result[element];
  });
  return result;
}

class FibreSizes : public testing::TestWithParam<const char *> {};

TEST_P(FibreSizes, EqualTheNumberOfPoints) {
  ContextOwner owner;
  isl::map relation(owner.get(), GetParam());
  std::optional<Polynomial> sizes = fibreSizes(relation);
  ASSERT_TRUE(sizes);
  for (int n = 1; n <= 9; ++n) {
    isl::map concrete = fixParameter(relation, "n", n);
    std::map<std::vector<int64_t>, int64_t> expected = fibresByEnumeration(concrete);
    size_t elements = 0;
    concrete.range().foreach_point([&](isl::point point) {
      std::vector<int64_t> element;
      for (unsigned dim = 0; dim < relation.range_tuple_dim(); ++dim)
        element.push_back(coordinate(point, dim));
      EXPECT_EQ(sizes->evaluate(point), expected[element]) << "n = " << n;
      ++elements;
    });
    EXPECT_EQ(elements, expected.size());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Relations, FibreSizes,
    testing::Values("[n] -> { C[i, j] -> E[i] : 0 <= i < n and 0 <= j < 4 }",
                    "[n] -> { C[i, j] -> E[] : 0 <= i < n and 0 <= j < 2 n }",
                    "[n] -> { C[i] -> E[g] : 0 <= i < n and 4 g <= i < 4 g + 4 }", // clipped groups
                    "[n] -> { C[i] -> E[i mod 3] : 0 <= i < n }",                  // strided
                    "[n] -> { C[i, j] -> E[i + j] : 0 <= i < n and 0 <= j < n }",  // a diagonal: j = e - i
                    "[n] -> { C[i, j] -> E[i] : 0 <= j <= i < n }",                // causal: j = 0 .. i
                    "[n] -> { C[i] -> E[0] : 0 <= i < n; C[i] -> E[1] : 0 <= i < n and 2 i >= n }",
                    "[n] -> { C[i] -> E[e] : 0 <= i < n and i - 1 <= e <= i + 1 and 0 <= e < n }", // stencil, clipped
                    "[n] -> { C[i] -> E[] : 0 <= i < n and (i < 2 or i > 5) }"));                  // two intervals

TEST(FibreSizesOfOddShapes, AreNotGuessed) {
  ContextOwner owner;
  // A triangle of tasks for one element, and a disc's worth of one.
  EXPECT_FALSE(fibreSizes(isl::map(owner.get(), "[n] -> { C[i, j] -> E[] : 0 <= j <= i < n }")));
  EXPECT_FALSE(fibreSizes(isl::map(owner.get(), "[n] -> { C[i, j] -> E[] : 0 <= i < n and 0 <= 2 j <= i + n }")));
}

TEST(Polynomials, DifferenceIsZeroWhereEqualitiesMakeItSo) {
  ContextOwner owner;
  isl::set all(owner.get(), "[n, m] -> { E[e] : 0 <= e < n }");
  Polynomial product(owner.get(), "[n, m] -> { E[e] -> n * m }"), one(owner.get(), "[n, m] -> { E[e] -> m }");
  isl::set single(owner.get(), "[n, m] -> { E[e] : n = 1 and e = 0 }");
  EXPECT_TRUE((product - one).nonZeroOn(single).where.is_empty());
  PossiblyNonZero undecided = (product - one).nonZeroOn(all);
  EXPECT_FALSE(undecided.where.is_empty());
  EXPECT_FALSE(undecided.decided);
}

TEST(Polynomials, AffineDifferenceIsDecidedPointByPoint) {
  ContextOwner owner;
  Polynomial left(owner.get(), "[n] -> { E[e] -> 4 : 0 <= e < n }");
  Polynomial right(owner.get(), "[n] -> { E[e] -> (n - e) : 0 <= e < n }");
  PossiblyNonZero difference = (left - right).nonZeroOn(isl::set(owner.get(), "[n] -> { E[e] : 0 <= e < n }"));
  EXPECT_TRUE(difference.decided);
  EXPECT_TRUE(difference.where.is_equal(isl::set(owner.get(), "[n] -> { E[e] : 0 <= e < n and e != n - 4 }")));
}

} // namespace
} // namespace evt
