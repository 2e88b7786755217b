// A mixture-of-experts layer in C++; moe.mlir explains the program.
#include "examples/Example.h"

using namespace evt::examples;

namespace {

constexpr int64_t experts = 8, chosen = 2, hidden = 128, inner = 96;
constexpr int64_t rows = 16, choices = rows * chosen; // of one task

/// One row for each of the choices, with a 1 in the column of its expert.
Tile isOfExpert(TileScope &s, Tile expertOf) {
  Tile column = s.iota({choices, experts}, 1);
  return s.compare(Compare::equal, alongColumns(s, expertOf, column), column);
}

} // namespace

mlir::OwningOpRef<mlir::ModuleOp> buildMoe(mlir::MLIRContext &context) {
  Argument x = tensor("x", f32, {dyn, hidden}), router = tensor("router", f32, {experts, hidden});
  Argument wGate = tensor("w_gate", f32, {experts, inner, hidden}), wUp = tensor("w_up", f32, wGate.shape);
  Argument wDown = tensor("w_down", f32, {experts, hidden, inner}), out = tensor("out", f32, {dyn, hidden});
  Argument expertOf = tensor("expert_of", i32, {dyn}), weightOf = tensor("weight_of", f32, {dyn, chosen});
  Argument tokensIn = tensor("tokens_in", i32, {dyn, experts}), before = tensor("before", i32, {dyn, experts});
  Argument tokensOf = tensor("tokens_of", i32, {experts}), indptr = tensor("indptr", i32, {experts + 1});
  Argument hasTile = tensor("has_tile", i32, {experts, dyn});
  Argument slotOf = tensor("slot_of", i32, {dyn}), tokenOf = tensor("token_of", i32, {dyn});
  Argument h = tensor("h", f32, {dyn, inner}), y = tensor("y", f32, {dyn, hidden});
  Program p(context);

  // Scores, the 2 best experts, their weights, tokens per expert in these 16.
  Device route = p.device("route", {x, router, expertOf, weightOf, tokensIn}, {"i"}, [](TileScope &s) {
    Index row = s["i"] * rows, choice = s["i"] * choices;
    Tile scores = s.matmulTransposed(s.load(s["x"], {row, 0}, {rows, hidden}),
                                     s.load(s["router"], {0, 0}, {experts, hidden}), s.splat(0, {rows, experts}));
    auto [best, who] = s.topk(scores, chosen);
    Tile e = s.math("exp", best - alongColumns(s, s.reduce(Combine::max, best, {1}), best));
    s.store(e / alongColumns(s, s.reduce(Combine::add, e, {1}), e), s["weight_of"], {row, 0});
    Tile flat = s.reshape(who, {choices});
    s.store(flat, s["expert_of"], {choice});
    // Choices of tokens past the end do not count.
    Index live = s.valid(s["expert_of"], choice, 0, choices);
    Tile isLive = s.compare(Compare::less, s.iota({choices, experts}, 0), s.splat(live, {choices, experts}));
    Tile oneHot = s.convert(isOfExpert(s, flat) & isLive, i32);
    s.store(s.reduce(Combine::add, oneHot, {0}), s["tokens_in"], {s["i"], 0});
  });

  // Rows of each expert in the list of slots, padded to 16; where each 16 tokens start.
  Device plan = p.device("plan", {tokensIn, before, tokensOf, indptr, hasTile}, {"one"}, [](TileScope &s) {
    Index groups = s.dim(s["tokens_in"], 0);
    Tile tokens = s.loop(0, groups, 1, {s.splat(0, {experts}, i32)},
                         [&](Index i, const std::vector<Tile> &seen) -> std::vector<Tile> {
                           s.store(seen[0], s["before"], {i, 0});
                           return {seen[0] + s.load(s["tokens_in"], {i, 0}, {experts})};
                         })[0];
    s.store(tokens, s["tokens_of"], {0});
    Tile tiles = (tokens + (rows - 1)) / rows;
    s.store(s.splat(0, {1}, i32), s["indptr"], {0});
    s.store(s.prefixSum(tiles * rows, 0), s["indptr"], {1});
    // Which of the tiles that an expert could have exist: 0 or 1, so that their events get an exact count.
    s.loop(0, groups, 1, {}, [&](Index r, const std::vector<Tile> &) -> std::vector<Tile> {
      Tile exists = s.compare(Compare::less, s.splat(r, {experts}), tiles);
      s.store(s.convert(exists, i32), s["has_tile"], {0, r}, {.sizes = {experts, 1}});
      return {};
    });
  });

  Device clear = p.device("clear", {tokenOf}, {"i"},
                          [](TileScope &s) { s.store(s.splat(-1, {64}, i32), s["token_of"], {s["i"] * 64}); });

  // The slot of every (token, choice), and the token of every slot.
  Device scatter = p.device("scatter", {expertOf, before, indptr, slotOf, tokenOf}, {"i"}, [](TileScope &s) {
    Index choice = s["i"] * choices;
    // Past the end the load gives expert -1, which is nobody's column.
    Tile expert = s.load(s["expert_of"], {choice}, {choices}, {.fill = -1});
    Tile oneHot = s.convert(isOfExpert(s, expert), i32);
    // The expert's first row + its tokens in earlier groups + its tokens earlier in this group.
    Tile base = s.load(s["indptr"], {0}, {experts}) + s.load(s["before"], {s["i"], 0}, {experts});
    Tile position = s.broadcast(base, {choices, experts}, {0}) + s.prefixSum(oneHot, 0, /*exclusive=*/true);
    s.store(s.reduce(Combine::add, oneHot * position, {1}), s["slot_of"], {choice});
    Tile number = s.splat(choice, {choices}) + s.iota({choices}, 0);
    s.store(number / chosen, s["token_of"], {choice}, {.table = s["slot_of"]});
  });

  Device gateUp = p.device("gate_up", {x, tokenOf, indptr, wGate, wUp, h}, {"e", "r", "j"}, [](TileScope &s) {
    Index e = s["e"], row = s.read(s["indptr"], {e}) + s["r"] * rows, column = s["j"] * 32;
    auto weights = [&](const char *w) { return [&, w](Index k) { return s.load(s[w], {e, column, k}, {32, 64}); }; };
    Tile zero = s.splat(0, {rows, 32});
    std::vector<Tile> sums = products(s, hidden, 64, {zero, zero},
                                      [&](Index k) {
                                        return s.load(s["x"], {row, k}, {rows, 64}, {.table = s["token_of"]});
                                      },
                                      {weights("w_gate"), weights("w_up")});
    s.store(silu(s, sums[0]) * sums[1], s["h"], {row, column});
  });

  Device down = p.device("down", {h, indptr, wDown, y}, {"e", "r", "j"}, [](TileScope &s) {
    Index e = s["e"], row = s.read(s["indptr"], {e}) + s["r"] * rows, column = s["j"] * 64;
    std::vector<Tile> sum = products(s, inner, 32, {s.splat(0, {rows, 64})},
                                     [&](Index k) {
                                       return s.load(s["h"], {row, k}, {rows, 32});
                                     },
                                     {[&](Index k) {
                                       return s.load(s["w_down"], {e, column, k}, {64, 32});
                                     }});
    s.store(sum[0], s["y"], {row, column});
  });

  Device combine = p.device("combine", {y, slotOf, weightOf, out}, {"t", "j"}, [](TileScope &s) {
    Index column = s["j"] * 64;
    Tile both = s.load(s["y"], {s["t"] * chosen, column}, {chosen, 64}, {.table = s["slot_of"]});
    Tile weights = s.load(s["weight_of"], {s["t"], 0}, {chosen});
    s.store(s.reduce(Combine::add, both * alongColumns(s, weights, both), {0}), s["out"], {s["t"], column});
  });

  p.graph(
      "moe", {x.immutable(), router.immutable(), wGate.immutable(), wUp.immutable(), wDown.immutable(), out},
      [&](GraphScope &g) {
        Index tokens = g.symbol("tokens", {{g["x"], 0}, {g["out"], 0}});
        Index groups = ceildiv(tokens, rows), numbers = tokens * chosen;
        // Each expert wastes at most 15 rows of its last tile.
        Index tiles = floordiv(numbers + experts * (rows - 1), rows), slots = tiles * rows, clears = ceildiv(slots, 64);

        Memory expertOf = g.alloc("expert_of", i32, {numbers}), weightOf = g.alloc("weight_of", f32, {tokens, chosen});
        Memory tokensIn = g.alloc("tokens_in", i32, {groups, experts}),
               before = g.alloc("before", i32, {groups, experts});
        Memory tokensOf = g.alloc("tokens_of", i32, {experts}), indptr = g.alloc("indptr", i32, {experts + 1});
        Memory hasTile = g.alloc("has_tile", i32, {experts, groups});
        Memory slotOf = g.alloc("slot_of", i32, {numbers}), tokenOf = g.alloc("token_of", i32, {slots});
        Memory h = g.alloc("h", f32, {slots, inner}), y = g.alloc("y", f32, {slots, hidden});

        Event routed = g.event("routed", {}, groups), planned = g.event("planned", {}, 1);
        Event cleared = g.event("cleared", {}, clears), scattered = g.event("scattered", {groups}, 1);
        // All tokens of an expert are in its slots.
        Event arrived = g.event("arrived", {experts}, Count(tokensOf, planned));
        // The three column tiles of an expert's row tile are written; a tile that does not exist waits for nothing.
        Event activated = g.event("activated", {experts, groups}, Count(hasTile, planned, 3));
        // Both experts of a token are done with these columns.
        Event done = g.event("done", {tokens, 2}, chosen);

        g.call(route, {g["x"], g["router"], expertOf, weightOf, tokensIn}, {groups},
               [&](Protocol &t) { t.notify(routed); });
        g.call(clear, {tokenOf}, {clears}, [&](Protocol &t) { t.notify(cleared); });
        g.call(plan, {tokensIn, before, tokensOf, indptr, hasTile}, {1}, [&](Protocol &t) {
          t.wait(routed);
          t.notify(planned);
        });
        g.call(scatter, {expertOf, before, indptr, slotOf, tokenOf}, {groups}, [&](Protocol &t) {
          t.wait(planned);
          t.wait(cleared);
          t.notify(scattered, {t[0]});
          t.loop(t[0] * choices, least(t[0] * choices + choices, numbers),
                 [&](Index c) { t.notify(arrived, {t.read(expertOf, {c})}); });
        });
        Ragged byExpert{indptr, rows, tiles, planned};
        g.call(gateUp, {g["x"], tokenOf, indptr, g["w_gate"], g["w_up"], h}, byExpert, {3}, [&](Protocol &t) {
          t.wait(arrived, {t[0]});
          t.notify(activated, {t[0], t[1]});
        });
        g.call(down, {h, indptr, g["w_down"], y}, byExpert, {2}, [&](Protocol &t) {
          t.wait(activated, {t[0], t[1]});
          // Tell the tokens of this tile; its last slots may be empty.
          Index start = t.read(indptr, {t[0]}), first = start + t[1] * rows;
          t.loop(first, least(first + rows, start + t.read(tokensOf, {t[0]})), [&](Index slot) {
            t.notify(done, {t.read(tokenOf, {slot}), t[2]});
          });
        });
        // The wait for the token's group says in affine terms what the chain through the tables implies: slot_of is
        // written.
        g.call(combine, {y, slotOf, weightOf, g["out"]}, {tokens, 2}, [&](Protocol &t) {
          t.wait(done, {t[0], t[1]});
          t.wait(scattered, {floordiv(t[0], rows)});
        });
      });
  return p.take();
}

int main() { return print(buildMoe); }
