// The device functions of a step's program, for one of its ways (few tokens, many).
#pragma once

#include "models/graph/StepMemories.h"

namespace evt::models {

/// A device function and the graph's memories that it takes, by their names.
struct Made {
  Device device;
  std::vector<std::string> memories;
  bool layered = false; // takes the layer, too
};

class StepDevices : protected StepMemories {
protected:
  using StepMemories::StepMemories;

  /// A product and what follows it, its K in pieces where tasks stream and it is long. @name leaves a piece's sums in
  /// `parts`; @combine adds them in order and ends the tile.
  struct Operator {
    Made product;
    std::optional<Made> last, combine; // a last piece that is shorter
    int64_t tasks = 0;                 // of a tile of tokens
    bool tokensInside = false;         // the tile of tokens is the inner coordinate
    std::vector<int64_t> pieces;
    std::vector<std::string> parts;
  };

  /// Products, and what reads their sums of squares.
  struct Products {
    std::optional<Operator> qkv; // not of few tokens, which have a product for each kind of head
    Operator out, gateUp, down;
    std::optional<Made> last; // not of few tokens: the rows of which logits are wanted
  };

  struct Devices : Products {
    Made embed, angles;
    std::optional<Made> remember;                         // few tokens: a part of angles
    std::optional<Made> query, key, value;                // few tokens: a product each, which ends with the rotation
    std::optional<Made> rotate, appendKeys, appendValues; // many: heads, normed, rotated and stored
    std::optional<Made> settle;                           // few, where heads have norms: keys in their final form
    Made attend;
    std::optional<Made> merge;
    std::optional<Made> attendRuns;                // many: tokens in long runs
    std::optional<Made> attendPairs, attendEights; // of short ones, two heads at a time; 8 tokens at a time
    std::optional<Products> prompt;                // many: of prompts
    Operator logits;
    Made best, next;
  };

  Devices devices(const Way &way);

  /// Columns of the embedding that a task takes: several times what the sums of squares are of.
  int64_t embedColumns(const Way &way) const;
  /// Tokens of a tile that attends as one: with the query heads of a group, as many rows as the warps have.
  int64_t runTile() const;

private:
  Made make(const std::string &name, std::vector<std::string> memories, bool layered, std::vector<std::string> coords,
            const std::function<void(TileScope &)> &body);

  //===-- before the layers and behind the head (StepDevices.cpp) -----------------------------------------------===//

  /// Tokens go to the slots of their keys, where penalties find them. Many tokens in one task, since which slots they
  /// have is data: no order of tasks is left to it. Few are a part of @angles.
  Made makeRemember(const Way &way);
  /// Rows of the embedding, in tiles of 8 tokens.
  Made makeEmbed(const Way &way);

  //===-- products (StepProducts.cpp) ---------------------------------------------------------------------------===//

  struct Weight {
    std::string memory;
    std::vector<Index> at; // of the first row: the layer, where there are layers, and the row
  };
  /// The products of rows of `x` from (token, first) on, `depth` columns, with rows of weights.
  std::vector<Tile> products(TileScope &s, const Way &way, const std::string &x, Index token, int64_t rows,
                             int64_t depth, Index first, const std::vector<Weight> &weights);
  /// The root of the norm of rows of the residual stream, repeated over `columns`.
  Tile rootOf(TileScope &s, const Way &way, const std::string &squares, Index token, int64_t columns);
  /// Writes new columns of the residual stream: x itself, what products read of it, and the sum of their squares.
  void storeStream(TileScope &s, const Way &way, Tile value, Index token, Index column, Index number,
                   const std::string &norm, Index row);

  using Epilogue = std::function<void(TileScope &, std::vector<Tile>, Index token, Index row, Index task)>;
  Operator makeOperator(const std::string &name, const Way &way, int64_t rows, const std::string &x,
                        const std::string &squares, const std::vector<std::string> &weights,
                        const std::vector<std::string> &others, const Epilogue &epilogue);
  void makeProducts(const Way &way, Products &made);
  /// The rows of which logits are wanted, normed.
  Made makeLast(const Way &way);

  //===-- queries, keys and values (StepHeads.cpp) --------------------------------------------------------------===//

  struct Rotated {
    Tile low, high;
  };
  Rotated rotate(TileScope &s, const Way &way, Tile low, Tile high, Index token, Index column);
  Tile normWeights(TileScope &s, const std::string &norm, Index column, std::vector<int64_t> shape);
  /// Few tokens: columns 8 i … and half + 8 i … of head `n`, which the rotation needs together. The root of a head's
  /// norm needs all of it, so queries and keys are stored without it, and the sums of squares of these columns beside
  /// them.
  Made makeHead(const Way &way, const std::string &kind, int64_t firstHead);
  /// Many tokens: after one product for all heads, tasks that rotate and store a few tokens of a head.
  void makeRotations(const Way &way, Devices &made);
  /// Few tokens: the keys of a head that the step has stored without the root of their norm get it, for steps to come.
  Made makeSettle(const Way &way);

  //===-- attention (StepAttention.cpp) -------------------------------------------------------------------------===//

  std::vector<std::string> attentionMemories(const Way &way);
  TileScope::Attention cacheOf(TileScope &s, Index request, Index h);
  /// How many positions a part has: as few as give at most mostParts parts. It depends on the request's own length
  /// alone, so the result does not depend on who else is in the step.
  static Index partOf(Index length) { return ceildiv(length, fewestPositions * mostParts) * fewestPositions; }
  static TileScope::SoftmaxParts softmaxParts(TileScope &s) { return {s["part_m"], s["part_sum"], s["part_acc"]}; }
  /// A task has `share` parts of its request, which is the launch's choice, and makes no difference to their bits.
  Made makeSplitAttention(const Way &way);
  void storeAttention(TileScope &s, const Way &way, const TileScope::SoftmaxPart &all, Index token, Index h,
                      int64_t rows);
  Made makeMerge(const Way &way);
  TileScope::TokenRuns runs(TileScope &s) { return {s["requests"], s["positions"], enoughForTiles}; }
  /// Many tokens: those in short runs, each by itself, `each` one after another.
  Made makeTokenAttention(const Way &way, const std::string &name, int64_t each, int64_t heads = 1);
  /// Many tokens: those in long runs.
  Made makeRunAttention(const Way &way);
};

} // namespace evt::models
