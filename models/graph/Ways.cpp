#include "models/graph/Ways.h"

#include <algorithm>

namespace evt::models {
namespace {

constexpr int64_t stageColumns = 512; // of weights, in flight as one copy
constexpr int64_t mostDepth = 6144, mostDownDepth = 4096;
constexpr int64_t mostRows = 192;       // of weights beside 128 tokens: sums and what follows them stay in registers
constexpr int64_t mostPromptRows = 128; // beside 256
constexpr int64_t processors = 132;

int64_t divideUp(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

const Way fewTokens{true, "", mostStreaming};
const Way manyTokens{false, "wide_", 128};
const Way promptTokens{false, "deep_", 256};

int64_t Way::rowsOf(int64_t n, int64_t matrices, bool divides) const {
  if (streams)
    return 8;
  if (tokens == promptTokens.tokens) {
    // As many as sums fit into registers. Where tasks divide the residual stream, whole tasks of many tokens.
    for (int64_t rows = mostPromptRows / matrices; rows > 8; rows -= 8)
      if (!divides || (n % rows == 0 && rows % manyTokens.rowsOf(n, matrices, divides) == 0))
        return rows;
    return 8;
  }
  // Few enough tasks for the last round over a GPU's processors to be full, and as many rows as that allows, since a
  // task fetches its tokens for all of them.
  int64_t best = 8, least = INT64_MAX;
  for (int64_t rows = 8; rows <= mostRows / matrices; rows += 8) {
    if (divides && n % (8 * rows))
      continue;
    const int64_t rounds = divideUp(divideUp(n, rows), processors), cost = rounds * (rows * matrices + tokens / 4);
    if (cost <= least) {
      best = rows;
      least = cost;
    }
  }
  return best;
}

int64_t Way::step(int64_t depth) const {
  if (!streams)
    return 64;
  int64_t step = stageColumns;
  while (step > 8 && depth % step)
    step /= 2;
  return std::min(step, depth);
}

std::vector<int64_t> Way::piecesOf(int64_t depth, bool isDown, int64_t hidden) const {
  if (!streams)
    return {depth};
  // Rows as deep as those of the other products need no more registers than they do.
  const int64_t most =
      isDown ? std::max(mostDownDepth, std::min(hidden, mostDepth) / stageColumns * stageColumns) : mostDepth;
  const int64_t fewest = isDown ? 2 : 1;
  int64_t count = std::max({divideUp(depth, most), std::min(fewest, depth / (2 * stageColumns)), int64_t(1)});
  if (count == 1)
    return {depth};
  // Multiples of a stage: smaller ones leave less in flight.
  const int64_t piece = divideUp(depth, stageColumns * count) * stageColumns;
  count = divideUp(depth, piece);
  std::vector<int64_t> pieces(count - 1, piece);
  pieces.push_back(depth - piece * (count - 1));
  return pieces;
}

} // namespace evt::models
