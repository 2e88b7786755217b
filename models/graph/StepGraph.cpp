#include "models/graph/StepGraph.h"

#include "models/graph/StepSizes.h"
#include "models/graph/Ways.h"

#include "compiler/builder/Builder.h"

#include <cmath>
#include <map>
#include <stdexcept>

using namespace evt::builder;

namespace evt::models {
namespace {

/// A device function and the graph's memories that it takes, by their names.
struct Made {
  Device device;
  std::vector<std::string> memories;
  bool layered = false; // takes the layer, too
};

class Step {
public:
  Step(mlir::MLIRContext &context, const ModelConfig &model, const StepLimits &limits)
      : program(context), model(model), limits(limits), d(model.hidden), head(model.headDim), half(model.headDim / 2),
        group(model.heads / model.kvHeads), queries(model.heads * model.headDim),
        projected((model.heads + 2 * model.kvHeads) * model.headDim), parts(half / 8) {
    if (d % 8)
      throw std::invalid_argument("a hidden size of " + std::to_string(d) + ": required a multiple of 8");
    if (head % 16)
      throw std::invalid_argument("a head of " + std::to_string(head) + " columns: required a multiple of 16");
  }

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    declareMemories();
    std::vector<Argument> arguments;
    for (const std::string &name : argumentNames())
      arguments.push_back(isWeight(name) || isTable(name) ? types.at(name).immutable() : types.at(name));
    arguments.push_back(scalar("splits", 1, mostParts));
    arguments.push_back(scalar("share", 1, mostParts));
    arguments.push_back(scalar("page_size", limits.pageSlots, limits.pageSlots));
    Devices few = devices(fewTokens), many = devices(manyTokens);
    program.graph("step", arguments, [&](GraphScope &g) { graph(g, few, many); });
    return program.take();
  }

private:
  //===-- memories ------------------------------------------------------------------------------------------------===//

  std::vector<std::string> argumentNames() const {
    std::vector<std::string> names = {"tokens",  "positions", "requests", "slots",   "pages",
                                      "outputs", "last",      "rates",    "choices", "frequencies"};
    std::vector<std::string> weights = {"embedding", "attn_norm", "qkv"};
    if (model.hasQkNorm)
      weights.insert(weights.end(), {"q_norm", "k_norm"});
    weights.insert(weights.end(), {"o", "mlp_norm", "gate", "up", "down", "head"});
    names.insert(names.end(), weights.begin(), weights.end());
    names.insert(names.end(), {"keys", "values"});
    if (model.hasQkNorm)
      names.push_back("key_squares");
    names.insert(names.end(), {"history", "logits", "next", "logprobs"});
    return names;
  }
  bool isTable(const std::string &name) const {
    return name == "tokens" || name == "positions" || name == "requests" || name == "slots" || name == "pages" ||
           name == "outputs" || name == "last" || name == "rates" || name == "choices" || name == "frequencies";
  }
  bool isWeight(const std::string &name) const {
    return !isTable(name) && name != "keys" && name != "values" && name != "key_squares" && name != "history" &&
           name != "logits" && name != "next" && name != "logprobs";
  }

  void declare(const std::string &name, Element element, std::vector<int64_t> shape) {
    types.insert_or_assign(name, tensor(name, element, std::move(shape)));
  }

  void declareMemories() {
    for (const char *name : {"tokens", "positions", "requests", "slots", "outputs", "last"})
      declare(name, i32, {dyn});
    declare("pages", i32, {dyn, dyn});
    declare("rates", f32, {dyn, 8});
    declare("choices", i32, {dyn, 8});
    declare("history", i32, {dyn});
    declare("logprobs", f32, {dyn});
    declare("scaled", f32, {dyn, model.vocabulary});
    declare("frequencies", f32, {half});
    declare("embedding", bf16, {model.vocabulary, d});
    declare("attn_norm", f32, {dyn, d});
    declare("mlp_norm", f32, {dyn, d});
    declare("qkv", bf16, {dyn, projected, d});
    declare("q_norm", f32, {dyn, head});
    declare("k_norm", f32, {dyn, head});
    declare("o", bf16, {dyn, d, queries});
    declare("gate", bf16, {dyn, model.feedForward, d});
    declare("up", bf16, {dyn, model.feedForward, d});
    declare("down", bf16, {dyn, d, model.feedForward});
    declare("head", bf16, {model.vocabulary, d});
    declare("keys", bf16, {dyn, dyn, model.kvHeads, head});
    declare("values", bf16, {dyn, dyn, model.kvHeads, head});
    declare("key_squares", f32, {dyn, dyn, model.kvHeads, parts});
    declare("logits", f32, {dyn, model.vocabulary});
    declare("next", i32, {dyn});
    // Buffers: the residual stream, what products read of it (times the next norm's weights) and the sums of squares of
    // its columns; queries, parts of attention and their merge, activations; what the head reads.
    for (const Way &way : {fewTokens, manyTokens}) {
      const std::string &w = way.prefix;
      declare(w + "x", f32, {dyn, d});
      declare(w + "xb", bf16, {dyn, d});
      declare(w + "squares", f32, {dyn, d / way.rowsOf(d, 1, true)});
      declare(w + "cosines", f32, {dyn, half});
      declare(w + "sines", f32, {dyn, half});
      declare(w + "q", bf16, {dyn, queries});
      declare(w + "q_squares", f32, {dyn, model.heads * parts});
      declare(w + "attention", bf16, {dyn, queries});
      declare(w + "h", bf16, {dyn, model.feedForward});
      declare(w + "last_xb", bf16, {dyn, d});
      declare(w + "candidates", f32, {dyn, chunks(), 4});
    }
    declare("deep_squares", f32, {dyn, d / promptTokens.rowsOf(d, 1, true)});
    declare("wide_qkv", f32, {dyn, projected});
    declare("part_m", f32, {dyn, model.kvHeads, dyn, dyn, group});
    declare("part_sum", f32, {dyn, model.kvHeads, dyn, dyn, group});
    declare("part_acc", f32, {dyn, model.kvHeads, dyn, dyn, group, head});
  }

  //===-- device functions
  //------------------------------------------------------------------------------------------===//

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
    Tile root = s.math("rsqrt", sum * (1.0 / (double)d) + model.normEpsilon);
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

  static Tile silu(TileScope &s, Tile t) { return t / (s.math("exp", -t) + 1.0); }

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
    made.pieces = way.piecesOf(depth, name == "down");
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
    std::optional<Made> remember;          // few tokens: a part of angles
    std::optional<Made> query, key, value; // few tokens: a product each, which ends with the rotation
    std::optional<Made> rotate, append;    // many: rotations of queries, and of keys with their storing and the values'
    Made attend;
    std::optional<Made> merge;
    std::optional<Made> attendRuns, attendEights; // many: of long runs; of short ones, 8 tokens at a time
    std::optional<Products> prompt;               // many: of prompts
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
    } else {
      makeRotations(way, made);
    }
    if (way.streams) {
      made.attend = makeSplitAttention(way);
      made.merge = makeMerge(way);
    } else {
      made.attend = makeTokenAttention(way, "attend", 1);
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
                  Tile root = s.broadcast(s.math("rsqrt", mean + model.normEpsilon), {1, columns}, {1});
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
          s.store(both, s[squares], {layer, token, s["n"], s["i"]},
                  {.sizes = {1, 8, 1, 1}, .table = s["slots"], .tableDim = 1});
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
          s.store(s.convert(value, bf16), s[target], {layer, token, s["n"], at},
                  {.sizes = {1, 8, 1, 8}, .table = s["slots"], .tableDim = 1});
      };
      store(low, column);
      store(high, column + half);
    });
  }

  /// Many tokens: after one product for all heads, tasks that rotate a few tokens of a head.
  void makeRotations(const Way &way, Devices &made) {
    const std::string &w = way.prefix;
    auto rotation = [&](const std::string &kind) {
      const bool isQuery = kind == "rotate";
      const std::string norm = isQuery ? "q_norm" : "k_norm", squares = isQuery ? w + "q_squares" : "key_squares";
      const std::string target = isQuery ? w + "q" : "keys";
      std::vector<std::string> memories = {"wide_qkv", w + "cosines", w + "sines", target};
      if (!isQuery)
        memories.insert(memories.end(), {"values", "slots"});
      if (model.hasQkNorm)
        memories.insert(memories.end(), {norm, squares});
      return make(w + kind, memories, true, {"i", "n"}, [&, isQuery, norm, squares, target](TileScope &s) {
        Index token = s["i"] * rotatedTokens, n = s["n"], layer = s["layer"];
        Index column = (isQuery ? n : n + model.heads) * head;
        TileScope::HeadRotation how{s["wide_qkv"], s[target], {}, s[w + "cosines"], s[w + "sines"], {}, {},
                                    rotatedTokens, head};
        if (!isQuery)
          how.slots = s["slots"];
        if (model.hasQkNorm) {
          how.weights = s[norm];
          how.squares = s[squares];
        }
        s.rotateHead(how, token, column, layer, n);
        if (!isQuery)
          s.rotateHead({s["wide_qkv"], s["values"], s["slots"], {}, {}, {}, {}, rotatedTokens, head}, token,
                       column + model.kvHeads * head, layer, n);
      });
    };
    made.rotate = rotation("rotate");
    made.append = rotation("append");
  }

  /// The query heads that share key/value head h, and what their scores are multiplied with.
  std::pair<Tile, Tile> loadQuery(TileScope &s, const Way &way, Index token, Index h) {
    const std::string &w = way.prefix;
    Tile query = s.reshape(s.load(s[w + "q"], {token, h * (group * head)}, {1, group * head}), {group, head});
    if (!model.hasQkNorm)
      return {query, s.splat(1.0 / std::sqrt((double)head), {group})};
    Tile squares =
        s.reshape(s.load(s[w + "q_squares"], {token, h * (group * parts)}, {1, group * parts}), {group, parts});
    Tile mean = s.reduce(Combine::add, squares, {1}) * (1.0 / (double)head);
    return {query, s.math("rsqrt", mean + model.normEpsilon) * (1.0 / std::sqrt((double)head))};
  }

  std::vector<std::string> attentionMemories(const Way &way) {
    const std::string &w = way.prefix;
    std::vector<std::string> memories = {w + "q", "keys", "values", "pages", "requests", "positions"};
    if (model.hasQkNorm)
      memories.insert(memories.end(), {w + "q_squares", "key_squares"});
    return memories;
  }

  TileScope::Attention cacheOf(TileScope &s, Index request, Index h) {
    TileScope::Attention over{s["keys"], s["values"], s["pages"], s["layer"], request, h, limits.pageSlots};
    if (model.hasQkNorm) {
      over.squares = s["key_squares"];
      over.epsilon = model.normEpsilon;
    }
    return over;
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
    return make(w + "attend", memories, true, {"t", "h", "s"}, [&](TileScope &s) {
      Index token = s["t"], h = s["h"], number = s["s"];
      Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
      Index part = partOf(length), begin = part * number * s.dim(s["part_m"], 3);
      TileScope::Query query{s[w + "q"], token, h * (group * head), group, 1.0 / std::sqrt((double)head)};
      if (model.hasQkNorm) {
        query.squares = s[w + "q_squares"];
        query.squaresColumn = h * (group * parts);
      }
      // A step writes no more positions of a request than it has tokens, the last ones up to the token's own.
      Index settled = length - s.dim(s["positions"], 0);
      s.attendParts(query, cacheOf(s, request, h), {begin, length, part, settled}, softmaxParts(s), token, h, number);
    });
  }

  void storeAttention(TileScope &s, const Way &way, const TileScope::SoftmaxPart &all, Index token, Index h) {
    // The largest score adds exp(0), so the sum of a token that attends to anything is at least 1.
    Tile divisor = s.broadcast(s.maximum(all.sum, s.splat(1.0, {group})), {group, head}, {1});
    s.store(s.reshape(s.convert(all.acc / divisor, bf16), {1, group * head}), s[way.prefix + "attention"],
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
  Made makeTokenAttention(const Way &way, const std::string &name, int64_t each) {
    std::vector<std::string> memories = attentionMemories(way);
    memories.push_back(way.prefix + "attention");
    return make(way.prefix + name, memories, true, {"i", "h"}, [&, each](TileScope &s) {
      Index h = s["h"];
      auto attend = [&](Index token) {
        s.loop(0, s.shortTokens(runs(s), token, 1), 1, {}, [&](Index, std::vector<Tile>) {
          Index request = s.read(s["requests"], {token}), length = s.read(s["positions"], {token}) + 1;
          auto [query, scales] = loadQuery(s, way, token, h);
          storeAttention(s, way, s.attend(query, scales, cacheOf(s, request, h), 0, length), token, h);
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
      TileScope::TokenAttention how{
          s[way.prefix + "q"],          s[way.prefix + "attention"], std::nullopt, runTile(), group,
          1.0 / std::sqrt((double)head)};
      if (model.hasQkNorm)
        how.querySquares = s[way.prefix + "q_squares"];
      s.attendTokens(how, runs(s), cacheOf(s, 0, s["h"]), s["t"] * runTile());
    });
  }

  //===-- the graph
  //-------------------------------------------------------------------------------------------------===//

  /// Tokens of a head that a task rotates.
  static constexpr int64_t rotatedTokens = 32;
  /// Tokens of a run from which on they attend as tiles. With fewer, most rows of a tile would be empty, and the
  /// tokens' own tasks run beside each other.
  static constexpr int64_t enoughForTiles = 16;
  /// Columns of the logits among which a task finds a candidate.
  static constexpr int64_t chunk = 2048;
  /// Columns of a request's last token that a task norms.
  int64_t lastColumns() const { return fewTokens.step(d); }
  int64_t chunks() const { return (model.vocabulary + chunk - 1) / chunk; }

  void call(GraphScope &g, const Made &made, std::vector<Index> grid, const GraphScope::Rules &rules,
            std::optional<Index> layer = std::nullopt) {
    std::vector<GraphScope::Operand> operands;
    for (const std::string &m : made.memories)
      operands.push_back(memories.at(m));
    if (made.layered)
      operands.push_back(*layer);
    g.call(made.device, operands, std::move(grid), rules);
  }

  void alloc(GraphScope &g, const std::string &name, std::vector<Index> dynamic) {
    std::vector<Index> sizes;
    size_t next = 0;
    for (int64_t n : types.at(name).shape)
      sizes.push_back(n == dyn ? dynamic[next++] : Index(n));
    memories.emplace(name, g.alloc(name, *types.at(name).element, sizes));
  }

  /// What a call of an operator waits for and notifies; `piece` is the part of its K.
  using Waits = std::function<void(Protocol &, Index tile, Index piece)>;
  using Notifies = std::function<void(Protocol &, Index tile, Index task)>;

  void call(GraphScope &g, const Operator &op, const std::string &name, Index tiles, std::optional<Index> layers,
            std::optional<Index> layer, const Waits &waits, const Notifies &notifies) {
    if (!op.combine)
      return call(
          g, op.product, op.tokensInside ? std::vector<Index>{op.tasks, tiles} : std::vector<Index>{tiles, op.tasks},
          [&](Protocol &p) {
            waits(p, p[op.tokensInside], 0);
            notifies(p, p[op.tokensInside], p[!op.tokensInside]);
          },
          layer);
    const int64_t equal = (int64_t)op.pieces.size() - (op.last ? 1 : 0);
    Event pieces = events.at(name + "_pieces");
    auto at = [&](Index t, Index j) { return layers ? std::vector<Span>{*layer, t, j} : std::vector<Span>{t, j}; };
    call(
        g, op.product, {tiles, equal, op.tasks},
        [&](Protocol &p) {
          waits(p, p[0], p[1]);
          p.notify(pieces, at(p[0], p[2]));
        },
        layer);
    if (op.last)
      call(
          g, *op.last, {tiles, op.tasks},
          [&](Protocol &p) {
            waits(p, p[0], equal);
            p.notify(pieces, at(p[0], p[1]));
          },
          layer);
    call(
        g, *op.combine, {tiles, op.tasks},
        [&](Protocol &p) {
          p.wait(pieces, at(p[0], p[1]));
          notifies(p, p[0], p[1]);
        },
        layer);
  }

  void event(GraphScope &g, const std::string &name, std::vector<Index> extents, Count count) {
    events.emplace(name, g.event(name, std::move(extents), count));
  }

  using Sizes = StepSizes;

  void graph(GraphScope &g, const Devices &few, const Devices &many) {
    for (const std::string &name : argumentNames())
      memories.emplace(name, g[name]);
    Index tokens = g.symbol(
        "tokens", {{g["tokens"], 0}, {g["positions"], 0}, {g["requests"], 0}, {g["slots"], 0}, {g["outputs"], 0}}, 1,
        limits.tokens);
    Index requests = g.symbol(
        "requests",
        {{g["last"], 0}, {g["rates"], 0}, {g["choices"], 0}, {g["logits"], 0}, {g["next"], 0}, {g["logprobs"], 0}}, 1,
        limits.requests);
    std::vector<std::pair<Memory, int64_t>> layered = {{g["qkv"], 0},  {g["o"], 0},     {g["mlp_norm"], 0},
                                                       {g["gate"], 0}, {g["up"], 0},    {g["down"], 0},
                                                       {g["keys"], 0}, {g["values"], 0}};
    std::vector<std::pair<Memory, int64_t>> slotted = {{g["keys"], 1}, {g["values"], 1}, {g["history"], 0}};
    if (model.hasQkNorm) {
      layered.insert(layered.end(), {{g["q_norm"], 0}, {g["k_norm"], 0}, {g["key_squares"], 0}});
      slotted.push_back({g["key_squares"], 1});
    }
    Index layers = g.symbol("layers", layered, 1, 1024);
    g.symbol("norms", {{g["attn_norm"], 0}}, 1, 1025);
    g.symbol("cache_slots", slotted);
    g.symbol("page_rows", {{g["pages"], 0}});
    g.symbol("page_columns", {{g["pages"], 1}}, 1, (limits.context + limits.pageSlots - 1) / limits.pageSlots);
    Index splits = g["splits"];

    Sizes ofFew = Sizes::ofFew(tokens, requests), ofMany = Sizes::ofMany(tokens, requests, limits.tokens);
    alloc(g, "scaled", {requests});
    prepare(g, fewTokens, few, tokens, requests, layers, splits, ofFew);
    prepare(g, manyTokens, many, tokens, requests, layers, splits, ofMany);
    start(g, fewTokens, few, ofFew);
    start(g, manyTokens, many, ofMany);
    g.repeat("layer", layers, [&](Index layer) {
      layerCalls(g, fewTokens, few, ofFew, layers, layer, splits);
      layerCalls(g, manyTokens, many, ofMany, layers, layer, splits);
    });
    end(g, fewTokens, few, ofFew, layers);
    end(g, manyTokens, many, ofMany, layers);
  }

  void prepare(GraphScope &g, const Way &way, const Devices &made, Index tokens, Index requests, Index layers,
               Index splits, const Sizes &sizes) {
    const std::string &w = way.prefix;
    for (const char *name : {"x", "xb", "squares", "cosines", "sines", "q", "attention", "h"})
      alloc(g, w + name, {tokens});
    if (model.hasQkNorm)
      alloc(g, w + "q_squares", {tokens});
    alloc(g, w + "candidates", {requests});
    if (made.last)
      alloc(g, w + "last_xb", {requests});
    if (way.streams)
      for (const char *name : {"part_m", "part_sum", "part_acc"})
        alloc(g, name, {tokens, splits, g["share"]});
    else
      for (const char *name : {"wide_qkv", "deep_squares"})
        alloc(g, name, {tokens});

    const int64_t embeds = d / embedColumns(way);
    event(g, w + "started", {sizes.tiles}, Count::grouped(sizes.eights, way.tokens / 8, 0, embeds + 1));
    if (way.streams) {
      event(g, w + "projected", {layers, sizes.tiles, model.kvHeads}, (group + 2) * parts);
      event(g, w + "attended", {layers, sizes.tokens, model.kvHeads}, splits);
      event(g, w + "merged", {layers, sizes.tiles}, sizes.tokens * model.kvHeads);
    } else {
      event(g, w + "rotated", {layers, model.kvHeads}, ceildiv(sizes.tokens, rotatedTokens) * (group + 1));
      event(g, w + "attended", {layers, sizes.tiles},
            Count::grouped(runTiles(sizes), way.tokens / runTile(), 1, model.kvHeads));
      event(g, w + "merged", {layers, sizes.singleTiles}, Count::grouped(sizes.singles, way.tokens, 1, model.kvHeads));
      event(g, "deep_merged", {layers, sizes.groupTiles},
            Count::grouped(sizes.groups, promptTokens.tokens / 8, 1, model.kvHeads));
      event(g, w + "projected", {layers, sizes.narrow.tiles}, made.qkv->tasks);
      event(g, "deep_projected", {layers, sizes.deep.tiles}, made.prompt->qkv->tasks);
    }
    auto ofProducts = [&](const Way &part, const Products &products, Index tiles, Index requests, Index rows) {
      const std::string &w = part.prefix;
      event(g, w + "added1", {layers, tiles}, products.out.tasks);
      event(g, w + "activated", {layers, tiles, (int64_t)products.down.pieces.size()},
            Count::grouped(products.gateUp.tasks, perPiece(part, products), 2));
      event(g, w + "added2", {layers, tiles}, products.down.tasks);
      if (products.last)
        event(g, w + "gathered", {requests}, Count::grouped(rows, way.tokens, 0, d / lastColumns()));
    };
    if (way.streams) {
      ofProducts(way, made, sizes.tiles, sizes.requests, sizes.rows);
    } else {
      ofProducts(way, made, sizes.narrow.tiles, sizes.narrow.requests, sizes.narrow.rows);
      ofProducts(promptTokens, *made.prompt, sizes.deep.tiles, sizes.deep.requests, sizes.deep.rows);
    }
    event(g, w + "scored", {sizes.requests, chunks()}, Count::grouped(made.logits.tasks, chunk / way.headRows(), 1));
    event(g, w + "chosen", {sizes.rows}, chunks());
    if (made.remember)
      event(g, w + "remembered", {least(sizes.tiles, 1)}, 1);
    for (auto [op, name] : {std::pair{&made.out, "out"}, {&made.gateUp, "gate_up"}, {&made.down, "down"}})
      if (op->combine) {
        event(g, w + name + "_pieces", {layers, sizes.tiles, op->tasks}, (int64_t)op->pieces.size());
        for (const std::string &part : op->parts)
          alloc(g, part, {tokens});
      }
    if (made.logits.combine) {
      event(g, w + "logits_pieces", {sizes.requests, made.logits.tasks}, (int64_t)made.logits.pieces.size());
      for (const std::string &part : made.logits.parts)
        alloc(g, part, {requests});
    }
  }

  /// Tasks of gate-up that a piece of down's K needs.
  int64_t perPiece(const Way &way, const Products &made) const {
    const int64_t rows = way.rowsOf(model.feedForward, 2, false);
    return made.down.pieces.size() == 1 ? made.gateUp.tasks : made.down.pieces[0] / rows;
  }

  void start(GraphScope &g, const Way &way, const Devices &made, const Sizes &sizes) {
    Event started = events.at(way.prefix + "started");
    auto notify = [&](Protocol &p) { p.notify(started, {floordiv(p[0], way.tokens / 8)}); };
    call(g, made.angles, {sizes.eights}, notify);
    call(g, made.embed, {sizes.eights, d / embedColumns(way)}, notify);
    if (made.remember)
      call(g, *made.remember, {least(sizes.tiles, 1)},
           [&](Protocol &p) { p.notify(events.at(way.prefix + "remembered"), {p[0]}); });
  }

  /// Tiles of tokens that attend as one.
  Index runTiles(const Sizes &sizes) const {
    return manyTokens.tokens == runTile() ? sizes.tiles : ceildiv(sizes.tokens, runTile());
  }

  /// Of events that count tiles of many tokens: those of a prompt's tile.
  static Span tilesOf(const Way &way, Index tile) {
    const int64_t each = way.tokens / manyTokens.tokens;
    return each > 1 ? Span(tile * each, tile * each + each) : Span(tile);
  }

  /// Everything that was written of the residual stream before this layer.
  void waitForStream(Protocol &p, const Way &way, Index layer, Index tile) {
    p.wait(events.at(way.buffers() + "started"), {tilesOf(way, tile)});
    p.wait(events.at(way.prefix + "added2"), {Span(layer - 1, layer), tile});
  }

  void layerCalls(GraphScope &g, const Way &way, const Devices &made, const Sizes &sizes, Index layers, Index layer,
                  Index splits) {
    const std::string &w = way.prefix;
    Event projected = events.at(w + "projected"), merged = events.at(w + "merged");
    if (way.streams) {
      auto heads = [&](const Made &device, int64_t count, int64_t share) {
        call(
            g, device, {sizes.tiles, count, parts},
            [&](Protocol &p) {
              waitForStream(p, way, layer, p[0]);
              p.notify(projected, {layer, p[0], share == 1 ? p[1] : floordiv(p[1], share)});
            },
            layer);
      };
      heads(*made.query, model.heads, group);
      heads(*made.key, model.kvHeads, 1);
      heads(*made.value, model.kvHeads, 1);
      Event attended = events.at(w + "attended");
      call(
          g, made.attend, {sizes.tokens, model.kvHeads, splits},
          [&](Protocol &p) {
            p.wait(projected, {layer, floordiv(p[0], way.tokens), p[1]});
            p.notify(attended, {layer, p[0], p[1]});
          },
          layer);
      call(
          g, *made.merge, {sizes.tokens, model.kvHeads},
          [&](Protocol &p) {
            p.wait(attended, {layer, p[0], p[1]});
            p.notify(merged, {layer, floordiv(p[0], way.tokens)});
          },
          layer);
    } else {
      auto project = [&](const Way &part, const Products &products, Index tiles) {
        Event event = events.at(part.prefix + "projected");
        call(
            g, *products.qkv, part.prefix + "qkv", tiles, layers, layer,
            [&](Protocol &p, Index tile, Index) { waitForStream(p, part, layer, tile); },
            [&](Protocol &p, Index tile, Index) {
              p.notify(event, {layer, tile});
            });
      };
      project(way, made, sizes.narrow.tiles);
      project(promptTokens, *made.prompt, sizes.deep.tiles);
      Event rotated = events.at(w + "rotated"), deepProjected = events.at("deep_projected");
      auto rotation = [&](const Made &device, int64_t count, int64_t share) {
        call(
            g, device, {ceildiv(sizes.tokens, rotatedTokens), count},
            [&](Protocol &p) {
              p.wait(projected, {layer, floordiv(p[0], way.tokens / rotatedTokens)});
              p.wait(deepProjected, {layer, floordiv(p[0], promptTokens.tokens / rotatedTokens)});
              p.notify(rotated, {layer, share == 1 ? p[1] : floordiv(p[1], share)});
            },
            layer);
      };
      rotation(*made.rotate, model.heads, group);
      rotation(*made.append, model.kvHeads, 1);
      // A request's earlier tokens may be in any tile: all keys of the head are waited for.
      auto attention = [&](const Made &device, Index count, Event done, int64_t each) {
        call(
            g, device, {count, model.kvHeads},
            [&](Protocol &p) {
              p.wait(rotated, {layer, p[1]});
              p.notify(done, {layer, each == 1 ? p[0] : floordiv(p[0], each)});
            },
            layer);
      };
      attention(made.attend, sizes.singles, merged, way.tokens);
      attention(*made.attendEights, sizes.groups, events.at("deep_merged"), promptTokens.tokens / 8);
      attention(*made.attendRuns, runTiles(sizes), events.at(w + "attended"), way.tokens / runTile());
      productCalls(g, way, made, sizes.narrow.tiles, layers, layer);
      productCalls(g, promptTokens, *made.prompt, sizes.deep.tiles, layers, layer);
      return;
    }
    productCalls(g, way, made, sizes.tiles, layers, layer);
  }

  /// What follows attention.
  void productCalls(GraphScope &g, const Way &way, const Products &made, Index tiles, Index layers, Index layer) {
    const std::string &w = way.prefix;
    auto after = [this, w, layer](const std::string &name) -> Waits {
      return [this, w, layer, name](Protocol &p, Index tile, Index) { p.wait(events.at(w + name), {layer, tile}); };
    };
    auto then = [this, w, layer](const std::string &name) -> Notifies {
      return [this, w, layer, name](Protocol &p, Index tile, Index) { p.notify(events.at(w + name), {layer, tile}); };
    };
    auto afterAttention = [&](Protocol &p, Index tile, Index piece) {
      if (!way.streams)
        for (const char *done : {"wide_attended", "wide_merged"})
          p.wait(events.at(done), {layer, tilesOf(way, tile)});
      if (way.streams || way.tokens == promptTokens.tokens)
        after("merged")(p, tile, piece);
    };
    call(g, made.out, w + "out", tiles, layers, layer, afterAttention, then("added1"));
    const int64_t perPiece = this->perPiece(way, made);
    Event activated = events.at(w + "activated");
    call(g, made.gateUp, w + "gate_up", tiles, layers, layer, after("added1"),
         [&](Protocol &p, Index tile, Index task) {
           p.notify(activated, {layer, tile, made.down.pieces.size() == 1 ? Index(0) : floordiv(task, perPiece)});
         });
    call(
        g, made.down, w + "down", tiles, layers, layer,
        [&](Protocol &p, Index tile, Index piece) {
          p.wait(activated, {layer, tile, piece});
        },
        then("added2"));
  }

  void end(GraphScope &g, const Way &way, const Devices &made, const Sizes &sizes, Index layers) {
    const std::string &w = way.prefix;
    Event scored = events.at(w + "scored"), chosen = events.at(w + "chosen");
    std::vector<Event> gathered;
    auto gather = [&](const Way &part, const Products &products, Index rows) {
      gathered.push_back(events.at(part.prefix + "gathered"));
      call(g, *products.last, {rows, d / lastColumns()}, [&](Protocol &p) {
        p.wait(events.at(part.buffers() + "started"), {whole});
        p.wait(events.at(part.prefix + "added2"), {Span(layers - 1, layers), whole});
        p.notify(gathered.back(), {floordiv(p[0], way.tokens)});
      });
    };
    if (!way.streams) {
      gather(way, made, sizes.narrow.rows);
      gather(promptTokens, *made.prompt, sizes.deep.rows);
    }
    const int64_t tasks = chunk / way.headRows();
    call(
        g, made.logits, w + "logits", sizes.requests, std::nullopt, std::nullopt,
        [&](Protocol &p, Index tile, Index) {
          if (way.streams)
            waitForStream(p, way, layers, tile);
          for (Event event : gathered)
            p.wait(event, {tile});
        },
        [&](Protocol &p, Index tile, Index task) {
          p.notify(scored, {tile, floordiv(task, tasks)});
        });
    call(g, made.best, {sizes.rows, chunks()}, [&](Protocol &p) {
      if (made.remember)
        p.wait(events.at(w + "remembered"), {0});
      p.wait(scored, {floordiv(p[0], way.tokens), p[1]});
      p.notify(chosen, {p[0]});
    });
    call(g, made.next, {sizes.rows}, [&](Protocol &p) { p.wait(chosen, {p[0]}); });
  }

  Program program;
  const ModelConfig &model;
  const StepLimits limits;
  const int64_t d, head, half, group, queries, projected, parts; // parts: sums of squares of a head
  std::map<std::string, Argument> types;
  std::map<std::string, Memory> memories;
  std::map<std::string, Event> events;
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildStep(mlir::MLIRContext &context, const ModelConfig &model,
                                            const StepLimits &limits) {
  return Step(context, model, limits).build();
}

} // namespace evt::models
