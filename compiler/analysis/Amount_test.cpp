#include "compiler/analysis/Amount.h"

#include <gtest/gtest.h>

#include <limits>

namespace evt {
namespace {

const Amount m = Amount::symbol("m"), n = Amount::symbol("n");

TEST(Amount, EqualSumsLookEqual) {
  Amount rows = ceildiv(m, 32);
  EXPECT_EQ((rows - 1) * 32 + 32, rows * 32);
  EXPECT_EQ((m + n) * (m - n), m * m - n * n);
  EXPECT_EQ((m - m).asConstant(), 0);
  EXPECT_EQ((n * 4 + n).text(), "5 * n");
}

TEST(Amount, IsWrittenAsInAManifest) {
  EXPECT_EQ((ceildiv(m, 32) * 32 + m * n - 4).json().dump(),
            R"(["-",["+",["*",32,["ceildiv","m",32]],["*","m","n"]],4])");
  EXPECT_EQ(Amount(7).json().dump(), "7");
  EXPECT_EQ((n * -1).json().dump(), R"(["*",-1,"n"])");
  EXPECT_EQ((ceildiv(m + 1, 32) * n).text(), "n * ((m + 1) ceildiv 32)");
}

TEST(Amount, DividesWhatDivides) {
  EXPECT_EQ(floordiv(m * 32, 8), m * 4);
  EXPECT_EQ(ceildiv(Amount(33), 32), Amount(2));
  EXPECT_EQ(floordiv(Amount(-1), 16), Amount(-1));
  EXPECT_EQ(mod(Amount(-1), 16), Amount(15));
  EXPECT_EQ(mod(m * 6, 3), Amount(0));
  EXPECT_EQ(ceildiv(m, m), Amount(1));
}

TEST(Amount, TheSmallerAndTheLargerAreFoundWhereOrderIsKnown) {
  EXPECT_EQ(least(ceildiv(m, 32) * 32, m), m);
  EXPECT_EQ(least(floordiv(m, 32) * 32, m).text(), "32 * (m floordiv 32)");
  EXPECT_EQ(least(m + 63, m), m);
  EXPECT_EQ(greatest(m, 0), m);
  EXPECT_EQ(greatest(m - 1, -1), m - 1);
  EXPECT_EQ(least(mod(m, 2) + 1, 2).text(), "m mod 2 + 1");
  EXPECT_EQ(least(m, n).text(), "min(m, n)");
  EXPECT_EQ(greatest(m - 1, 0).text(), "max(m - 1, 0)");
  EXPECT_FALSE(m.atLeast(1));
}

TEST(Amount, HasAValueForEveryShape) {
  for (int64_t x : {0, 1, 31, 32, 33, 100}) {
    std::map<std::string, int64_t> at{{"m", x}, {"n", 5}};
    EXPECT_EQ(ceildiv(m, 32).evaluate(at), (x + 31) / 32);
    EXPECT_EQ(floordiv(m - 40, 32).evaluate(at), x >= 40 ? (x - 40) / 32 : -((40 - x + 31) / 32));
    EXPECT_EQ(least(m, n * 7).evaluate(at), std::min<int64_t>(x, 35));
    EXPECT_EQ(greatest(m - n, 0).evaluate(at), std::max<int64_t>(x - 5, 0));
    EXPECT_EQ(mod(m, 7).evaluate(at), x % 7);
  }
  EXPECT_THROW(m.evaluate({}), std::out_of_range);
  EXPECT_THROW(floordiv(m, n).evaluate({{"m", 1}, {"n", 0}}), std::domain_error);
}

TEST(Amount, DoesNotWrapAround) {
  Amount large = std::numeric_limits<int64_t>::max();
  EXPECT_THROW(large + 1, std::overflow_error);
  EXPECT_THROW((large * m) * 2, std::overflow_error);
  EXPECT_THROW((m * large).evaluate({{"m", 2}}), std::overflow_error);
}

TEST(Amount, IsGivenUpWhereItGrowsTooLong) {
  Amount power = m + 1;
  EXPECT_THROW(for (int i = 0; i < 10; ++i) power = power * power, std::overflow_error);
  Amount nested = m;
  EXPECT_THROW(for (int i = 0; i < 100; ++i) nested = least(nested + n, nested * 3 - 7), std::overflow_error);
}

} // namespace
} // namespace evt
