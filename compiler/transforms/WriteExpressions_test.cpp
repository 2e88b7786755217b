#include "WriteExpressions.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

class AffineFormTest : public ::testing::Test {
protected:
  /// The form as text: "min(d0 * 2, s0) over n", or "none".
  std::string form(const std::string &value, const std::string &where) {
    std::optional<AffineForm> found =
        affineForm(&context, isl::pw_aff(owner.get(), value), isl::set(owner.get(), where));
    if (!found)
      return "none";
    std::string text;
    llvm::raw_string_ostream out(text);
    out << (found->terms.size() == 1 ? "" : found->largest ? "max" : "min") << "(";
    llvm::interleaveComma(found->terms, out);
    out << ")";
    for (const std::string &parameter : found->parameters)
      out << " " << parameter;
    return text;
  }

  ContextOwner owner;
  mlir::MLIRContext context;
};

TEST_F(AffineFormTest, OnePieceIsAnExpression) {
  EXPECT_EQ(form("[m, n] -> { [i, j] -> [3i - j + n - 2] }", "{ [i, j] }"), "(d0 * 3 - d1 + s0 - 2) n");
}

TEST_F(AffineFormTest, DivisionsAreKept) {
  EXPECT_EQ(form("[n] -> { [i] -> [floor((i + 2n)/7)] }", "{ [i] }"), "((d0 + s0 * 2) floordiv 7) n");
}

TEST_F(AffineFormTest, PiecesThatTakeTheSmallerAreAMinimum) {
  EXPECT_EQ(form("[n] -> { [e] -> [7] : 7e <= n - 7; [e] -> [n - 7e] : 7e > n - 7 }", "{ [e] }"),
            "min(7, d0 * -7 + s0) n");
}

TEST_F(AffineFormTest, PiecesThatTakeTheLargerAreAMaximum) {
  EXPECT_EQ(form("{ [i] -> [i - 1] : i >= 1; [i] -> [0] : i < 1 }", "{ [i] }"), "max(0, d0 - 1)");
}

TEST_F(AffineFormTest, OnlyWhatIsNeededCounts) {
  EXPECT_EQ(form("{ [i] -> [i - 1] : i >= 1; [i] -> [5] : i < 1 }", "{ [i] : i >= 1 }"), "(d0 - 1)");
}

TEST_F(AffineFormTest, NeitherSmallestNorLargestHasNoForm) {
  EXPECT_EQ(form("{ [i] -> [i] : i <= 2; [i] -> [-i] : i > 2 and i < 9; [i] -> [3] : i >= 9 }", "{ [i] }"), "none");
}

} // namespace
} // namespace evt
