#!/usr/bin/python3
"""Writes the decode chain of a dense decoder as an evt program: every matrix product of a step with the norms, residuals and
SwiGLU between them, and the head; no attention. Any dimensions; tokens and layers stay symbols.

    program.py --hidden 4096 --qkv 6144 --feed-forward 12288 --vocabulary 151936 > chain.mlir
    program.py --model qwen3-8b > chain.mlir

A task multiplies a tile of 8 tokens with 8 rows of weights, streaming them along K. Norms are applied where a product ends:
who writes the residual stream x stores the sum of squares of its 8 columns (`squares`), and a product of normed
values multiplies its sums with the root at the end. The down projection's K is split into pieces of at most 4096, waited for
apart; @combine adds a tile's pieces in order when the last one is there.
"""

import argparse

STEP = 512  # columns of a stage: 8 KB of weights

MODELS = {"qwen3-8b": (4096, 6144, 12288, 151936), "llama-3.2-1b": (2048, 3072, 8192, 128256),
          "qwen3-0.6b": (1024, 4096, 3072, 151936), "qwen3-4b": (2560, 6144, 9728, 151936)}


def split(depth):
    """(pieces, depth of each): the fewest pieces of at most 4096 that are multiples of 256."""
    for pieces in range(1, depth // 256 + 1):
        if depth % (pieces * 256) == 0 and depth // pieces <= 4096:
            return pieces, depth // pieces
    raise SystemExit(f"depth is {depth}, required a multiple of 256")


def product(name, d, squares, arguments, extra, rows, depth, sources, epilogue, columns="%c0", grid="%t, %j"):
    """A device function: one or two products of x[t] with 8 rows of weights, then the epilogue."""
    step = STEP if depth % STEP == 0 else 512 if depth % 512 == 0 else 256
    n = len(sources)
    accs = ", ".join(f"%acc{i}" for i in range(n))
    types = ", ".join(["tensor<8x8xf32>"] * n)
    args = ", ".join(f"%in{i} = %zero" for i in range(n))
    body = "".join(f"""
    %w{i}_16 = evt.load {memory}[{lead}%row, %kk] : {mtype} -> tensor<8x{step}xbf16>
    %w{i} = arith.extf %w{i}_16 : tensor<8x{step}xbf16> to tensor<8x{step}xf32>
    %out{i} = linalg.matmul_transpose_b ins(%a, %w{i} : tensor<8x{step}xf32>, tensor<8x{step}xf32>)
        outs(%in{i} : tensor<8x8xf32>) -> tensor<8x8xf32>""" for i, (memory, mtype, lead) in enumerate(sources))
    outs = ", ".join(f"%out{i}" for i in range(n))
    return f"""
evt.device @{name}({arguments}) grid({grid}) {{
  %c0 = arith.constant 0 : index
  %depth = arith.constant {depth} : index
  %step = arith.constant {step} : index
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j)
  %zero = arith.constant dense<0.0> : tensor<8x8xf32>
  %like = tensor.empty() : tensor<8x8xf32>{extra}
  {accs} = scf.for %k = %c0 to %depth step %step iter_args({args}) -> ({types}) {{
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, {columns})
    %a16 = evt.load %x[%token, %kk] : {rows} -> tensor<8x{step}xbf16>
    %a = arith.extf %a16 : tensor<8x{step}xbf16> to tensor<8x{step}xf32>{body}
    scf.yield {outs} : {types}
  }}{epilogue}
}}
"""


def norm(d, count):
    return f"""
  %none = arith.constant dense<0.0> : tensor<8xf32>
  %scale = arith.constant dense<{1.0 / d!r}> : tensor<8xf32>
  %epsilon = arith.constant dense<1.0e-6> : tensor<8xf32>
  %parts = evt.load %squares[%token, %c0] : memref<?x{count}xf32> -> tensor<8x{count}xf32>
  %sum = linalg.reduce {{ arith.addf }} ins(%parts : tensor<8x{count}xf32>) outs(%none : tensor<8xf32>) dimensions = [1]
  %mean = arith.mulf %sum, %scale : tensor<8xf32>
  %above = arith.addf %mean, %epsilon : tensor<8xf32>
  %root = math.rsqrt %above : tensor<8xf32>
  %root_wide = linalg.broadcast ins(%root : tensor<8xf32>) outs(%like : tensor<8x8xf32>) dimensions = [1]"""


def residual(d, count, value):
    return f"""
  %old = evt.load %r[%token, %row] : memref<?x{d}xf32> -> tensor<8x8xf32>
  %new = arith.addf {value}, %old : tensor<8x8xf32>
  %new16 = arith.truncf %new : tensor<8x8xf32> to tensor<8x8xbf16>
  %seen = arith.extf %new16 : tensor<8x8xbf16> to tensor<8x8xf32>
  %square = arith.mulf %seen, %seen : tensor<8x8xf32>
  %nothing = arith.constant dense<0.0> : tensor<8xf32>
  %of_tile = linalg.reduce {{ arith.addf }} ins(%square : tensor<8x8xf32>) outs(%nothing : tensor<8xf32>) dimensions = [1]
  evt.store %new, %r[%token, %row] : tensor<8x8xf32> -> memref<?x{d}xf32>
  evt.store %new16, %rb[%token, %row] : tensor<8x8xbf16> -> memref<?x{d}xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [8, 1] : tensor<8xf32> -> memref<?x{count}xf32>"""


def chain(d, qkv, ff, vocabulary):
    count = d // 8
    pieces, piece = split(ff)
    x16, xf, sq = f"memref<?x{d}xbf16>", f"memref<?x{d}xf32>", f"memref<?x{count}xf32>"
    wq, wo = f"memref<?x{qkv}x{d}xbf16>", f"memref<?x{d}x{d}xbf16>"
    wg, wd, wh = f"memref<?x{ff}x{d}xbf16>", f"memref<?x{d}x{ff}xbf16>", f"memref<{vocabulary}x{d}xbf16>"
    q, h, part, out = (f"memref<?x{qkv}xbf16>", f"memref<?x{ff}xbf16>", f"memref<{pieces}x?x{d}xf32>",
                       f"memref<?x{vocabulary}xf32>")
    wide = 64 if d % 64 == 0 else 8
    text = f"""// The decode chain of a dense decoder: hidden size {d}, query/key/value rows {qkv}, feed-forward {ff}, vocabulary
// {vocabulary}. Written by bench/chain/program.py.

// What the layers read of the residual stream: bf16, and the sum of squares of each 8 columns.
evt.device @start(%r: {xf}, %rb: {x16}, %squares: {sq}) grid(%t, %j) {{
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %col = affine.apply affine_map<(d0) -> (d0 * {wide})>(%j)
  %group = affine.apply affine_map<(d0) -> (d0 * {wide // 8})>(%j)
  %x = evt.load %r[%token, %col] : {xf} -> tensor<8x{wide}xf32>
  %x16 = arith.truncf %x : tensor<8x{wide}xf32> to tensor<8x{wide}xbf16>
  %seen = arith.extf %x16 : tensor<8x{wide}xbf16> to tensor<8x{wide}xf32>
  %square = arith.mulf %seen, %seen : tensor<8x{wide}xf32>
  %groups = tensor.expand_shape %square [[0], [1, 2]] output_shape [8, {wide // 8}, 8]
      : tensor<8x{wide}xf32> into tensor<8x{wide // 8}x8xf32>
  %none = arith.constant dense<0.0> : tensor<8x{wide // 8}xf32>
  %part = linalg.reduce {{ arith.addf }} ins(%groups : tensor<8x{wide // 8}x8xf32>) outs(%none : tensor<8x{wide // 8}xf32>)
      dimensions = [2]
  evt.store %x16, %rb[%token, %col] : tensor<8x{wide}xbf16> -> {x16}
  evt.store %part, %squares[%token, %group] : tensor<8x{wide // 8}xf32> -> {sq}
}}
"""
    text += product("qkv", d, count, f"%x: {x16}, %squares: {sq}, %w: {wq}, %q: {q}, %l: index", norm(d, count), x16, d,
                    [("%w", wq, "%l, ")], f"""
  %normed = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  %normed16 = arith.truncf %normed : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %normed16, %q[%token, %row] : tensor<8x8xbf16> -> {q}""")
    text += product("out", d, count, f"%x: {q}, %w: {wo}, %r: {xf}, %rb: {x16}, %squares: {sq}, %l: index", "", q, d,
                    [("%w", wo, "%l, ")], residual(d, count, "%acc0"))
    text += product("gate_up", d, count, f"%x: {x16}, %squares: {sq}, %wg: {wg}, %wu: {wg}, %h: {h}, %l: index",
                    norm(d, count), x16, d, [("%wg", wg, "%l, "), ("%wu", wg, "%l, ")], f"""
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  %gate = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  %up = arith.mulf %acc1, %root_wide : tensor<8x8xf32>
  %minus = arith.negf %gate : tensor<8x8xf32>
  %exp = math.exp %minus : tensor<8x8xf32>
  %below = arith.addf %exp, %one : tensor<8x8xf32>
  %silu = arith.divf %gate, %below : tensor<8x8xf32>
  %swiglu = arith.mulf %silu, %up : tensor<8x8xf32>
  %swiglu16 = arith.truncf %swiglu : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %swiglu16, %h[%token, %row] : tensor<8x8xbf16> -> {h}""")
    if pieces > 1:
        text += product("down", d, count, f"%x: {h}, %w: {wd}, %part: {part}, %l: index", f"""
  %first = affine.apply affine_map<(d0) -> (d0 * {piece})>(%s)""", h, piece, [("%w", wd, "%l, ")], f"""
  evt.store %acc0, %part[%s, %token, %row] : tensor<8x8xf32> -> {part}""", "%first", "%t, %s, %j")
        loads = "".join(f"""
  %s{s} = arith.constant {s} : index
  %p{s} = evt.load %part[%s{s}, %token, %row] : {part} -> tensor<8x8xf32>""" for s in range(pieces))
        sums = "".join(f"""
  %sum{s} = arith.addf {'%p0' if s == 1 else f'%sum{s - 1}'}, %p{s} : tensor<8x8xf32>""" for s in range(1, pieces))
        text += f"""
evt.device @combine(%part: {part}, %r: {xf}, %rb: {x16}, %squares: {sq}) grid(%t, %j) {{
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j){loads}{sums}{residual(d, count, f'%sum{pieces - 1}')}
}}
"""
    else:
        text += product("down", d, count, f"%x: {h}, %w: {wd}, %r: {xf}, %rb: {x16}, %squares: {sq}, %l: index", "", h, ff,
                        [("%w", wd, "%l, ")], residual(d, count, "%acc0"))
    text += product("head", d, count, f"%x: {x16}, %squares: {sq}, %w: {wh}, %logits: {out}", norm(d, count), x16, d,
                    [("%w", wh, "")], f"""
  %logit = arith.mulf %acc0, %root_wide : tensor<8x8xf32>
  evt.store %logit, %logits[%token, %row] : tensor<8x8xf32> -> {out}""")
    per_piece = piece // 8
    down = f"""
    evt.call @down(%h, %w_down, %part, %l) grid(%tiles, %c_pieces, %c_hidden)
      wait(%activated[(l, t, s, j) -> (l, t, s)]) notify(%pieces_done[(l, t, s, j) -> (l, t, j)])
      : ({h}, {wd}, {part}, index)
    evt.call @combine(%part, %r, %rb, %squares) grid(%tiles, %c_hidden)
      wait(%pieces_done[(l, t, j) -> (l, t, j)]) notify(%added2[(l, t, j) -> (l, t)])
      : ({part}, {xf}, {x16}, {sq})""" if pieces > 1 else f"""
    evt.call @down(%h, %w_down, %r, %rb, %squares, %l) grid(%tiles, %c_hidden)
      wait(%activated[(l, t, j) -> (l, t, 0)]) notify(%added2[(l, t, j) -> (l, t)])
      : ({h}, {wd}, {xf}, {x16}, {sq}, index)"""
    part_alloc = f"""
  %part = evt.alloc(%tokens) : {part}
  %pieces_done = evt.event(%layers, %tiles, %c_hidden) count({pieces}) : !evt.event<?x?x?>""" if pieces > 1 else ""
    text += f"""
evt.graph @decode_chain(%r: {xf}, %w_qkv: {wq} {{evt.immutable}}, %w_out: {wo} {{evt.immutable}},
                        %w_gate: {wg} {{evt.immutable}}, %w_up: {wg} {{evt.immutable}}, %w_down: {wd} {{evt.immutable}},
                        %w_head: {wh} {{evt.immutable}}, %logits: {out}) {{
  %tokens = evt.symbol "tokens" (%r[0], %logits[0]) range(1, 256) : {xf}, {out}
  %layers = evt.symbol "layers" (%w_qkv[0], %w_out[0], %w_gate[0], %w_up[0], %w_down[0])
    : {wq}, {wo}, {wg}, {wg}, {wd}
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%tokens]
  %c_start = arith.constant {d // wide} : index
  %c_qkv = arith.constant {qkv // 8} : index
  %c_hidden = arith.constant {d // 8} : index
  %c_feed = arith.constant {ff // 8} : index
  %c_pieces = arith.constant {pieces} : index
  %c_head = arith.constant {vocabulary // 8} : index
  %rb = evt.alloc(%tokens) : {x16}
  %squares = evt.alloc(%tokens) : {sq}
  %q = evt.alloc(%tokens) : {q}
  %h = evt.alloc(%tokens) : {h}{part_alloc}
  %started = evt.event(%tiles) count({d // wide}) : !evt.event<?>
  %projected = evt.event(%layers, %tiles) count({qkv // 8}) : !evt.event<?x?>
  %added1 = evt.event(%layers, %tiles) count({d // 8}) : !evt.event<?x?>
  %activated = evt.event(%layers, %tiles, %c_pieces) count({per_piece}) : !evt.event<?x?x?>
  %added2 = evt.event(%layers, %tiles) count({d // 8}) : !evt.event<?x?>

  evt.call @start(%r, %rb, %squares) grid(%tiles, %c_start) notify(%started[(t, j) -> (t)])
    : ({xf}, {x16}, {sq})
  evt.repeat %l to %layers {{
    evt.call @qkv(%rb, %squares, %w_qkv, %q, %l) grid(%tiles, %c_qkv)
      wait(%started[(l, t, j) -> (t)], %added2[(l, t, j) -> (l - 1 to l, t)]) notify(%projected[(l, t, j) -> (l, t)])
      : ({x16}, {sq}, {wq}, {q}, index)
    evt.call @out(%q, %w_out, %r, %rb, %squares, %l) grid(%tiles, %c_hidden)
      wait(%projected[(l, t, j) -> (l, t)]) notify(%added1[(l, t, j) -> (l, t)])
      : ({q}, {wo}, {xf}, {x16}, {sq}, index)
    evt.call @gate_up(%rb, %squares, %w_gate, %w_up, %h, %l) grid(%tiles, %c_feed)
      wait(%added1[(l, t, j) -> (l, t)]) notify(%activated[(l, t, j) -> (l, t, j floordiv {per_piece})])
      : ({x16}, {sq}, {wg}, {wg}, {h}, index){down}
  }}
  evt.call @head(%rb, %squares, %w_head, %logits) grid(%tiles, %c_head)
    wait(%started[(layers, t, j) -> (t)], %added2[(layers, t, j) -> (layers - 1 to layers, t)])
    : ({x16}, {sq}, {wh}, {out})
}}
"""
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS)
    parser.add_argument("--hidden", type=int)
    parser.add_argument("--qkv", type=int)
    parser.add_argument("--feed-forward", type=int)
    parser.add_argument("--vocabulary", type=int)
    options = parser.parse_args()
    dims = MODELS[options.model] if options.model else (options.hidden, options.qkv, options.feed_forward, options.vocabulary)
    if None in dims:
        parser.error("give --model, or --hidden, --qkv, --feed-forward and --vocabulary")
    for name, value, unit in zip(("hidden", "qkv", "feed-forward", "vocabulary"), dims, (256, 8, 256, 8)):
        if value <= 0 or value % unit:
            parser.error(f"--{name} is {value}, required a positive multiple of {unit}")
    print(chain(*dims), end="")


if __name__ == "__main__":
    main()
