// The device functions of a step's program.
#pragma once

#include "models/graph/StepMemories.h"

#include <cmath>

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

  Made make(const std::string &name, std::vector<std::string> memories, bool layered, std::vector<std::string> coords,
            const std::function<void(TileScope &)> &body) {
    std::vector<Argument> arguments;
    for (const std::string &m : memories)
      arguments.push_back(types.at(m));
    if (layered)
      arguments.push_back(scalar("layer"));
    return {program.device(name, arguments, std::move(coords), body), memories, layered};
  }

  struct Weight {
    std::string memory;
    std::vector<Index> at; // of the first row: the layer, where there are layers, and the row
  };

  /// The products of rows of `x` from (token, first) on, `depth` columns, with rows of weights.
  std::vector<Tile> products(TileScope &s, const Way &way, const std::string &x, Index token, int64_t rows,
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

  /// The root of the norm of rows of the residual stream, repeated over `columns`.
  Tile rootOf(TileScope &s, const Way &way, const std::string &squares, Index token, int64_t columns) {
    int64_t groups = types.at(squares).shape[1];
    Tile sum = s.reduce(Combine::add, s.load(s[squares], {token, 0}, {way.tokens, groups}), {1});
    Tile root = s.mathNear("rsqrt", sum * (1.0 / (double)d) + model.normEpsilon);
    return s.broadcast(root, {way.tokens, columns}, {1});
  }

  /// Writes new columns of the residual stream: x itself, what products read of it, and the sum of their squares.
  void storeStream(TileScope &s, const Way &way, Tile value, Index token, Index column, Index number,
                   const std::string &norm, Index row) {
    const int64_t tokens = value.shape()[0], columns = value.shape()[1];
    const std::string &w = way.prefix, b = way.buffers();
    Tile weights = s.broadcast(s.load(s[norm], {row, column}, {columns}), {tokens, columns}, {0});
    Tile squares = s.reduce(Combine::add, value * value, {1});
    s.store(value, s[b + "x"], {token, column});
    s.store(s.convert(value * weights, bf16), s[b + "xb"], {token, column});
    s.store(squares, s[w + "squares"], {token, number}, {.sizes = {tokens, 1}});
  }

  static Tile silu(TileScope &s, Tile t) { return s.divideNear(t, s.mathNear("exp", -t) + 1.0); }

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
  using Epilogue = std::function<void(TileScope &, std::vector<Tile>, Index token, Index row, Index task)>;

  Operator makeOperator(const std::string &name, const Way &way, int64_t rows, const std::string &x,
                        const std::string &squares, const std::vector<std::string> &weights,
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

  /// Products, and what reads their sums of squares.
  struct Products {
    std::optional<Operator> qkv; // not of few tokens, see below
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

  void makeProducts(const Way &way, Products &made) {
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
      made.qkv = makeOperator("qkv", way, way.rowsOf(projected, 1, false), b + "xb", w + "squares", {"qkv"},
                              {"wide_qkv"}, [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
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

  Devices devices(const Way &way) {
    const std::string &w = way.prefix;
    Devices made;
    made.embed = makeEmbed(way);
    std::vector<std::string> ofAngles = {"positions", "frequencies", w + "cosines", w + "sines"};
    if (way.streams)
      ofAngles.insert(ofAngles.end(), {"tokens", "slots", "history"});
    made.angles = make(w + "angles", ofAngles, false, {"i"}, [&](TileScope &s) {
      // Loads side by side, then stores side by side: all of the step waits for this task.
      Index token = s["i"] * 8;
      Tile positions = s.load(s["positions"], {token}, {8}), frequencies = s.load(s["frequencies"], {0}, {half});
      std::optional<Tile> tokens;
      if (way.streams)
        tokens = s.load(s["tokens"], {token}, {8});
      Tile angle = s.broadcast(s.convert(positions, f32), {8, half}, {1}) * s.broadcast(frequencies, {8, half}, {0});
      Tile cosine = s.math("cos", angle), sine = s.math("sin", angle);
      s.store(cosine, s[w + "cosines"], {token, 0});
      s.store(sine, s[w + "sines"], {token, 0});
      if (tokens)
        s.store(*tokens, s["history"], {token}, {.table = s["slots"]});
    });
    if (!way.streams)
      made.remember = makeRemember(way);
    if (way.streams) {
      made.query = makeHead(way, "query", 0);
      made.key = makeHead(way, "key", model.heads);
      made.value = makeHead(way, "value", model.heads + model.kvHeads);
      if (model.hasQkNorm)
        made.settle = makeSettle(way);
    } else {
      makeRotations(way, made);
    }
    if (way.streams) {
      made.attend = makeSplitAttention(way);
      made.merge = makeMerge(way);
    } else {
      made.attend = makeTokenAttention(way, "attend", 1);
      if (model.kvHeads % 2 == 0 && !limits.sameBits) // which sum in another order
        made.attendPairs = makeTokenAttention(way, "attend_pairs", 1, 2);
      made.attendEights = makeTokenAttention(way, "attend_eights", 8);
      made.attendRuns = makeRunAttention(way);
      makeProducts(promptTokens, made.prompt.emplace());
    }
    makeProducts(way, made);
    if (way.streams) {
      // A tile has all tokens: those of which logits are wanted store them where the table says, others nowhere.
      made.logits =
          makeOperator("logits", way, way.headRows(), w + "xb", w + "squares", {"head"}, {"logits", "outputs"},
                       [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                         s.store(sums[0], s["logits"], {token, row}, {.sizes = sums[0].shape(), .table = s["outputs"]});
                       });
    } else {
      made.logits = makeOperator("logits", way, way.headRows(), w + "last_xb", "", {"head"}, {"logits"},
                                 [&](TileScope &s, std::vector<Tile> sums, Index token, Index row, Index) {
                                   s.store(sums[0], s["logits"], {token, row});
                                 });
    }
    auto sampling = [](TileScope &s) {
      return TileScope::Sampling{s["logits"], s["scaled"], s["rates"], s["choices"], chunk};
    };
    made.best = make(w + "best", {"logits", "rates", "choices", "history", "pages", "scaled", w + "candidates"}, false,
                     {"r", "c"}, [&](TileScope &s) {
                       Tile part =
                           s.draw(sampling(s), s["history"], s["pages"], limits.pageSlots, s["r"], s["c"] * chunk);
                       s.store(part, s[w + "candidates"], {s["r"], s["c"], 0});
                     });
    made.next = make(w + "next", {w + "candidates", "scaled", "logits", "rates", "choices", "next", "logprobs"}, false,
                     {"r"}, [&](TileScope &s) {
                       TileScope::Sampled sampled = s.sample(sampling(s), s[w + "candidates"], s["r"]);
                       s.store(sampled.token, s["next"], {s["r"]});
                       s.store(sampled.logprob, s["logprobs"], {s["r"]});
                     });
    return made;
  }

  Made makeLast(const Way &way) {
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

  /// Tokens go to the slots of their keys, where penalties find them. Many tokens in one task, since which slots they
  /// have is data: no order of tasks is left to it. Few are a part of @angles.
  Made makeRemember(const Way &way) {
    return make(way.prefix + "remember", {"tokens", "slots", "history"}, false, {"all"}, [&](TileScope &s) {
      s.loop(0, s.dim(s["tokens"], 0), 128, {}, [&](Index token, std::vector<Tile> none) {
        s.store(s.load(s["tokens"], {token}, {128}), s["history"], {token}, {.table = s["slots"]});
        return none;
      });
    });
  }

  /// Columns of the embedding that a task takes: several times what the sums of squares are of.
  int64_t embedColumns(const Way &way) const {
    int64_t columns = (way.streams ? way : promptTokens).rowsOf(d, 1, true);
    while (columns < 64 && d % (2 * columns) == 0)
      columns *= 2;
    return columns;
  }

  /// Rows of the embedding, in tiles of 8 tokens.
  Made makeEmbed(const Way &way) {
    const std::string &w = way.prefix;
    const int64_t columns = embedColumns(way), of = way.rowsOf(d, 1, true), groups = columns / of;
    std::vector<std::string> memories = {"tokens", "embedding", "attn_norm", w + "x", w + "xb", w + "squares"};
    if (!way.streams)
      memories.push_back("deep_squares");
    return make(w + "embed", memories, false, {"i", "j"}, [&](TileScope &s) {
      Index token = s["i"] * 8, column = s["j"] * columns;
      Tile value = s.convert(s.load(s["embedding"], {token, column}, {8, columns}, {.table = s["tokens"]}), f32);
      Tile weights = s.broadcast(s.load(s["attn_norm"], {0, column}, {columns}), {8, columns}, {0});
      s.store(value, s[w + "x"], {token, column});
      s.store(s.convert(value * weights, bf16), s[w + "xb"], {token, column});
      Tile squares = s.reduce(Combine::add, s.reshape(value * value, {8, groups, of}), {2});
      s.store(squares, s[w + "squares"], {token, s["j"] * groups});
      if (way.streams)
        return;
      // Those of prompts are of more columns.
      const int64_t deepOf = promptTokens.rowsOf(d, 1, true), wider = deepOf / of;
      Tile sums = s.reduce(Combine::add, s.reshape(squares, {8, groups / wider, wider}), {2});
      s.store(sums, s["deep_squares"], {token, s["j"] * (groups / wider)});
    });
  }

  struct Rotated {
    Tile low, high;
  };
  Rotated rotate(TileScope &s, const Way &way, Tile low, Tile high, Index token, Index column) {
    Tile c = s.load(s[way.prefix + "cosines"], {token, column}, low.shape());
    Tile n = s.load(s[way.prefix + "sines"], {token, column}, low.shape());
    return {low * c - high * n, high * c + low * n};
  }

  Tile normWeights(TileScope &s, const std::string &norm, Index column, std::vector<int64_t> shape) {
    return s.broadcast(s.load(s[norm], {s["layer"], column}, {shape[1]}), shape, {0});
  }

  /// Few tokens: columns 8 i … and half + 8 i … of head `n`, which the rotation needs together. The root of a head's
  /// norm needs all of it, so queries and keys are stored without it, and the sums of squares of these columns beside
  /// them.
  Made makeHead(const Way &way, const std::string &kind, int64_t firstHead) {
    const std::string &w = way.prefix;
    const bool isQuery = kind == "query", isValue = kind == "value", isNormed = model.hasQkNorm && !isValue;
    const std::string target = isQuery ? w + "q" : isValue ? "values" : "keys";
    const std::string squares = isQuery ? w + "q_squares" : "key_squares", norm = isQuery ? "q_norm" : "k_norm";
    std::vector<std::string> memories = {w + "xb", w + "squares", "qkv", target};
    if (!isValue)
      memories.insert(memories.end(), {w + "cosines", w + "sines"});
    if (isNormed)
      memories.insert(memories.end(), {norm, squares});
    if (!isQuery)
      memories.push_back("slots");
    return make(w + kind, memories, true, {"t", "n", "i"}, [&](TileScope &s) {
      Index token = s["t"] * way.tokens, column = s["i"] * 8, layer = s["layer"];
      Index row = Index(s["n"]) * head + column + firstHead * head;
      Tile root = rootOf(s, way, w + "squares", token, 8);
      std::vector<Tile> sums =
          products(s, way, w + "xb", token, 8, d, 0, {{"qkv", {layer, row}}, {"qkv", {layer, row + half}}});
      Tile low = sums[0] * root, high = sums[1] * root;
      if (isNormed) {
        Tile both = s.reduce(Combine::add, low * low + high * high, {1});
        if (isQuery)
          s.store(both, s[squares], {token, Index(s["n"]) * parts + s["i"]}, {.sizes = {8, 1}});
        else
          s.store(both, s[squares], {layer, s["n"], token, s["i"]},
                  {.sizes = {1, 1, 8, 1}, .table = s["slots"], .tableDim = 2});
        low = low * normWeights(s, norm, column, {8, 8});
        high = high * normWeights(s, norm, column + half, {8, 8});
      }
      if (!isValue) {
        Rotated r = rotate(s, way, low, high, token, column);
        low = r.low;
        high = r.high;
      }
      auto store = [&](Tile value, Index at) {
        if (isQuery)
          s.store(s.convert(value, bf16), s[target], {token, Index(s["n"]) * head + at});
        else
          s.store(s.convert(value, bf16), s[target], {layer, s["n"], token, at},
                  {.sizes = {1, 1, 8, 8}, .table = s["slots"], .tableDim = 2});
      };
      store(low, column);
      store(high, column + half);
    });
  }

  /// Many tokens: after one product for all heads, tasks that rotate and store a few tokens of a head.
  void makeRotations(const Way &way, Devices &made) {
    const std::string &w = way.prefix;
    auto rotation = [&](const std::string &kind, const std::string &target, const std::string &norm,
                        int64_t firstHead) {
      const bool isKey = target == "keys", isCached = isKey || target == "values", turns = !norm.empty();
      const bool hasNorm = turns && model.hasQkNorm;
      std::vector<std::string> memories = {"wide_qkv", target};
      if (turns)
        memories.insert(memories.end(), {w + "cosines", w + "sines"});
      if (isCached)
        memories.push_back("slots");
      if (hasNorm)
        memories.push_back(norm);
      if (hasNorm && isKey)
        memories.push_back("key_squares");
      return make(w + kind, memories, true, {"i", "n"}, [=, this](TileScope &s) {
        TileScope::HeadRotation how{s["wide_qkv"], s[target],        {}, {}, {}, {}, {}, rotatedTokens,
                                    head,          model.normEpsilon};
        if (turns) {
          how.cosines = s[w + "cosines"];
          how.sines = s[w + "sines"];
        }
        if (isCached)
          how.slots = s["slots"];
        if (hasNorm)
          how.weights = s[norm];
        if (hasNorm && isKey)
          how.squares = s["key_squares"];
        s.rotateHead(how, s["i"] * rotatedTokens, (s["n"] + firstHead) * head, s["layer"], s["n"]);
      });
    };
    made.rotate = rotation("rotate", w + "q", "q_norm", 0);
    made.appendKeys = rotation("append_keys", "keys", "k_norm", model.heads);
    made.appendValues = rotation("append_values", "values", "", model.heads + model.kvHeads);
  }

  /// Few tokens: the keys of a head that the step has stored without the root of their norm get it, for steps to come.
  Made makeSettle(const Way &way) {
    return make(way.prefix + "settle", {"keys", "key_squares", "slots"}, false, {"t", "l", "h"}, [&](TileScope &s) {
      const std::vector<int64_t> keys = {1, 1, way.tokens, head}, sums = {1, 1, way.tokens, parts};
      const std::vector<Index> at = {s["l"], s["h"], s["t"] * way.tokens, 0};
      Tile key = s.load(s["keys"], at, keys, {.table = s["slots"], .tableDim = 2});
      Tile squares = s.load(s["key_squares"], at, sums, {.table = s["slots"], .tableDim = 2});
      // The bits of evt.attend_parts, which has them in this step.
      Tile mean = s.reduce(Combine::add, squares, {3}) / (double)head;
      Tile root = s.broadcast(s.mathNear("rsqrt", mean + model.normEpsilon), keys, {3});
      s.store(s.convert(s.convert(key, f32) * root, bf16), s["keys"], at,
              {.sizes = keys, .table = s["slots"], .tableDim = 2});
      s.store(s.splat((1 - model.normEpsilon) * (double)(head / parts), sums), s["key_squares"], at,
              {.sizes = sums, .table = s["slots"], .tableDim = 2});
    });
  }

  std::vector<std::string> attentionMemories(const Way &way) {
    return {way.prefix + "q", "keys", "values", "pages", "requests", "positions"};
  }

  TileScope::Attention cacheOf(TileScope &s, Index request, Index h) {
    return {s["keys"], s["values"], s["pages"], s["layer"], request, h, limits.pageSlots};
  }

  /// How many positions a part has: as few as give at most mostParts parts. It depends on the request's own length
  /// alone, so the result does not depend on who else is in the step.
  static Index partOf(Index length) { return ceildiv(length, fewestPositions * mostParts) * fewestPositions; }

  static TileScope::SoftmaxParts softmaxParts(TileScope &s) { return {s["part_m"], s["part_sum"], s["part_acc"]}; }

  /// A task has `share` parts of its request, which is the launch's choice, and makes no difference to their bits.
  Made makeSplitAttention(const Way &way) {
    const std::string &w = way.prefix;
    std::vector<std::string> memories = attentionMemories(way);
    memories.insert(memories.end(), {"part_m", "part_sum", "part_acc"});
    if (model.hasQkNorm)
      memories.insert(memories.end(), {w + "q_squares", "key_squares"});
    return make(w + "attend", memories, true, {"t", "h", "s"}, [&](TileScope &s) {
      Index token = s["t"], h = s["h"], number = s["s"];
      Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
      Index part = partOf(length), begin = part * number * s.dim(s["part_m"], 3);
      TileScope::Query query{s[w + "q"], token, h * (group * head), group, 1.0 / std::sqrt((double)head)};
      if (model.hasQkNorm) {
        query.squares = s[w + "q_squares"];
        query.squaresColumn = h * (group * parts);
        query.keySquares = s["key_squares"];
        query.epsilon = model.normEpsilon;
      }
      // A step writes no more positions of a request than it has tokens, the last ones up to the token's own.
      Index settled = length - s.dim(s["positions"], 0);
      s.attendParts(query, cacheOf(s, request, h), {begin, length, part, settled}, softmaxParts(s), token, h, number);
    });
  }

  void storeAttention(TileScope &s, const Way &way, const TileScope::SoftmaxPart &all, Index token, Index h,
                      int64_t rows) {
    // The largest score adds exp(0), so the sum of a token that attends to anything is at least 1.
    Tile divisor = s.broadcast(s.maximum(all.sum, s.splat(1.0, {rows})), {rows, head}, {1});
    s.store(s.reshape(s.convert(all.acc / divisor, bf16), {1, rows * head}), s[way.prefix + "attention"],
            {token, h * (group * head)});
  }

  Made makeMerge(const Way &way) {
    return make(way.prefix + "merge", {"part_m", "part_sum", "part_acc", "positions", way.prefix + "attention"}, false,
                {"t", "h"}, [&](TileScope &s) {
                  Index token = s["t"], h = s["h"], length = s.read(s["positions"], {token}) + 1;
                  s.mergeParts(softmaxParts(s), token, h, length, partOf(length), s[way.prefix + "attention"], token,
                               h * (group * head));
                });
  }

  TileScope::TokenRuns runs(TileScope &s) { return {s["requests"], s["positions"], enoughForTiles}; }

  /// Many tokens: those in short runs, each by itself, `each` one after another.
  Made makeTokenAttention(const Way &way, const std::string &name, int64_t each, int64_t heads = 1) {
    std::vector<std::string> memories = attentionMemories(way);
    memories.push_back(way.prefix + "attention");
    return make(way.prefix + name, memories, true, {"i", "h"}, [&, each, heads](TileScope &s) {
      Index h = s["h"] * heads;
      auto attend = [&](Index token) {
        s.loop(0, s.shortTokens(runs(s), token, 1), 1, {}, [&](Index, std::vector<Tile>) {
          Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
          const int64_t rows = heads * group;
          Tile query =
              s.reshape(s.load(s[way.prefix + "q"], {token, h * (group * head)}, {1, rows * head}), {rows, head});
          Tile scales = s.splat(1.0 / std::sqrt((double)head), {rows});
          TileScope::Attention over = cacheOf(s, request, h);
          over.heads = heads;
          // Of a request whose tokens are a short run the step writes no earlier positions.
          Index settled = length - enoughForTiles;
          storeAttention(s, way, s.attend(query, scales, over, 0, length, settled), token, h, rows);
          return std::vector<Tile>();
        });
      };
      if (each == 1)
        return attend(s["i"]);
      Index first = s["i"] * each;
      s.loop(0, least(s.shortTokens(runs(s), first, each), 1), 1, {}, [&](Index, std::vector<Tile>) {
        return s.loop(0, each, 1, {}, [&](Index i, std::vector<Tile>) {
          attend(first + i);
          return std::vector<Tile>();
        });
      });
    });
  }

  /// Tokens of a tile that attends as one: with the query heads of a group, as many rows as the warps have.
  int64_t runTile() const {
    int64_t tokens = manyTokens.tokens;
    while (tokens > 1 && tokens * group > 128)
      tokens /= 2;
    return tokens;
  }

  /// Many tokens: those in long runs.
  Made makeRunAttention(const Way &way) {
    std::vector<std::string> memories = attentionMemories(way);
    memories.push_back(way.prefix + "attention");
    return make(way.prefix + "attend_runs", memories, true, {"t", "h"}, [&](TileScope &s) {
      TileScope::TokenAttention how{s[way.prefix + "q"], s[way.prefix + "attention"], runTile(), group,
                                    1.0 / std::sqrt((double)head)};
      s.attendTokens(how, runs(s), cacheOf(s, 0, s["h"]), s["t"] * runTile());
    });
  }
};

} // namespace evt::models
