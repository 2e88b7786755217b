#include "runtime/artifact/Expression.h"

#include "runtime/Error.h"
#include "runtime/artifact/JsonView.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace evt::runtime;

namespace {

const std::vector<std::string> names = {"n", "m"};

Expression parse(const std::string &text) {
  nlohmann::json json = nlohmann::json::parse(text);
  return Expression::parse(JsonView(json, "m.json"), names);
}

int64_t value(const std::string &text, int64_t n, int64_t m = 0) {
  int64_t symbols[] = {n, m};
  return parse(text).evaluate(symbols);
}

std::string message(const std::string &text, int64_t n = 0) {
  try {
    value(text, n);
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

TEST(Expression, Arithmetic) {
  EXPECT_EQ(value("4096", 1), 4096);
  EXPECT_EQ(value("\"m\"", 1, 7), 7);
  EXPECT_EQ(value(R"(["+", ["*", "n", 4], "m"])", 10, 2), 42);
  EXPECT_EQ(value(R"(["-", 3, "n"])", 10), -7);
  EXPECT_EQ(value(R"(["min", "n", 3])", 10), 3);
  EXPECT_EQ(value(R"(["max", "n", 3])", 10), 10);
}

TEST(Expression, DivisionRoundsLikeAffineExpressions) {
  struct Row {
    int64_t n, floor, ceil, mod;
  };
  for (Row row : {Row{7, 1, 2, 3}, {8, 2, 2, 0}, {0, 0, 0, 0}, {-1, -1, 0, 3}, {-4, -1, -1, 0}, {-5, -2, -1, 3}}) {
    EXPECT_EQ(value(R"(["floordiv", "n", 4])", row.n), row.floor) << row.n;
    EXPECT_EQ(value(R"(["ceildiv", "n", 4])", row.n), row.ceil) << row.n;
    EXPECT_EQ(value(R"(["mod", "n", 4])", row.n), row.mod) << row.n;
  }
  EXPECT_EQ(value(R"(["floordiv", "n", 1])", INT64_MIN), INT64_MIN);
  EXPECT_EQ(value(R"(["ceildiv", "n", 2])", INT64_MAX), int64_t(1) << 62);
}

TEST(Expression, TextHasTheParenthesesItNeeds) {
  EXPECT_EQ(parse(R"(["+", ["*", "n", 4], "n"])").text(), "n * 4 + n");
  EXPECT_EQ(parse(R"(["*", ["+", "n", 4], "n"])").text(), "(n + 4) * n");
  EXPECT_EQ(parse(R"(["-", "n", ["-", "m", 1]])").text(), "n - (m - 1)");
  EXPECT_EQ(parse(R"(["-", ["-", "n", "m"], 1])").text(), "n - m - 1");
  EXPECT_EQ(parse(R"(["ceildiv", ["max", "n", ["+", "m", 1]], 16])").text(), "max(n, m + 1) ceildiv 16");
}

TEST(Expression, LeavesCanBeAskedFor) {
  EXPECT_EQ(parse("12").asConstant(), 12);
  EXPECT_EQ(parse("12").asSymbol(), std::nullopt);
  EXPECT_EQ(parse("\"m\"").asSymbol(), 1u);
  EXPECT_EQ(parse(R"(["+", 1, 2])").asConstant(), std::nullopt);
}

TEST(Expression, OverflowIsAnError) {
  EXPECT_EQ(message(R"(["*", "n", 4])", INT64_MAX / 2),
            "size 'n * 4' does not fit in 64 bits: 4611686018427387903 * 4");
  EXPECT_EQ(message(R"(["+", "n", 1])", INT64_MAX), "size 'n + 1' does not fit in 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(message(R"(["-", "n", 1])", INT64_MIN), "size 'n - 1' does not fit in 64 bits: -9223372036854775808 - 1");
  EXPECT_EQ(message(R"(["mod", 7, "n"])", 0), "size '7 mod n' divides by 0, required at least 1");
  EXPECT_EQ(message(R"(["floordiv", 7, "n"])", -2), "size '7 floordiv n' divides by -2, required at least 1");
}

TEST(Expression, MalformedJsonIsAnError) {
  EXPECT_EQ(message("\"k\""), "m.json: 'k' is not a symbol of the manifest");
  EXPECT_EQ(message("true"), "m.json: found a boolean, required an integer, a symbol or [op, a, b]");
  EXPECT_EQ(message("1.5"), "m.json: found a fraction, required an integer, a symbol or [op, a, b]");
  EXPECT_EQ(message(R"(["+", 1])"), "m.json: expression has 2 parts, required 3: [op, a, b]");
  EXPECT_EQ(message(R"(["/", 1, 2])"), "m.json: [0]: '/' is not one of + - * floordiv ceildiv mod min max");
  EXPECT_EQ(message(R"(["+", 1, [1, 1, 1]])"), "m.json: [2][0]: found an integer, required a string");
  EXPECT_EQ(message("9223372036854775808"), "m.json: found 9223372036854775808, required an integer of 64 bits");
}

TEST(Expression, DeepNestingIsAnErrorAndNotACrash) {
  std::string text;
  for (int i = 0; i < 100000; ++i)
    text += "[\"+\", 1, ";
  text += "1" + std::string(100000, ']');
  EXPECT_TRUE(message(text).ends_with(": expression is nested more than 200 deep"));
}

} // namespace
