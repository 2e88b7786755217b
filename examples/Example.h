// What the examples written in C++ share: a few pieces of tile programs, and how a program is printed.
//
// A piece is a function of C++ that writes its operations into the device function that calls it.
#pragma once

#include "compiler/builder/Builder.h"

namespace evt::examples {

using namespace evt::builder;

/// g / (1 + exp(-g)).
Tile silu(TileScope &s, Tile g);

/// A chunk of columns of a matrix, from column k on, as a tile.
using Chunk = std::function<Tile(Index k)>;

/// starts[i] + a weights[i]ᵀ for each i, where a and the weights have `depth` columns: `chunk` of them at a time.
std::vector<Tile> products(TileScope &s, int64_t depth, int64_t chunk, std::vector<Tile> starts, const Chunk &a,
                           const std::vector<Chunk> &weights);

/// A softmax over parts, one for each row (query): the largest score, the sum of the weights exp(score - largest), and
/// the sum of the values times their weights. Two of them merge by scaling both to the larger largest score.
struct Softmax {
  Tile largest, sum, values;

  /// Over nothing yet. The largest score starts at -1e30, so the weight of "nothing", exp(-1e30 - largest), is 0.
  static Softmax nothing(TileScope &s, int64_t rows, int64_t columns);
  static Softmax of(const std::vector<Tile> &carried) { return {carried[0], carried[1], carried[2]}; }
  std::vector<Tile> tiles() const { return {largest, sum, values}; }

  /// Scores of the queries with the first `live` keys join. The rest hold anything, NaN included.
  Softmax with(TileScope &s, Tile queries, Tile keys, Tile values, Index live) const;
  Softmax with(TileScope &s, const Softmax &other) const;
};

/// A tile of rows repeated along the columns of `like`.
Tile alongColumns(TileScope &s, Tile rows, Tile like);

/// The body of `main`: prints the program as text; 1 where it is wrong.
int print(mlir::OwningOpRef<mlir::ModuleOp> (*build)(mlir::MLIRContext &));

} // namespace evt::examples
