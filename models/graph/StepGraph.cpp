#include "models/graph/StepGraph.h"

#include "models/graph/StepDevices.h"
#include "models/graph/StepSizes.h"

namespace evt::models {
namespace {

/// The graph: calls of the device functions, and the events between them.
class Step : StepDevices {
public:
  using StepDevices::StepDevices;

  mlir::OwningOpRef<mlir::ModuleOp> build() {
    declareMemories();
    std::vector<Argument> arguments;
    for (const std::string &name : argumentNames())
      arguments.push_back(isWeight(name) || isTable(name) ? types.at(name).immutable() : types.at(name));
    arguments.push_back(scalar("splits", 1, mostParts));
    arguments.push_back(scalar("share", 1, mostParts));
    arguments.push_back(scalar("page_size", limits.pageSlots, limits.pageSlots));
    std::optional<Devices> few;
    if (!limits.sameBits)
      few = devices(fewTokens);
    Devices many = devices(manyTokens);
    program.graph("step", arguments, [&](GraphScope &g) { graph(g, few, many); });
    return program.take();
  }

private:
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
  /// The same with one element for what would be `of` of them, the last extent: all of them are then waited for. `all`
  /// is how many notifications they have together.
  void event(GraphScope &g, const std::string &name, std::vector<Index> extents, Index of, Count each, Count all) {
    if (!limits.allToAll)
      extents.push_back(of);
    event(g, name, extents, limits.allToAll ? all : each);
  }
  /// An element of such an event.
  std::vector<Span> elementOf(std::vector<Span> place) const {
    if (limits.allToAll)
      place.pop_back();
    return place;
  }

  using Sizes = StepSizes;

  void graph(GraphScope &g, const std::optional<Devices> &few, const Devices &many) {
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
    std::vector<std::pair<Memory, int64_t>> slotted = {{g["keys"], 2}, {g["values"], 2}, {g["history"], 0}};
    if (model.hasQkNorm) {
      layered.insert(layered.end(), {{g["q_norm"], 0}, {g["k_norm"], 0}, {g["key_squares"], 0}});
      slotted.push_back({g["key_squares"], 2});
    }
    Index layers = g.symbol("layers", layered, 1, 1024);
    g.symbol("norms", {{g["attn_norm"], 0}}, 1, 1025);
    g.symbol("cache_slots", slotted);
    g.symbol("page_rows", {{g["pages"], 0}});
    g.symbol("page_columns", {{g["pages"], 1}}, 1, (limits.context + limits.pageSlots - 1) / limits.pageSlots);
    Index splits = g["splits"];

    // The ways that tokens may go: few and many of them, or all the same.
    struct Taken {
      const Way &way;
      const Devices &made;
      Sizes sizes;
    };
    std::vector<Taken> taken;
    if (few)
      taken.push_back({fewTokens, *few, Sizes::ofFew(tokens, requests)});
    taken.push_back({manyTokens, many,
                     Sizes::ofMany(tokens, requests, limits.tokens, few ? mostStreaming : 0,
                                   many.attendPairs ? mostAlone(model.kvHeads) : mostSingles)});
    alloc(g, "scaled", {requests});
    for (auto &[way, made, sizes] : taken)
      prepare(g, way, made, tokens, requests, layers, splits, sizes);
    for (auto &[way, made, sizes] : taken)
      start(g, way, made, sizes);
    g.repeat("layer", layers, [&](Index layer) {
      for (auto &[way, made, sizes] : taken)
        layerCalls(g, way, made, sizes, layers, layer, splits);
    });
    for (auto &[way, made, sizes] : taken)
      end(g, way, made, sizes, layers);
  }

  void prepare(GraphScope &g, const Way &way, const Devices &made, Index tokens, Index requests, Index layers,
               Index splits, const Sizes &sizes) {
    const std::string &w = way.prefix;
    for (const char *name : {"x", "xb", "squares", "cosines", "sines", "q", "attention", "h"})
      alloc(g, w + name, {tokens});
    if (model.hasQkNorm && way.streams)
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
      event(g, w + "projected", {layers, sizes.tiles}, model.kvHeads, (group + 2) * parts,
            model.kvHeads * (group + 2) * parts);
      event(g, w + "attended", {layers, sizes.tokens, model.kvHeads}, splits);
      event(g, w + "merged", {layers, sizes.tiles}, sizes.tokens * model.kvHeads);
    } else {
      const int64_t heads = headsOfAttention(made);
      Index rotations = ceildiv(sizes.tokens, rotatedTokens) * ((group + 2) * heads);
      event(g, w + "rotated", {layers}, model.kvHeads / heads, rotations, rotations * (model.kvHeads / heads));
      event(g, w + "attended", {layers, sizes.tiles},
            Count::grouped(runTiles(sizes), way.tokens / runTile(), 1, model.kvHeads));
      event(g, w + "merged", {layers, sizes.singleTiles}, Count::grouped(sizes.singles, way.tokens, 1, model.kvHeads));
      if (made.attendPairs)
        event(g, w + "paired", {layers, sizes.pairTiles},
              Count::grouped(sizes.pairs, way.tokens, 1, model.kvHeads / 2));
      event(g, "deep_merged", {layers, sizes.groupTiles},
            Count::grouped(sizes.groups, promptTokens.tokens / 8, 1, model.kvHeads));
      event(g, w + "projected", {layers, sizes.narrow.tiles}, made.qkv->tasks);
      event(g, "deep_projected", {layers, sizes.deep.tiles}, made.prompt->qkv->tasks);
    }
    auto ofProducts = [&](const Way &part, const Products &products, Index tiles, Index requests, Index rows) {
      const std::string &w = part.prefix;
      event(g, w + "added1", {layers, tiles}, products.out.tasks);
      event(g, w + "activated", {layers, tiles}, (int64_t)products.down.pieces.size(),
            Count::grouped(products.gateUp.tasks, perPiece(part, products), 2), products.gateUp.tasks);
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
    event(g, w + "scored", {sizes.requests}, chunks(), Count::grouped(made.logits.tasks, chunk / way.headRows(), 1),
          made.logits.tasks);
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

  /// Key/value heads that are rotated before the attention of any of them begins: one wait has to be enough.
  static int64_t headsOfAttention(const Devices &made) { return made.attendPairs ? 2 : 1; }

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
              p.notify(projected, elementOf({layer, p[0], share == 1 ? p[1] : floordiv(p[1], share)}));
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
            waitForStream(p, way, layer, floordiv(p[0], way.tokens));
            p.wait(projected, elementOf({layer, floordiv(p[0], way.tokens), p[1]}));
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
              p.notify(rotated, elementOf({layer, share == 1 ? p[1] : floordiv(p[1], share)}));
            },
            layer);
      };
      const int64_t together = headsOfAttention(made);
      rotation(*made.rotate, model.heads, group * together);
      rotation(*made.appendKeys, model.kvHeads, together);
      rotation(*made.appendValues, model.kvHeads, together);
      // A request's earlier tokens may be in any tile: all keys of the head are waited for.
      auto attention = [&](const Made &device, Index count, Event done, int64_t each, int64_t heads = 1) {
        call(
            g, device, {count, model.kvHeads / heads},
            [&](Protocol &p) {
              p.wait(rotated, elementOf({layer, heads == together ? p[1] : floordiv(p[1], together / heads)}));
              p.notify(done, {layer, each == 1 ? p[0] : floordiv(p[0], each)});
            },
            layer);
      };
      // The longest tasks first: those of runs, where there are any.
      attention(*made.attendRuns, runTiles(sizes), events.at(w + "attended"), way.tokens / runTile());
      attention(made.attend, sizes.singles, merged, way.tokens);
      if (made.attendPairs)
        attention(*made.attendPairs, sizes.pairs, events.at(w + "paired"), way.tokens, 2);
      attention(*made.attendEights, sizes.groups, events.at("deep_merged"), promptTokens.tokens / 8);
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
        for (const char *done : {"wide_attended", "wide_merged", "wide_paired"})
          if (events.count(done))
            p.wait(events.at(done), {layer, tilesOf(way, tile)});
      if (way.streams || way.tokens == promptTokens.tokens)
        after("merged")(p, tile, piece);
    };
    call(g, made.out, w + "out", tiles, layers, layer, afterAttention, then("added1"));
    const int64_t perPiece = this->perPiece(way, made);
    Event activated = events.at(w + "activated");
    call(g, made.gateUp, w + "gate_up", tiles, layers, layer, after("added1"),
         [&](Protocol &p, Index tile, Index task) {
           p.notify(activated,
                    elementOf({layer, tile, made.down.pieces.size() == 1 ? Index(0) : floordiv(task, perPiece)}));
         });
    call(
        g, made.down, w + "down", tiles, layers, layer,
        [&](Protocol &p, Index tile, Index piece) {
          if (way.streams)
            after("added1")(p, tile, piece);
          p.wait(activated, elementOf({layer, tile, piece}));
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
          p.notify(scored, elementOf({tile, floordiv(task, tasks)}));
        });
    if (made.settle) // nothing of this step waits for it: it is done while the last logits are on their way
      call(g, *made.settle, {sizes.tiles, layers, model.kvHeads},
           [&](Protocol &p) { waitForStream(p, way, layers, p[0]); });
    call(g, made.best, {sizes.rows, chunks()}, [&](Protocol &p) {
      if (made.remember)
        p.wait(events.at(w + "remembered"), {0});
      p.wait(scored, elementOf({floordiv(p[0], way.tokens), p[1]}));
      p.notify(chosen, {p[0]});
    });
    call(g, made.next, {sizes.rows}, [&](Protocol &p) { p.wait(chosen, {p[0]}); });
  }

  std::map<std::string, Memory> memories;
  std::map<std::string, Event> events;
};

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildStep(mlir::MLIRContext &context, const ModelConfig &model,
                                            const StepLimits &limits) {
  return Step(context, model, limits).build();
}

void requireDimensionsOfGpu(const ModelConfig &model) {
  // The other products' rows have as many columns as the hidden size and the heads, which always are such multiples.
  if (model.feedForward % 8)
    throw std::invalid_argument("a feed-forward of " + std::to_string(model.feedForward) +
                                " columns: required a multiple of 8 on a GPU");
}

} // namespace evt::models
