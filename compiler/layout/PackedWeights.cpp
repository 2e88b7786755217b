#include "compiler/layout/PackedWeights.h"

#include <algorithm>
#include <set>

namespace evt::layout {

namespace {

Layout made(std::string_view text) { return *parse(text); }

} // namespace

Swizzle packedSwizzle() { return *sharedSwizzle(packedColumns * packedElementBytes, packedElementBytes); }

Result<Layout> packedWeights(std::span<const int64_t> dims) {
  const size_t rank = dims.size();
  if (rank < 2)
    return Failure{"found a tensor of rank " + std::to_string(rank) + ", required 2 or more"};
  std::vector<int64_t> tiles(dims.begin(), dims.end()), one(rank, 1);
  one[rank - 2] = packedRows;
  one[rank - 1] = packedColumns;
  for (size_t d = 0; d < rank; ++d) {
    if (dims[d] < 1 || dims[d] % one[d] != 0)
      return Failure{"found " + print(dims) + ", required whole tiles of " + print(one)};
    tiles[d] /= one[d];
  }
  auto arranged = Layout::rowMajor(std::move(tiles));
  if (!arranged)
    return arranged;
  return swizzled(*tile(*arranged, *Layout::rowMajor(one)), packedSwizzle());
}

Result<Layout> packedBlock(std::optional<int64_t> rows, std::optional<int64_t> columns) {
  // Without the columns, where the second tile of a row of tiles ends and the next row begins is not known.
  if (!columns)
    return packedWeights(std::array{packedRows, packedColumns});
  return packedWeights(std::array{rows.value_or(packedRows), *columns});
}

Layout laneOfTile() { return made("[8, 32] -> (32:1@lane, 8:1@reg)"); }

Result<Layout> readersOfStage(int64_t columns, int64_t warps) {
  if (warps < 1 || columns < 1 || columns % (warps * packedColumns) != 0)
    return Failure{"found " + std::to_string(columns) + " columns, required a multiple of " +
                   std::to_string(packedColumns) + " for each of " + std::to_string(warps) + " warps"};
  // A warp's tiles are more elements of its lanes.
  const int64_t tiles = columns / (warps * packedColumns);
  auto arranged =
      Layout::make({.shape = {1, warps * tiles}, .sharded = {{warps, 1, Axis::warp}, {tiles, 1, Axis::reg}}});
  return tile(*arranged, laneOfTile());
}

Layout mmaRows() { return made("[16, 16] -> (2:2@reg, 8:4@lane, 2:4@reg, 4:1@lane, 2:1@reg)"); }
Layout mmaColumns() { return made("[8, 16] -> (8:4@lane, 2:2@reg, 4:1@lane, 2:1@reg)"); }
Layout mmaSums() { return made("[16, 8] -> (2:2@reg, 8:4@lane, 4:1@lane, 2:1@reg)"); }

SharedRequests sharedRequests(std::span<const int64_t> byteAddresses, int64_t bytes) {
  constexpr int64_t banks = 32, bankBytes = 4;
  assert(bytes == 4 || bytes == 8 || bytes == 16);
  const auto lanes = static_cast<int64_t>(byteAddresses.size()), together = banks * bankBytes / bytes;
  SharedRequests requests{0, 0};
  for (int64_t first = 0; first < lanes; first += together) {
    std::array<std::set<int64_t>, banks> words; // lanes that want the same word get it at once
    for (int64_t l = first; l < std::min(lanes, first + together); ++l)
      for (int64_t b = 0; b < bytes; b += bankBytes) {
        const int64_t word = (byteAddresses[static_cast<size_t>(l)] + b) / bankBytes;
        words[static_cast<size_t>(word % banks)].insert(word);
      }
    size_t most = 0;
    for (const auto &w : words)
      most = std::max(most, w.size());
    requests.needed += static_cast<int64_t>(most);
    ++requests.least;
  }
  return requests;
}

} // namespace evt::layout
