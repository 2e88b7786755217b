#include "TextLimits.h"

#include <gtest/gtest.h>

namespace evt::ir {
namespace {

std::string times(const std::string &text, unsigned n) {
  std::string all;
  for (unsigned i = 0; i < n; ++i)
    all += text;
  return all;
}

TEST(TextLimits, AsManyBracketsAsAllowed) {
  for (const char *bracket : {"(", "[", "{", "<"}) {
    EXPECT_FALSE(findTextFault(times(bracket, 256))) << bracket;
    EXPECT_TRUE(findTextFault(times(bracket, 257))) << bracket;
  }
  EXPECT_FALSE(findTextFault(times("([{<>}])", 1000)));
}

TEST(TextLimits, PlaceAndNumberAreTold) {
  auto brackets = findTextFault("module\n  " + times("(", 257));
  ASSERT_TRUE(brackets);
  EXPECT_EQ(brackets->line, 2u);
  EXPECT_EQ(brackets->column, 2u + 257u);
  EXPECT_EQ(brackets->message, "257 brackets are open here, at most 256 may be");

  auto operators = findTextFault("\n\nx" + times("+y", 1025));
  ASSERT_TRUE(operators);
  EXPECT_EQ(operators->line, 3u);
  EXPECT_EQ(operators->column, 2u + 2 * 1024u);
  EXPECT_EQ(operators->message, "1025 operators in one expression, at most 1024 may be");
}

TEST(TextLimits, ClosedBracketsDoNotCount) { EXPECT_FALSE(findTextFault(times("(", 256) + ")" + "(")); }

TEST(TextLimits, MoreClosedThanOpen) {
  EXPECT_FALSE(findTextFault(times(")", 1000) + times("(", 256)));
  EXPECT_TRUE(findTextFault(times(")", 1000) + times("(", 257)));
}

TEST(TextLimits, EveryOperatorCounts) {
  for (const char *op : {"+", "-", "*", " mod ", " floordiv ", " ceildiv "}) {
    EXPECT_FALSE(findTextFault("x" + times(std::string(op) + "y", 1024))) << op;
    EXPECT_TRUE(findTextFault("x" + times(std::string(op) + "y", 1025))) << op;
  }
  EXPECT_FALSE(findTextFault("x" + times(" modulo y", 2000)));
}

TEST(TextLimits, ResultNumbers) {
  EXPECT_FALSE(findTextFault("%x#4095, %x #0, #map, #, #3d"));
  for (const char *number : {"4096", "4294967295", "99999999999999999999999999"}) {
    auto fault = findTextFault("%y = f.g %x#" + std::string(number) + " : i1");
    ASSERT_TRUE(fault) << number;
    EXPECT_EQ(fault->column, 12u);
    EXPECT_EQ(fault->message, "result number " + std::string(number) + ", at most 4095 may be");
  }
  EXPECT_TRUE(findTextFault("%x #4096")) << "a space may come between";
}

// An expression grows through its brackets, on either side.
TEST(TextLimits, BracketsBelongToTheirExpression) {
  std::string chain = times("a + ", 600);
  EXPECT_TRUE(findTextFault(chain + "(" + chain + "b)"));
  EXPECT_TRUE(findTextFault("(" + chain + "b) + " + chain + "c"));
  EXPECT_FALSE(findTextFault("(" + chain + "b), " + chain + "c"));
}

TEST(TextLimits, ListsAreManyExpressions) {
  EXPECT_FALSE(findTextFault("[" + times("-1, ", 5000) + "0]"));
  EXPECT_FALSE(findTextFault(times("%c = arith.constant -1.0 : f32\n", 5000)));
  EXPECT_FALSE(findTextFault(times("affine_map<(d0) -> (d0 + 1)>, ", 5000)));
}

TEST(TextLimits, ArrowsAndComparisonsAreNoBrackets) {
  EXPECT_FALSE(findTextFault(times("(d0) -> (d0), d0 <= 1, d0 >= 1, ", 2000)));
  // Were `->` to close one, this would not be too deep.
  EXPECT_TRUE(findTextFault(times("(->", 257)));
}

TEST(TextLimits, StringsAndCommentsAreSkipped) {
  EXPECT_FALSE(findTextFault("// " + times("(", 1000)));
  EXPECT_FALSE(findTextFault("\"" + times("(", 1000) + "\""));
  EXPECT_FALSE(findTextFault(R"("\")" + times("(", 1000) + "\""));
  EXPECT_TRUE(findTextFault("// a comment ends with its line\n" + times("(", 257)));
  EXPECT_TRUE(findTextFault("\"a string ends with its line\n" + times("(", 257)));
  EXPECT_TRUE(findTextFault(R"("\\")" + times("(", 257)));
  EXPECT_FALSE(findTextFault("\"ends in a backslash\\"));
}

} // namespace
} // namespace evt::ir
