#include "models/graph/Ways.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace evt::models {
namespace {

using Pieces = std::vector<int64_t>;

// Hidden and feed-forward sizes of real models: what is divided evenly stays so, and rows of down are as deep as the
// other products' where those are deeper than 4096 anyway.
TEST(Pieces, OfRealModels) {
  EXPECT_EQ(fewTokens.piecesOf(8192, true, 2048), Pieces({4096, 4096}));                    // Llama-3.2-1B
  EXPECT_EQ(fewTokens.piecesOf(14336, true, 4096), Pieces({3584, 3584, 3584, 3584}));       // Llama-3.1-8B
  EXPECT_EQ(fewTokens.piecesOf(12288, true, 4096), Pieces({4096, 4096, 4096}));             // Qwen3-8B
  EXPECT_EQ(fewTokens.piecesOf(9728, true, 2560), Pieces({3584, 3584, 2560}));              // Qwen3-4B
  EXPECT_EQ(fewTokens.piecesOf(25600, true, 5120), Pieces({5120, 5120, 5120, 5120, 5120})); // Qwen3-32B
  EXPECT_EQ(fewTokens.piecesOf(8192, false, 5120), Pieces({4096, 4096}));                   // its output projection
  EXPECT_EQ(fewTokens.piecesOf(4096, false, 4096), Pieces({4096}));
  EXPECT_EQ(manyTokens.piecesOf(25600, true, 5120), Pieces({25600}));
}

// All of K, in order; no piece deeper than registers allow, all but the last alike and of whole stages.
TEST(Pieces, CoverAnyDepth) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const int64_t depth = 8 * (1 + random() % 8000), hidden = 8 * (1 + random() % 2000);
    const bool isDown = random() % 2;
    const Pieces pieces = fewTokens.piecesOf(depth, isDown, hidden);
    ASSERT_FALSE(pieces.empty());
    EXPECT_EQ(std::accumulate(pieces.begin(), pieces.end(), int64_t(0)), depth);
    for (size_t p = 0; p < pieces.size(); ++p) {
      EXPECT_GT(pieces[p], 0) << depth << " beside " << hidden;
      EXPECT_LE(pieces[p], 6144) << depth << " beside " << hidden;
      if (p + 1 < pieces.size()) {
        EXPECT_EQ(pieces[p] % 512, 0);
        EXPECT_EQ(pieces[p], pieces[0]);
      }
    }
    if (isDown && depth >= 2048) {
      EXPECT_GE(pieces.size(), 2u);
    }
  }
}

} // namespace
} // namespace evt::models
