#include "compiler/analysis/CallBorders.h"

#include "compiler/analysis/TestPrograms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace evt {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CallBorders, FewAndManyTokens) {
  test::GraphText text;
  text.symbol("layers", 0, 100).symbol("tokens", 1, 256);
  text.call("few", {}, "{ C0[l, t] : 0 <= l < layers and 0 <= t < 1 and tokens <= 8 }", "{ C0[l, t] -> [0, l, t] }");
  text.call("many", {}, "{ C1[l, t] : 0 <= l < layers and 0 <= 128 t < tokens and tokens > 8 }",
            "{ C1[l, t] -> [1, l, t] }");
  text.call("most", {}, "{ C2[] : tokens > 64 }", "{ C2[] -> [2, 0, 0] }");
  std::vector<CallBorders> found = callBorders(text.graph);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].symbol, "layers");
  EXPECT_THAT(found[0].last, ElementsAre(0));
  EXPECT_EQ(found[1].symbol, "tokens");
  EXPECT_THAT(found[1].last, ElementsAre(8, 64));
}

TEST(CallBorders, SymbolsThatDecideNothingHaveNone) {
  test::GraphText text;
  text.symbol("n", 1, 1000);
  text.call("all", {}, "{ C0[i] : 0 <= i < n }", "{ C0[i] -> [0, i] }");
  EXPECT_THAT(callBorders(text.graph), IsEmpty());
}

TEST(CallBorders, TooManyAreLeftOut) {
  test::GraphText text;
  text.symbol("n", 0, 1000000).symbol("m", 0, 9);
  text.call("third", {}, "{ C0[] : n mod 3 = 0 }", "{ C0[] -> [0] }");
  text.call("some", {}, "{ C1[] : m >= 4 }", "{ C1[] -> [1] }");
  std::vector<CallBorders> found = callBorders(text.graph);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].symbol, "m");
  EXPECT_THAT(found[0].last, ElementsAre(3));
}

// Calls for random unions of intervals, against asking for each value.
TEST(CallBorders, AgreeWithEveryValue) {
  std::mt19937 random(7);
  for (int round = 0; round < 100; ++round) {
    test::GraphText text;
    const int64_t min = random() % 5, max = min + random() % 40;
    text.symbol("n", min, max);
    std::vector<std::vector<bool>> has(1 + random() % 3, std::vector<bool>(max + 2));
    for (size_t k = 0; k < has.size(); ++k) {
      std::string domain;
      for (unsigned part = 0; part < 1 + random() % 2; ++part) {
        int64_t from = random() % 45, to = from + random() % 20;
        std::string tuple = "C" + std::to_string(k) + "[i]";
        domain +=
            (part ? "; " : "") + tuple + " : 0 <= i < 3 and " + std::to_string(from) + " <= n <= " + std::to_string(to);
        for (int64_t v = from; v <= std::min(to, max); ++v)
          has[k][v] = true;
      }
      text.call("call", {"i"}, "{ " + domain + " }",
                "{ C" + std::to_string(k) + "[i] -> [" + std::to_string(k) + ", i] }");
    }
    std::vector<int64_t> expected;
    for (int64_t v = min; v < max; ++v)
      for (const std::vector<bool> &call : has)
        if (call[v] != call[v + 1]) {
          expected.push_back(v);
          break;
        }
    std::vector<CallBorders> found = callBorders(text.graph);
    EXPECT_EQ(found.empty() ? std::vector<int64_t>() : found[0].last, expected) << "round " << round;
  }
}

} // namespace
} // namespace evt
