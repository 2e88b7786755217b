#include "compiler/analysis/Verify.h"

#include "compiler/analysis/TestPrograms.h"

#include <gtest/gtest.h>

namespace evt {
namespace {

std::vector<std::string> messages(const Findings &findings) {
  std::vector<std::string> result;
  for (const Violation &violation : findings.violations)
    result.push_back(violation.message);
  return result;
}

std::vector<std::string> names(const Findings &findings) {
  std::vector<std::string> result;
  for (const Obligation &obligation : findings.obligations)
    result.push_back(obligation.name);
  return result;
}

using Lines = std::vector<std::string>;

void expectProved(const TaskGraph &graph) {
  Findings findings = verify(graph);
  EXPECT_EQ(messages(findings), Lines{});
  EXPECT_EQ(names(findings), Lines{});
}

TEST(Verify, RowSumIsProved) { expectProved(test::rowSum()); }
TEST(Verify, ChainedMatmulsAreProved) { expectProved(test::chainedMatmuls()); }
TEST(Verify, StencilIsProved) { expectProved(test::stencil()); }
TEST(Verify, LayersAreProved) { expectProved(test::layers()); }
TEST(Verify, AllToAllIsProved) { expectProved(test::allToAll()); }

} // namespace
} // namespace evt
