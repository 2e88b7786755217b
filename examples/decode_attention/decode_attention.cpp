// Attention of one new token of each request over its past, in C++; decode_attention.mlir explains the program.
#include "examples/Example.h"

using namespace evt::examples;

mlir::OwningOpRef<mlir::ModuleOp> buildDecodeAttention(mlir::MLIRContext &context) {
  // Pages of 16 tokens; splits of 4 pages; 8 query heads of 64 over 2 key/value heads, so 4 share one.
  const int64_t page = 16, splitPages = 4, kvHeads = 2, group = 4, width = 64;
  Argument q = tensor("q", f32, {dyn, kvHeads * group, width}), o = tensor("o", f32, {dyn, kvHeads * group, width});
  Argument keys = tensor("keys", f32, {dyn, page, kvHeads, width}), values = tensor("values", f32, keys.shape);
  Argument pages = tensor("pages", i32, {dyn, dyn}), lens = tensor("lens", i32, {dyn});
  Argument partM = tensor("part_m", f32, {dyn, kvHeads, dyn, group}), partL = tensor("part_l", f32, partM.shape);
  Argument partAcc = tensor("part_acc", f32, {dyn, kvHeads, dyn, group, width});
  Program p(context);

  Device split =
      p.device("split", {q, keys, values, pages, lens, partM, partL, partAcc}, {"r", "h", "s"}, [&](TileScope &s) {
        Index r = s["r"], h = s["h"], part = s["s"];
        Tile query = s.load(s["q"], {r, h * group, 0}, {group, width}) * 0.125;
        Index len = s.read(s["lens"], {r});
        // How many of the split's pages hold tokens: at most 0 when the request ends before this split.
        Index livePages = least(splitPages, floordiv(len - part * (splitPages * page) + (page - 1), page));
        std::vector<Tile> end = s.loop(0, livePages, 1, Softmax::nothing(s, group, width).tiles(),
                                       [&](Index b, const std::vector<Tile> &softmax) {
                                         Index block = part * splitPages + b;
                                         Index at = s.read(s["pages"], {r, block});
                                         Box ofOneHead{.sizes = {1, page, 1, width}};
                                         Tile k = s.load(s["keys"], {at, 0, h, 0}, {page, width}, ofOneHead);
                                         Tile v = s.load(s["values"], {at, 0, h, 0}, {page, width}, ofOneHead);
                                         return Softmax::of(softmax).with(s, query, k, v, len - block * page).tiles();
                                       });
        Softmax softmax = Softmax::of(end);
        s.store(softmax.largest, s["part_m"], {r, h, part, 0});
        s.store(softmax.sum, s["part_l"], {r, h, part, 0});
        s.store(softmax.values, s["part_acc"], {r, h, part, 0, 0});
      });

  Device merge = p.device("merge", {partM, partL, partAcc, o}, {"r", "h"}, [&](TileScope &s) {
    Index r = s["r"], h = s["h"];
    std::vector<Tile> end = s.loop(0, s.dim(s["part_m"], 2), 1, Softmax::nothing(s, group, width).tiles(),
                                   [&](Index part, const std::vector<Tile> &softmax) {
                                     Softmax next{s.load(s["part_m"], {r, h, part, 0}, {group}),
                                                  s.load(s["part_l"], {r, h, part, 0}, {group}),
                                                  s.load(s["part_acc"], {r, h, part, 0, 0}, {group, width})};
                                     return Softmax::of(softmax).with(s, next).tiles();
                                   });
    Softmax softmax = Softmax::of(end);
    // The largest score adds exp(0), so the sum of a request with tokens is at least 1; without tokens, 0 / 1 is 0.
    Tile divisor = s.maximum(softmax.sum, s.splat(1, {group}));
    s.store(softmax.values / alongColumns(s, divisor, softmax.values), s["o"], {r, h * group, 0});
  });

  p.graph(
      "decode_attention", {q.immutable(), keys.immutable(), values.immutable(), pages.immutable(), lens.immutable(), o},
      [&](GraphScope &g) {
        Index requests = g.symbol("requests", {{g["q"], 0}, {g["pages"], 0}, {g["lens"], 0}, {g["o"], 0}});
        g.symbol("pool", {{g["keys"], 0}, {g["values"], 0}});
        Index splits = ceildiv(g.symbol("max_pages", {{g["pages"], 1}}), splitPages);
        Memory m = g.alloc("part_m", f32, {requests, kvHeads, splits, group});
        Memory l = g.alloc("part_l", f32, {requests, kvHeads, splits, group});
        Memory acc = g.alloc("part_acc", f32, {requests, kvHeads, splits, group, width});
        // Every split of request r has been attended to with head h.
        Event attended = g.event("attended", {requests, kvHeads}, splits);
        g.call(split, {g["q"], g["keys"], g["values"], g["pages"], g["lens"], m, l, acc}, {requests, kvHeads, splits},
               [&](Protocol &t) {
                 t.notify(attended, {t[0], t[1]});
               });
        g.call(merge, {m, l, acc, g["o"]}, {requests, kvHeads}, [&](Protocol &t) { t.wait(attended, {t[0], t[1]}); });
      });
  return p.take();
}

int main() { return print(buildDecodeAttention); }
