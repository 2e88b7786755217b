#include "Example.h"

#include <iostream>

namespace evt::examples {

Tile silu(TileScope &s, Tile g) { return g / (s.math("exp", -g) + 1.0); }

std::vector<Tile> products(TileScope &s, int64_t depth, int64_t chunk, std::vector<Tile> starts, const Chunk &a,
                           const std::vector<Chunk> &weights) {
  return s.loop(0, depth, chunk, starts, [&](Index k, std::vector<Tile> sums) {
    Tile left = a(k);
    std::vector<Tile> next;
    for (size_t i = 0; i < weights.size(); ++i)
      next.push_back(s.matmulTransposed(left, weights[i](k), sums[i]));
    return next;
  });
}

Tile alongColumns(TileScope &s, Tile rows, Tile like) { return s.broadcast(rows, like.shape(), {1}); }

Softmax Softmax::nothing(TileScope &s, int64_t rows, int64_t columns) {
  return {s.splat(-1e30, {rows}), s.splat(0, {rows}), s.splat(0, {rows, columns})};
}

Softmax Softmax::with(TileScope &s, Tile queries, Tile keys, Tile columns, Index live) const {
  int64_t slots = keys.shape()[0];
  std::vector<int64_t> shape = {queries.shape()[0], slots};
  Tile none = s.splat(0, shape);
  Tile scores = s.matmulTransposed(queries, keys, none);
  Tile isLive = s.compare(Compare::less, s.iota(shape, 1), s.splat(live, shape));
  Tile masked = s.select(isLive, scores, s.splat(-1e30, shape));
  Tile isLiveRow = s.compare(Compare::less, s.iota(columns.shape(), 0), s.splat(live, columns.shape()));
  Tile liveColumns = s.select(isLiveRow, columns, s.splat(0, columns.shape()));

  Tile newLargest = s.reduce(Combine::max, masked, {1}, largest);
  Tile weights = s.select(isLive, s.math("exp", masked - alongColumns(s, newLargest, masked)), none);
  Tile keep = s.math("exp", largest - newLargest);
  return {newLargest, s.reduce(Combine::add, weights, {1}, sum * keep),
          s.matmul(weights, liveColumns, values * alongColumns(s, keep, values))};
}

Softmax Softmax::with(TileScope &s, const Softmax &other) const {
  Tile newLargest = s.maximum(largest, other.largest);
  Tile keep = s.math("exp", largest - newLargest), keepOther = s.math("exp", other.largest - newLargest);
  return {newLargest, sum * keep + other.sum * keepOther,
          values * alongColumns(s, keep, values) + other.values * alongColumns(s, keepOther, values)};
}

int print(mlir::OwningOpRef<mlir::ModuleOp> (*build)(mlir::MLIRContext &)) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  mlir::OwningOpRef<mlir::ModuleOp> program = build(context);
  if (!program)
    return 1;
  std::cout << textOf(*program) << "\n";
  return 0;
}

} // namespace evt::examples
