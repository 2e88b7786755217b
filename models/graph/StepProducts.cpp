// The products of a step: what they multiply, what follows them, and their K in pieces.
#include "models/graph/StepDevices.h"

namespace evt::models {
namespace {

Tile silu(TileScope &s, Tile t) { return s.divideNear(t, s.mathNear("exp", -t) + 1.0); }

} // namespace

std::vector<Tile> StepDevices::products(TileScope &s, const Way &way, const std::string &x, Index token, int64_t rows,
                                        int64_t depth, Index first, const std::vector<Weight> &weights) {
  std::vector<Tile> zeros(weights.size(), s.splat(0, {way.tokens, rows}));
  const int64_t step = way.step(depth);
  return s.loop(0, depth, step, zeros, [&](Index k, std::vector<Tile> sums) {
    Index column = first.value || first.constant ? k + first : k;
    Tile a = s.convert(s.load(s[x], {token, column}, {way.tokens, step}), f32);
    for (size_t i = 0; i < weights.size(); ++i) {
      std::vector<Index> at = weights[i].at;
      at.push_back(column);
      sums[i] = s.matmulTransposed(a, s.convert(s.load(s[weights[i].memory], at, {rows, step}), f32), sums[i]);
    }
    return sums;
  });
}

Tile StepDevices::rootOf(TileScope &s, const Way &way, const std::string &squares, Index token, int64_t columns) {
  int64_t groups = types.at(squares).shape[1];
  Tile sum = s.reduce(Combine::add, s.load(s[squares], {token, 0}, {way.tokens, groups}), {1});
  Tile root = s.mathNear("rsqrt", sum * (1.0 / (double)d) + model.normEpsilon);
  return s.broadcast(root, {way.tokens, columns}, {1});
}

void StepDevices::storeStream(TileScope &s, const Way &way, Tile value, Index token, Index column, Index number,
                              const std::string &norm, Index row) {
  const int64_t tokens = value.shape()[0], columns = value.shape()[1];
  const std::string &w = way.prefix, b = way.buffers();
  Tile weights = s.broadcast(s.load(s[norm], {row, column}, {columns}), {tokens, columns}, {0});
  Tile squares = s.reduce(Combine::add, value * value, {1});
  s.store(value, s[b + "x"], {token, column});
  s.store(s.convert(value * weights, bf16), s[b + "xb"], {token, column});
  s.store(squares, s[w + "squares"], {token, number}, {.sizes = {tokens, 1}});
}

StepDevices::Operator StepDevices::makeOperator(const std::string &name, const Way &way, int64_t rows,
                                                const std::string &x, const std::string &squares,
                                                const std::vector<std::string> &weights,
                                                const std::vector<std::string> &others, const Epilogue &epilogue) {
  const Argument &weight = types.at(weights[0]);
  const bool layered = weight.shape.size() == 3;
  const int64_t n = weight.shape[layered], depth = weight.shape[layered + 1];
  Operator made;
  made.tasks = (n + rows - 1) / rows;
  made.pieces = way.piecesOf(depth, name == "down", d);
  const int64_t piece = made.pieces[0];
  const bool isSplit = made.pieces.size() > 1;

  std::vector<std::string> memories = {x};
  if (!squares.empty())
    memories.push_back(squares);
  memories.insert(memories.end(), weights.begin(), weights.end());
  std::vector<std::string> ends = others;
  if (isSplit) {
    ends.clear();
    for (size_t i = 0; i < weights.size(); ++i) {
      made.parts.push_back(way.prefix + name + "_part" + std::to_string(i));
      declare(made.parts.back(), f32, {(int64_t)made.pieces.size(), dyn, n});
    }
    ends = made.parts;
  }
  memories.insert(memories.end(), ends.begin(), ends.end());

  auto body = [&](TileScope &s, Index number, Index first, int64_t length) {
    Index token = s["t"] * way.tokens, row = s["j"] * rows;
    std::optional<Tile> root;
    if (!squares.empty())
      root = rootOf(s, way, squares, token, rows);
    std::vector<Weight> from;
    for (const std::string &w : weights)
      from.push_back({w, layered ? std::vector<Index>{s["layer"], row} : std::vector<Index>{row}});
    std::vector<Tile> sums = products(s, way, x, token, rows, length, first, from);
    if (root)
      for (Tile &sum : sums)
        sum = sum * *root;
    if (!isSplit)
      return epilogue(s, sums, token, row, s["j"]);
    for (size_t i = 0; i < sums.size(); ++i)
      s.store(sums[i], s[made.parts[i]], {number, token, row});
  };
  const std::string called = way.prefix + name;
  if (!isSplit) {
    // Prompts: neighbours are tiles of tokens that share weights in the cache.
    std::vector<std::string> order = {"t", "j"};
    if (way.tokens == promptTokens.tokens)
      order = {"j", "t"};
    made.tokensInside = way.tokens == promptTokens.tokens;
    made.product = make(called, memories, layered, order, [&](TileScope &s) { body(s, 0, 0, piece); });
    return made;
  }
  made.product =
      make(called, memories, layered, {"t", "s", "j"}, [&](TileScope &s) { body(s, s["s"], s["s"] * piece, piece); });
  const int64_t count = (int64_t)made.pieces.size(), shorter = made.pieces.back();
  if (shorter != piece)
    made.last = make(called + "_last", memories, layered, {"t", "j"},
                     [&](TileScope &s) { body(s, count - 1, (count - 1) * piece, shorter); });
  std::vector<std::string> combined = made.parts;
  combined.insert(combined.end(), others.begin(), others.end());
  made.combine = make(called + "_combine", combined, layered, {"t", "j"}, [&](TileScope &s) {
    Index token = s["t"] * way.tokens, row = s["j"] * rows;
    std::vector<Tile> sums;
    for (const std::string &part : made.parts) {
      Tile sum = s.load(s[part], {0, token, row}, {way.tokens, rows});
      for (int64_t i = 1; i < count; ++i)
        sum = sum + s.load(s[part], {i, token, row}, {way.tokens, rows});
      sums.push_back(sum);
    }
    epilogue(s, sums, token, row, s["j"]);
  });
  return made;
}

void StepDevices::makeProducts(const Way &way, Products &made) {
  const std::string &w = way.prefix, b = way.buffers();
  auto add = [&](const std::string &norm, int64_t ahead) {
    return [this, &way, norm, ahead](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index task) {
      const int64_t tokens = sums[0].shape()[0], rows = sums[0].shape()[1];
      Tile value = sums[0] + s.load(s[way.buffers() + "x"], {token, row}, {tokens, rows});
      Index layer = s["layer"];
      storeStream(s, way, value, token, row, task, norm, ahead ? layer + ahead : layer);
    };
  };
  const std::vector<std::string> stream = {b + "x", b + "xb", w + "squares"};
  auto with = [](std::vector<std::string> names, const std::string &one) {
    names.push_back(one);
    return names;
  };
  if (!way.streams)
    made.qkv = makeOperator("qkv", way, way.rowsOf(projected, 1, false), b + "xb", w + "squares", {"qkv"}, {"wide_qkv"},
                            [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                              s.store(sums[0], s["wide_qkv"], {token, row});
                            });
  made.out = makeOperator("out", way, way.rowsOf(d, 1, true), b + "attention", "", {"o"}, with(stream, "mlp_norm"),
                          add("mlp_norm", 0));
  made.gateUp =
      makeOperator("gate_up", way, way.rowsOf(model.feedForward, 2, false), b + "xb", w + "squares", {"gate", "up"},
                   {b + "h"}, [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                     s.store(s.convert(silu(s, sums[0]) * sums[1], bf16), s[b + "h"], {token, row});
                   });
  made.down = makeOperator("down", way, way.rowsOf(d, 1, true), b + "h", "", {"down"}, with(stream, "attn_norm"),
                           add("attn_norm", 1));
  if (!way.streams)
    made.last = makeLast(way);
}

Made StepDevices::makeLast(const Way &way) {
  const std::string &w = way.prefix, b = way.buffers();
  return make(w + "last", {b + "x", w + "squares", "attn_norm", "last", b + "last_xb"}, false, {"r", "j"},
              [&](TileScope &s) {
                const int64_t groups = types.at(w + "squares").shape[1], columns = lastColumns();
                Index row = s["r"], column = s["j"] * columns;
                Tile x = s.load(s[b + "x"], {row, column}, {1, columns}, {.table = s["last"]});
                Tile squares = s.load(s[w + "squares"], {row, 0}, {1, groups}, {.table = s["last"]});
                Tile mean = s.reduce(Combine::add, squares, {1}) * (1.0 / (double)d);
                Tile root = s.broadcast(s.mathNear("rsqrt", mean + model.normEpsilon), {1, columns}, {1});
                Tile weights = s.load(s["attn_norm"], {s.dim(s["attn_norm"], 0) - 1, column}, {1, columns});
                s.store(s.convert(x * root * weights, bf16), s[b + "last_xb"], {row, column});
              });
}

} // namespace evt::models
