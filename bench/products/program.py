#!/usr/bin/python3
"""Writes products with many rows as evt programs: one product C = A B^T, or the feed-forward part of a decoder layer.

    program.py product --n 8192 --k 8192 > product.mlir            C[m, n] = A[m, k] B[n, k]^T, for any number of rows m
    program.py mlp --hidden 4096 --feed-forward 12288 > mlp.mlir   y = down(silu(gate(x)) * up(x)), for any number of tokens
    program.py layers --hidden 4096 --feed-forward 12288           r += down(silu(gate(r)) * up(r)), layer after layer

A task multiplies a tile of --rows x --columns, along K in steps of 64. Tasks are numbered so that neighbours share
operands in the L2 cache: --group tiles of rows, then the next tile of columns, as the order of the grid's coordinates.
"""

import argparse

STEP = 64


def ceil_div(a, b):
    return -(-a // b)


def product(name, arguments, rows, columns, depth, x, sources, epilogue, group, lead="", narrow="bf16"):
    """A device function: products of a tile of %x with a tile of each source's rows, then the epilogue."""
    n = len(sources)
    tile, a16, b16 = f"tensor<{rows}x{columns}xf32>", f"tensor<{rows}x{STEP}x{narrow}>", f"tensor<{columns}x{STEP}x{narrow}>"
    a32, b32 = a16.replace(narrow, "f32"), b16.replace(narrow, "f32")
    accs, outs = ", ".join(f"%acc{i}" for i in range(n)), ", ".join(f"%out{i}" for i in range(n))
    args, types = ", ".join(f"%in{i} = %zero" for i in range(n)), ", ".join([tile] * n)
    body = "".join(f"""
    %w{i}_16 = evt.load {memory}[{lead}%column, %k] : {mtype} -> {b16}
    %w{i} = arith.extf %w{i}_16 : {b16} to {b32}
    %out{i} = linalg.matmul_transpose_b ins(%a, %w{i} : {a32}, {b32}) outs(%in{i} : {tile}) -> {tile}"""
                   for i, (memory, mtype) in enumerate(sources))
    return f"""
evt.device @{name}({arguments}) grid(%g, %j, %i) {{
  %c0 = arith.constant 0 : index
  %depth = arith.constant {depth} : index
  %step = arith.constant {STEP} : index
  %row = affine.apply affine_map<(d0, d1) -> (d0 * {group * rows} + d1 * {rows})>(%g, %i)
  %column = affine.apply affine_map<(d0) -> (d0 * {columns})>(%j)
  %zero = arith.constant dense<0.0> : {tile}
  {accs} = scf.for %k = %c0 to %depth step %step iter_args({args}) -> ({types}) {{
    %a16 = evt.load %x[%row, %k] : {x} -> {a16}
    %a = arith.extf %a16 : {a16} to {a32}{body}
    scf.yield {outs} : {types}
  }}{epilogue}
}}
"""


def stored(value, rows, columns, memory, mtype, out, element):
    """Stores a tile of sums as `element`."""
    tile = f"tensor<{rows}x{columns}xf32>"
    if element == "f32":
        return f"""
  evt.store {value}, {memory}[%row, %column] : {tile} -> {mtype}"""
    narrow = tile.replace("f32", element)
    return f"""
  %{out} = arith.truncf {value} : {tile} to {narrow}
  evt.store %{out}, {memory}[%row, %column] : {narrow} -> {mtype}"""


def groups(symbol, rows, group):
    """Sizes of the grid: groups of row tiles, and row tiles of a group. Few rows make one small group."""
    return f"""
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv {rows})>()[{symbol}]
  %c_group = arith.constant {group} : index
  %groups = affine.apply affine_map<()[s0] -> (s0 ceildiv {group})>()[%tiles]"""


def matrix_product(n, k, rows, columns, group, element, narrow):
    a, b, c = f"memref<?x{k}x{narrow}>", f"memref<{n}x{k}x{narrow}>", f"memref<?x{n}x{element}>"
    text = f"""// C = A B^T: {n} columns, depth {k}, tiles of {rows} x {columns}. Written by bench/products/program.py.
"""
    text += product("tile", f"%x: {a}, %w: {b}, %c: {c}", rows, columns, k, a, [("%w", b)],
                    stored("%acc0", rows, columns, "%c", c, "narrow", element), group, narrow=narrow)
    return text + f"""
evt.graph @product(%a: {a}, %b: {b} {{evt.immutable}}, %c: {c}) {{
  %m = evt.symbol "m" (%a[0], %c[0]) range(1, 1048576) : {a}, {c}{groups("%m", rows, group)}
  %c_columns = arith.constant {ceil_div(n, columns)} : index
  evt.call @tile(%a, %b, %c) grid(%groups, %c_columns, %c_group) : ({a}, {b}, {c})
}}
"""


def swiglu(rows, columns, h):
    tile = f"tensor<{rows}x{columns}xf32>"
    return f"""
  %one = arith.constant dense<1.0> : {tile}
  %minus = arith.negf %acc0 : {tile}
  %exp = math.exp %minus fastmath<afn> : {tile}
  %below = arith.addf %exp, %one : {tile}
  %silu = arith.divf %acc0, %below fastmath<arcp> : {tile}
  %swiglu = arith.mulf %silu, %acc1 : {tile}""" + stored("%swiglu", rows, columns, "%h", h, "narrow", "bf16")


def mlp(hidden, feed_forward, rows, columns, group):
    half = columns // 2
    x, h, y = f"memref<?x{hidden}xbf16>", f"memref<?x{feed_forward}xbf16>", f"memref<?x{hidden}xbf16>"
    wg, wd = f"memref<{feed_forward}x{hidden}xbf16>", f"memref<{hidden}x{feed_forward}xbf16>"
    text = f"""// The feed-forward part of a decoder layer: hidden size {hidden}, feed-forward {feed_forward}, tiles of {rows} x {columns}.
// Written by bench/products/program.py.
"""
    text += product("gate_up", f"%x: {x}, %wg: {wg}, %wu: {wg}, %h: {h}", rows, half, hidden, x,
                    [("%wg", wg), ("%wu", wg)], swiglu(rows, half, h), group)
    text += product("down", f"%x: {h}, %w: {wd}, %y: {y}", rows, columns, feed_forward, h, [("%w", wd)],
                    stored("%acc0", rows, columns, "%y", y, "narrow", "bf16"), group)
    wide, narrow = ceil_div(feed_forward, half), ceil_div(hidden, columns)
    return text + f"""
evt.graph @mlp(%x: {x}, %w_gate: {wg} {{evt.immutable}}, %w_up: {wg} {{evt.immutable}}, %w_down: {wd} {{evt.immutable}},
               %y: {y}) {{
  %tokens = evt.symbol "tokens" (%x[0], %y[0]) range(1, 1048576) : {x}, {y}{groups("%tokens", rows, group)}
  %c_wide = arith.constant {wide} : index
  %c_narrow = arith.constant {narrow} : index
  %h = evt.alloc(%tokens) : {h}
  %activated = evt.event(%groups, %c_group) count({wide}) : !evt.event<?x?>
  evt.call @gate_up(%x, %w_gate, %w_up, %h) grid(%groups, %c_wide, %c_group)
    notify(%activated[(g, j, i) -> (g, i)]) : ({x}, {wg}, {wg}, {h})
  evt.call @down(%h, %w_down, %y) grid(%groups, %c_narrow, %c_group)
    wait(%activated[(g, j, i) -> (g, i)]) : ({h}, {wd}, {y})
}}
"""


def layers(hidden, feed_forward, rows, columns, group):
    half, chunk = columns // 2 // 8 * 8, 16
    r, rb, h = f"memref<?x{hidden}xf32>", f"memref<?x{hidden}xbf16>", f"memref<?x{feed_forward}xbf16>"
    wg, wd = f"memref<?x{feed_forward}x{hidden}xbf16>", f"memref<?x{hidden}x{feed_forward}xbf16>"
    tile = f"tensor<{rows}x{columns}xf32>"
    text = f"""// The feed-forward parts of a decoder's layers, with their residual stream and without norms: hidden size {hidden},
// feed-forward {feed_forward}, tiles of {rows} x {columns}. Written by bench/products/program.py.

// What the layers read of the residual stream: bf16.
evt.device @start(%r: {r}, %rb: {rb}) grid(%g, %i, %p) {{
  %c0 = arith.constant 0 : index
  %row = affine.apply affine_map<(d0, d1, d2) -> (d0 * {group * rows} + d1 * {rows} + d2 * {chunk})>(%g, %i, %p)
  %x = evt.load %r[%row, %c0] : {r} -> tensor<{chunk}x{hidden}xf32>
  %x16 = arith.truncf %x : tensor<{chunk}x{hidden}xf32> to tensor<{chunk}x{hidden}xbf16>
  evt.store %x16, %rb[%row, %c0] : tensor<{chunk}x{hidden}xbf16> -> {rb}
}}
"""
    text += product("gate_up", f"%x: {rb}, %wg: {wg}, %wu: {wg}, %h: {h}, %l: index", rows, half, hidden, rb,
                    [("%wg", wg), ("%wu", wg)], swiglu(rows, half, h), group, "%l, ")
    text += product("down", f"%x: {h}, %w: {wd}, %r: {r}, %rb: {rb}, %l: index", rows, columns, feed_forward, h, [("%w", wd)],
                    f"""
  %old = evt.load %r[%row, %column] : {r} -> {tile}
  %new = arith.addf %acc0, %old : {tile}
  evt.store %new, %r[%row, %column] : {tile} -> {r}""" + stored("%new", rows, columns, "%rb", rb, "narrow", "bf16"),
                    group, "%l, ")
    wide, narrow = ceil_div(feed_forward, half), ceil_div(hidden, columns)
    return text + f"""
evt.graph @layers(%r: {r}, %w_gate: {wg} {{evt.immutable}}, %w_up: {wg} {{evt.immutable}}, %w_down: {wd} {{evt.immutable}}) {{
  %tokens = evt.symbol "tokens" (%r[0]) range(1, 1048576) : {r}
  %layers = evt.symbol "layers" (%w_gate[0], %w_up[0], %w_down[0]) : {wg}, {wg}, {wd}{groups("%tokens", rows, group)}
  %c_chunks = arith.constant {rows // chunk} : index
  %c_wide = arith.constant {wide} : index
  %c_narrow = arith.constant {narrow} : index
  %rb = evt.alloc(%tokens) : {rb}
  %h = evt.alloc(%tokens) : {h}
  %started = evt.event(%groups, %c_group) count({rows // chunk}) : !evt.event<?x?>
  %activated = evt.event(%layers, %groups, %c_group) count({wide}) : !evt.event<?x?x?>
  %added = evt.event(%layers, %groups, %c_group) count({narrow}) : !evt.event<?x?x?>
  evt.call @start(%r, %rb) grid(%groups, %c_group, %c_chunks) notify(%started[(g, i, p) -> (g, i)]) : ({r}, {rb})
  evt.repeat %l to %layers {{
    evt.call @gate_up(%rb, %w_gate, %w_up, %h, %l) grid(%groups, %c_wide, %c_group)
      wait(%started[(l, g, j, i) -> (g, i)], %added[(l, g, j, i) -> (l - 1 to l, g, i)])
      notify(%activated[(l, g, j, i) -> (l, g, i)]) : ({rb}, {wg}, {wg}, {h}, index)
    evt.call @down(%h, %w_down, %r, %rb, %l) grid(%groups, %c_narrow, %c_group)
      wait(%activated[(l, g, j, i) -> (l, g, i)]) notify(%added[(l, g, j, i) -> (l, g, i)])
      : ({h}, {wd}, {r}, {rb}, index)
  }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind, sizes in (("product", ("n", "k")), ("mlp", ("hidden", "feed-forward")), ("layers", ("hidden", "feed-forward"))):
        of = kinds.add_parser(kind)
        for size in sizes:
            of.add_argument(f"--{size}", type=int, required=True)
        of.add_argument("--rows", type=int, default=128, help="of a tile")
        of.add_argument("--columns", type=int, default=256, help="of a tile")
        of.add_argument("--group", type=int, default=8, help="tiles of rows that follow each other")
        if kind == "product":
            of.add_argument("--operands", choices=("bf16", "f16"), default="bf16", help="type of A and B")
            of.add_argument("--output", choices=("bf16", "f16", "f32"), default="bf16", help="type of C")
    o = parser.parse_args()
    if o.kind == "product":
        print(matrix_product(o.n, o.k, o.rows, o.columns, o.group, o.output, o.operands), end="")
    else:
        print((mlp if o.kind == "mlp" else layers)(o.hidden, o.feed_forward, o.rows, o.columns, o.group), end="")


if __name__ == "__main__":
    main()
