// One decoding step of a small transformer in C++; decoder.mlir explains the program.
#include "examples/Example.h"

using namespace evt::examples;

namespace {

constexpr int64_t hidden = 256, inner = 704, vocabulary = 1000, queryHeads = 4, kvHeads = 2, width = 64;
constexpr int64_t heads = queryHeads + 2 * kvHeads, group = queryHeads / kvHeads;
constexpr int64_t batchRows = 16, columns = 64; // of a task of the whole batch

/// 64 columns, from 64 j on, of starts[i] + a weights[i]ᵀ with weights of layer l; of the whole batch.
std::vector<Tile> columnsOf(TileScope &s, const char *a, int64_t depth, std::vector<Tile> starts,
                            const std::vector<const char *> &weights) {
  std::vector<Chunk> chunks;
  for (const char *w : weights)
    chunks.push_back([&s, w](Index k) {
      return s.convert(s.load(s[w], {s["l"], s["j"] * columns, k}, {columns, columns}), f32);
    });
  return products(
      s, depth, columns, std::move(starts),
      [&](Index k) {
        return s.load(s[a], {0, k}, {batchRows, columns});
      },
      chunks);
}

/// Row r over the root of the mean of its squares, times the weights of layer l.
void norm(TileScope &s) {
  Tile row = s.load(s["x"], {s["r"], 0}, {hidden});
  Tile scale = s.math("rsqrt", s.reduce(Combine::add, row * row, {0}) * (1.0 / hidden) + 1e-5);
  s.store(row * s.broadcast(scale, {hidden}, {0}) * s.load(s["w"], {s["l"], 0}, {hidden}), s["a"], {s["r"], 0});
}

/// Rotates the query and key heads of request r to its position and appends key and value to the cache of layer l.
void append(TileScope &s) {
  Index r = s["r"], at = s.read(s["pos"], {r});
  const int64_t rotatedHeads = queryHeads + kvHeads, half = width / 2;
  auto forAllHeads = [&](const char *angle) {
    return s.broadcast(s.load(s[angle], {at, 0}, {half}), {rotatedHeads, half}, {0});
  };
  Tile cos = forAllHeads("cos"), sin = forAllHeads("sin");
  Tile all = s.load(s["qkv"], {r, 0, 0}, {rotatedHeads, width});
  Tile low = s.slice(all, {0, 0}, {rotatedHeads, half}), high = s.slice(all, {0, half}, {rotatedHeads, half});
  Tile rotated = s.insert(high * cos + low * sin, s.insert(low * cos - high * sin, all, {0, 0}), {0, half});
  s.store(s.slice(rotated, {0, 0}, {queryHeads, width}), s["q"], {r, 0, 0});
  s.store(s.slice(rotated, {queryHeads, 0}, {kvHeads, width}), s["keys"], {s["l"], r, at, 0, 0});
  s.store(s.load(s["qkv"], {r, rotatedHeads, 0}, {kvHeads, width}), s["values"], {s["l"], r, at, 0, 0});
}

/// Two query heads of request r over key/value head h at positions 0 … pos[r], 32 positions at a time.
void attend(TileScope &s) {
  const int64_t chunk = 32;
  Index r = s["r"], h = s["h"], length = s.read(s["pos"], {r}) + 1;
  Tile query = s.load(s["q"], {r, h * group, 0}, {group, width}) * 0.125;
  Box ofOneHead{.sizes = {1, 1, chunk, 1, width}};
  Softmax end = Softmax::of(s.loop(0, length, chunk, Softmax::nothing(s, group, width).tiles(),
                                   [&](Index at, const std::vector<Tile> &softmax) {
                                     Tile k = s.load(s["keys"], {s["l"], r, at, h, 0}, {chunk, width}, ofOneHead);
                                     Tile v = s.load(s["values"], {s["l"], r, at, h, 0}, {chunk, width}, ofOneHead);
                                     return Softmax::of(softmax).with(s, query, k, v, length - at).tiles();
                                   }));
  Tile out = end.values / alongColumns(s, end.sum, end.values);
  s.store(s.reshape(out, {group * width}), s["o"], {r, h * (group * width)});
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildDecoder(mlir::MLIRContext &context) {
  Argument tokens = tensor("tokens", i32, {dyn}), pos = tensor("pos", i32, {dyn}), l = scalar("l");
  Argument embedding = tensor("embedding", bf16, {vocabulary, hidden});
  Argument cos = tensor("cos", f32, {dyn, width / 2}), sin = tensor("sin", f32, {dyn, width / 2});
  Argument keys = tensor("keys", f32, {dyn, dyn, dyn, kvHeads, width}), values = tensor("values", f32, keys.shape);
  Argument logits = tensor("logits", f32, {dyn, vocabulary});
  Argument x = tensor("x", f32, {dyn, hidden}), a = tensor("a", f32, {dyn, hidden}),
           o = tensor("o", f32, {dyn, hidden});
  Argument qkv = tensor("qkv", f32, {dyn, heads, width}), q = tensor("q", f32, {dyn, queryHeads, width});
  Argument h = tensor("h", f32, {dyn, inner});
  auto weights = [](const char *name, int64_t out, int64_t in) { return tensor(name, bf16, {dyn, out, in}); };
  Program p(context);

  Device embed = p.device("embed", {tokens, embedding, x}, {"r"}, [](TileScope &s) {
    Tile row = s.load(s["embedding"], {s.read(s["tokens"], {s["r"]}), 0}, {hidden});
    s.store(s.convert(row, f32), s["x"], {s["r"], 0});
  });
  Device normed = p.device("norm", {x, tensor("w", f32, {dyn, hidden}), a, l}, {"r"}, norm);
  Device appendDevice = p.device("append", {qkv, pos, cos, sin, q, keys, values, l}, {"r"}, append);
  Device attendDevice = p.device("attend", {q, keys, values, pos, o, l}, {"r", "h"}, attend);
  Device project = p.device("project", {a, weights("w", heads * width, hidden), qkv, l}, {"j"}, [](TileScope &s) {
    Tile sum = columnsOf(s, "a", hidden, {s.splat(0, {batchRows, columns})}, {"w"})[0];
    s.store(sum, s["qkv"], {0, s["j"], 0}, {.sizes = {batchRows, 1, columns}});
  });
  // x += from wᵀ: the sum starts with the residual.
  auto addTo = [&](const char *name, const Argument &from) {
    int64_t depth = from.shape[1];
    return p.device(name, {from, weights("w", hidden, depth), x, l}, {"j"}, [&](TileScope &s) {
      Tile residual = s.load(s["x"], {0, s["j"] * columns}, {batchRows, columns});
      s.store(columnsOf(s, from.name.c_str(), depth, {residual}, {"w"})[0], s["x"], {0, s["j"] * columns});
    });
  };
  Device output = addTo("output", o);
  Device gateUp = p.device("gate_up", {a, weights("w_gate", inner, hidden), weights("w_up", inner, hidden), h, l},
                           {"j"}, [](TileScope &s) {
                             Tile zero = s.splat(0, {batchRows, columns});
                             auto sums = columnsOf(s, "a", hidden, {zero, zero}, {"w_gate", "w_up"});
                             s.store(silu(s, sums[0]) * sums[1], s["h"], {0, s["j"] * columns});
                           });
  Device down = addTo("down", h);
  Device head = p.device("head", {a, tensor("w", bf16, {vocabulary, hidden}), logits}, {"j"}, [](TileScope &s) {
    Index column = s["j"] * columns;
    std::vector<Tile> sum = products(s, hidden, columns, {s.splat(0, {batchRows, columns})},
                                     [&](Index k) {
                                       return s.load(s["a"], {0, k}, {batchRows, columns});
                                     },
                                     {[&](Index k) {
                                       return s.convert(s.load(s["w"], {column, k}, {columns, columns}), f32);
                                     }});
    s.store(sum[0], s["logits"], {0, column});
  });

  std::vector<Argument> given = {tokens,
                                 pos,
                                 embedding,
                                 cos,
                                 sin,
                                 tensor("w_norm1", f32, {dyn, hidden}),
                                 weights("w_qkv", heads * width, hidden),
                                 weights("w_out", hidden, hidden),
                                 tensor("w_norm2", f32, {dyn, hidden}),
                                 weights("w_gate", inner, hidden),
                                 weights("w_up", inner, hidden),
                                 weights("w_down", hidden, inner),
                                 tensor("w_norm3", f32, {dyn, hidden}),
                                 tensor("w_head", bf16, {vocabulary, hidden})};
  for (Argument &argument : given)
    argument = argument.immutable();
  given.insert(given.end(), {keys, values, logits});

  p.graph("decoder", given, [&](GraphScope &g) {
    Index layers = g.symbol("layers", {{g["w_norm1"], 0},
                                       {g["w_qkv"], 0},
                                       {g["w_out"], 0},
                                       {g["w_norm2"], 0},
                                       {g["w_gate"], 0},
                                       {g["w_up"], 0},
                                       {g["w_down"], 0},
                                       {g["keys"], 0},
                                       {g["values"], 0}});
    Index batch = g.symbol(
        "batch", {{g["tokens"], 0}, {g["pos"], 0}, {g["keys"], 1}, {g["values"], 1}, {g["logits"], 0}}, 1, batchRows);
    g.symbol("context", {{g["cos"], 0}, {g["sin"], 0}, {g["keys"], 2}, {g["values"], 2}});
    const int64_t outputTasks = hidden / columns, innerTasks = inner / columns;

    Memory x = g.alloc("x", f32, {batch, hidden}), a = g.alloc("a", f32, {batch, hidden});
    Memory qkv = g.alloc("qkv", f32, {batch, heads, width}), q = g.alloc("q", f32, {batch, queryHeads, width});
    Memory o = g.alloc("o", f32, {batch, hidden}), h = g.alloc("h", f32, {batch, inner});

    Event embedded = g.event("embedded", {batch}, 1), normed1 = g.event("normed1", {layers}, batch);
    Event projected = g.event("projected", {layers}, heads), appended = g.event("appended", {layers, batch}, 1);
    Event attended = g.event("attended", {layers, kvHeads}, batch), added1 = g.event("added1", {layers}, outputTasks);
    Event normed2 = g.event("normed2", {layers}, batch), activated = g.event("activated", {layers, innerTasks}, 1);
    Event added2 = g.event("added2", {layers}, outputTasks), normed3 = g.event("normed3", {}, batch);

    // Each call waits for one event and notifies the next; the elements are functions of the layer and the task.
    auto from = [](Event waited, std::vector<Span> at, Event notified, std::vector<Span> then) {
      return [=](Protocol &t) {
        t.wait(waited, at);
        t.notify(notified, then);
      };
    };
    g.call(embed, {g["tokens"], g["embedding"], x}, {batch}, [&](Protocol &t) { t.notify(embedded, {t[0]}); });
    g.repeat("l", layers, [&](Index l) {
      // The first layer waits for its row's embedding only: the range of layers before it is clipped to nothing.
      g.call(normed, {x, g["w_norm1"], a, l}, {batch}, [&](Protocol &t) {
        t.wait(embedded, {t[0]});
        t.wait(added2, {{l - 1, l}});
        t.notify(normed1, {l});
      });
      g.call(project, {a, g["w_qkv"], qkv, l}, {heads}, from(normed1, {l}, projected, {l}));
      g.call(appendDevice, {qkv, g["pos"], g["cos"], g["sin"], q, g["keys"], g["values"], l}, {batch},
             [&](Protocol &t) {
               from(projected, {l}, appended, {l, t[0]})(t);
             });
      g.call(attendDevice, {q, g["keys"], g["values"], g["pos"], o, l}, {batch, kvHeads}, [&](Protocol &t) {
        from(appended, {l, t[0]}, attended, {l, t[1]})(t);
      });
      g.call(output, {o, g["w_out"], x, l}, {outputTasks}, from(attended, {l, whole}, added1, {l}));
      g.call(normed, {x, g["w_norm2"], a, l}, {batch}, from(added1, {l}, normed2, {l}));
      g.call(gateUp, {a, g["w_gate"], g["w_up"], h, l}, {innerTasks}, [&](Protocol &t) {
        from(normed2, {l}, activated, {l, t[0]})(t);
      });
      g.call(down, {h, g["w_down"], x, l}, {outputTasks}, from(activated, {l, whole}, added2, {l}));
    });
    g.call(normed, {x, g["w_norm3"], a, 0}, {batch}, [&](Protocol &t) {
      t.wait(embedded, {t[0]});
      t.wait(added2, {{layers - 1, layers}});
      t.notify(normed3);
    });
    g.call(head, {a, g["w_head"], g["logits"]}, {(vocabulary + columns - 1) / columns},
           [&](Protocol &t) { t.wait(normed3); });
  });
  return p.take();
}

int main() { return print(buildDecoder); }
