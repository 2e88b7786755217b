#!/usr/bin/python3
"""Writes the decode chain of a dense decoder as an evt program: every matrix product of a step with the norms, residuals and
SwiGLU between them, and the head; no attention. Any dimensions; tokens and layers stay symbols.

    program.py --hidden 4096 --qkv 6144 --feed-forward 12288 --vocabulary 151936 > chain.mlir
    program.py --model qwen3-8b > chain.mlir

Up to 8 tokens: a task multiplies a tile of 8 with 8 rows of weights, streaming them along K. More: tiles of 128 with as many rows as
occupy all SMs, on the tensor cores. One program has both, and the number of tokens leaves one of them without tasks. Norms are
applied where a product ends: who writes the residual stream x stores the sum of squares of its columns (`squares`), and a
product of normed values multiplies its sums with the root at the end. The rows of a product that streams are kept in registers, so
for few tokens a K of more than 6656 is split into pieces, waited for apart; @combine_down adds a tile's pieces in order when the last
one is there.
"""

import argparse

STEP = 512  # columns of a stage: 8 KB of weights
UNIT = 256  # of which a piece of K is a multiple
WIDE = 128  # tokens of a tile, when there are more than 8
FEW = 8  # tokens, of a task that streams
MOST_ROWS = 192  # of weights, that these are multiplied with: sums and what follows them stay in registers

MODELS = {"qwen3-8b": (4096, 6144, 12288, 151936), "llama-3.2-1b": (2048, 3072, 8192, 128256),
          "qwen3-0.6b": (1024, 4096, 3072, 151936), "qwen3-4b": (2560, 6144, 9728, 151936)}


MOST_DEPTH = 6656  # of a product that streams (mostRowPieces in compiler/roles/StreamedProduct.h)


def split(depth, deepest):
    """Depths of the pieces of a sum along K: as few as fit; equal, or the last one shorter."""
    count = -(-depth // deepest)
    piece = -(-depth // (UNIT * count)) * UNIT if count > 1 else depth
    count = -(-depth // piece)
    return [piece] * (count - 1) + [depth - piece * (count - 1)]


class Tile:
    """What a task multiplies: so many tokens with so many rows of weights (of each matrix), so many columns a step of K; and how
    its calls are named. Few tokens stream."""

    def __init__(self, rows, few):
        self.tokens, self.rows = (FEW, rows) if few else (WIDE, rows)
        self.end, self.tiles, self.squares = ("", "%few", "squares") if few else ("_wide", "%many", "wide_squares")
        self.few = few
        self.type = f"tensor<{self.tokens}x{rows}xf32>"
        self.narrow = f"tensor<{self.tokens}x{rows}xbf16>"
        self.column = f"tensor<{self.tokens}xf32>"

    def step(self, depth):
        return 64 if not self.few else STEP if depth % STEP == 0 else UNIT

    def own(self, name):
        """Buffers of few and of many tokens are apart: rows that only tasks that stream touch can be read early."""
        return f"wide_{name}" if not self.few and name in ("rb", "q", "h") else name


def product(name, tile, arguments, extra, rows, depth, sources, epilogue, columns="%c0", grid="%t, %j"):
    """A device function: one or two products of x[t] with rows of weights, then the epilogue."""
    n, step = len(sources), tile.step(depth)
    accs = ", ".join(f"%acc{i}" for i in range(n))
    types = ", ".join([tile.type] * n)
    args = ", ".join(f"%in{i} = %zero" for i in range(n))
    x16, w16 = f"tensor<{tile.tokens}x{step}xbf16>", f"tensor<{tile.rows}x{step}xbf16>"
    x32, w32 = x16.replace("bf16", "f32"), w16.replace("bf16", "f32")
    body = "".join(f"""
    %w{i}_16 = evt.load {memory}[{lead}%row, %kk] : {mtype} -> {w16}
    %w{i} = arith.extf %w{i}_16 : {w16} to {w32}
    %out{i} = linalg.matmul_transpose_b ins(%a, %w{i} : {x32}, {w32})
        outs(%in{i} : {tile.type}) -> {tile.type}""" for i, (memory, mtype, lead) in enumerate(sources))
    outs = ", ".join(f"%out{i}" for i in range(n))
    return f"""
evt.device @{name}({arguments}) grid({grid}) {{
  %c0 = arith.constant 0 : index
  %depth = arith.constant {depth} : index
  %step = arith.constant {step} : index
  %token = affine.apply affine_map<(d0) -> (d0 * {tile.tokens})>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * {tile.rows})>(%j)
  %zero = arith.constant dense<0.0> : {tile.type}
  %like = tensor.empty() : {tile.type}{extra}
  {accs} = scf.for %k = %c0 to %depth step %step iter_args({args}) -> ({types}) {{
    %kk = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%k, {columns})
    %a16 = evt.load %x[%token, %kk] : {rows} -> {x16}
    %a = arith.extf %a16 : {x16} to {x32}{body}
    scf.yield {outs} : {types}
  }}{epilogue}
}}
"""


def norm(tile, d, count):
    parts, column = f"tensor<{tile.tokens}x{count}xf32>", tile.column
    return f"""
  %none = arith.constant dense<0.0> : {column}
  %scale = arith.constant dense<{1.0 / d!r}> : {column}
  %epsilon = arith.constant dense<1.0e-6> : {column}
  %parts = evt.load %squares[%token, %c0] : memref<?x{count}xf32> -> {parts}
  %sum = linalg.reduce {{ arith.addf }} ins(%parts : {parts}) outs(%none : {column}) dimensions = [1]
  %mean = arith.mulf %sum, %scale : {column}
  %above = arith.addf %mean, %epsilon : {column}
  %root = math.rsqrt %above fastmath<afn> : {column}
  %root_wide = linalg.broadcast ins(%root : {column}) outs(%like : {tile.type}) dimensions = [1]"""


def residual(tile, d, count, value):
    return f"""
  %old = evt.load %r[%token, %row] : memref<?x{d}xf32> -> {tile.type}
  %new = arith.addf {value}, %old : {tile.type}
  %new16 = arith.truncf %new : {tile.type} to {tile.narrow}
  %seen = arith.extf %new16 : {tile.narrow} to {tile.type}
  %square = arith.mulf %seen, %seen : {tile.type}
  %nothing = arith.constant dense<0.0> : {tile.column}
  %of_tile = linalg.reduce {{ arith.addf }} ins(%square : {tile.type}) outs(%nothing : {tile.column}) dimensions = [1]
  evt.store %new, %r[%token, %row] : {tile.type} -> memref<?x{d}xf32>
  evt.store %new16, %rb[%token, %row] : {tile.narrow} -> memref<?x{d}xbf16>
  evt.store %of_tile, %squares[%token, %j] sizes [{tile.tokens}, 1] : {tile.column} -> memref<?x{count}xf32>"""


def start(name, d, columns, group, grid="%t, %j", token="(d0) -> (d0 * 8)", tokens="%t"):
    """What the layers read of the residual stream: bf16, and the sum of squares of each `group` columns."""
    x, parts = f"tensor<8x{columns}xf32>", f"tensor<8x{columns // group}xf32>"
    groups = f"tensor<8x{columns // group}x{group}xf32>"
    return f"""
// What the layers read of the residual stream: bf16, and the sum of squares of each {group} columns.
evt.device @{name}(%r: memref<?x{d}xf32>, %rb: memref<?x{d}xbf16>, %squares: memref<?x{d // group}xf32>) grid({grid}) {{
  %token = affine.apply affine_map<{token}>({tokens})
  %col = affine.apply affine_map<(d0) -> (d0 * {columns})>(%j)
  %group = affine.apply affine_map<(d0) -> (d0 * {columns // group})>(%j)
  %x = evt.load %r[%token, %col] : memref<?x{d}xf32> -> {x}
  %x16 = arith.truncf %x : {x} to tensor<8x{columns}xbf16>
  %seen = arith.extf %x16 : tensor<8x{columns}xbf16> to {x}
  %square = arith.mulf %seen, %seen : {x}
  %groups = tensor.expand_shape %square [[0], [1, 2]] output_shape [8, {columns // group}, {group}] : {x} into {groups}
  %none = arith.constant dense<0.0> : {parts}
  %part = linalg.reduce {{ arith.addf }} ins(%groups : {groups}) outs(%none : {parts}) dimensions = [2]
  evt.store %x16, %rb[%token, %col] : tensor<8x{columns}xbf16> -> memref<?x{d}xbf16>
  evt.store %part, %squares[%token, %group] : {parts} -> memref<?x{d // group}xf32>
}}
"""


def wide_rows(rows, matrices=1, divides=False):
    """Rows of weights of a task with many tokens: few enough tasks for the last round over a GPU's 132 SMs to be full, and
    as many rows as that allows, since a task fetches its tokens for all of them."""
    def cost(n):
        return -(-(-(-rows // n)) // 132) * (n * matrices + WIDE // 4)

    fits = [n for n in range(8, MOST_ROWS // matrices + 1, 8) if not divides or rows % (8 * n) == 0]
    return min(fits, key=lambda n: (cost(n), -n))


class Operator:
    """A product of the chain and what follows it.

    x and outputs are (name, type) of the graph's memories, weights (name in the device function, name in the graph, type);
    `pieces` are depths, and `epilogue` takes the names of the sums. Where K is split, tasks leave the sums of a piece in a part
    for each weight (@name, and @name_last for a last piece that is shorter), and @combine_name adds them in order and ends the
    tile."""

    def __init__(self, name, tile, x, weights, outputs, rows, pieces, squares, epilogue, layered=True):
        self.tile, self.name = tile, name + tile.end
        self.x, self.weights, self.outputs, self.epilogue = x, weights, outputs, epilogue
        self.rows, self.layered, self.columns = rows, layered, f"%c_{self.name}"
        self.tasks = -(-rows // tile.rows)
        self.pieces = pieces
        self.is_even = len(set(self.pieces)) == 1
        self.inputs = [x] + ([(tile.squares, squares)] if squares else [])
        self.hidden = int(x[1].split("x")[1]) if squares else 0
        kind = f"memref<{len(self.pieces)}x?x{rows}xf32>"
        self.parts = [(f"{name}_part{i}", kind) for i in range(len(weights))] if len(self.pieces) > 1 else []

    def devices(self):
        targets = self.parts or self.outputs
        formal_of = {self.tile.squares: "squares"}
        arguments = [f"%x: {self.x[1]}"] + [f"%{formal_of.get(n, n)}: {t}" for n, t in self.inputs[1:]]
        arguments += [f"%{formal}: {t}" for formal, _, t in self.weights]
        arguments += [f"%{formal_of.get(n, n)}: {t}" for n, t in targets]
        arguments = ", ".join(arguments + ["%l: index"] * self.layered)
        sources = [(f"%{formal}", t, "%l, " if self.layered else "") for formal, _, t in self.weights]
        before = norm(self.tile, self.hidden, int(self.inputs[1][1].split("x")[1])) if self.hidden else ""
        values, scaled = [f"%acc{i}" for i in range(len(sources))], ""
        if self.hidden:
            scaled = "".join(f"""
  %scaled{i} = arith.mulf %acc{i}, %root_wide : {self.tile.type}""" for i in range(len(sources)))
            values = [f"%scaled{i}" for i in range(len(sources))]
        if not self.parts:
            return product(self.name, self.tile, arguments, before, self.x[1], self.pieces[0], sources,
                           scaled + self.epilogue(self.tile, *values))
        stores = scaled + "".join(f"""
  evt.store {value}, %{n}[%s, %token, %row] : tensor<8x8xf32> -> {t}""" for value, (n, t) in zip(values, self.parts))
        text = product(self.name, self.tile, arguments, f"""{before}
  %first = affine.apply affine_map<(d0) -> (d0 * {self.pieces[0]})>(%s)""", self.x[1], self.pieces[0], sources, stores, "%first",
                       "%t, %s, %j")
        if not self.is_even:
            text += product(f"{self.name}_last", self.tile, arguments, f"""{before}
  %s = arith.constant {len(self.pieces) - 1} : index
  %first = arith.constant {sum(self.pieces[:-1])} : index""", self.x[1], self.pieces[-1], sources, stores, "%first")
        return text + self.combination()

    def combination(self):
        body, sums, last = "", [], len(self.pieces) - 1
        for s in range(last + 1):
            body += f"""
  %s{s} = arith.constant {s} : index"""
        for i, (n, t) in enumerate(self.parts):
            for s in range(last + 1):
                body += f"""
  %p{i}_{s} = evt.load %{n}[%s{s}, %token, %row] : {t} -> tensor<8x8xf32>"""
            for s in range(1, last + 1):
                body += f"""
  %sum{i}_{s} = arith.addf {f'%sum{i}_{s - 1}' if s > 1 else f'%p{i}_0'}, %p{i}_{s} : tensor<8x8xf32>"""
            sums.append(f"%sum{i}_{last}")
        return f"""
evt.device @combine_{self.name}({', '.join(f'%{n}: {t}' for n, t in self.parts + self.outputs)}) grid(%t, %j) {{
  %token = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j){body}{self.epilogue(self.tile, *sums)}
}}
"""

    def memory(self):
        """Of the graph: how many tasks there are, parts, and the event that counts a tile's pieces."""
        text = f"""
  {self.columns} = arith.constant {self.tasks} : index"""
        if self.parts:
            text += f"""
  {self.columns}_equal = arith.constant {len(self.pieces) - (not self.is_even)} : index""" + "".join(f"""
  %{n} = evt.alloc(%tokens) : {t}""" for n, t in self.parts) + f"""
  %{self.name}_pieces = evt.event({'%layers, ' * self.layered}{self.tile.tiles}, {self.columns}) count({len(self.pieces)})
    : !evt.event<{'?x' * self.layered}?x?>"""
        return text

    def calls(self, wait, notify, lead="l, "):
        """`wait(coordinates, piece)` and `notify(coordinates)` are given the left side of their maps, which begins with `lead`."""
        operands = self.inputs + [(n, t) for _, n, t in self.weights] + (self.parts or self.outputs)
        passed = ", ".join([f"%{self.tile.own(n)}" for n, _ in operands] + ["%l"] * self.layered)
        types = ", ".join([t for _, t in operands] + ["index"] * self.layered)
        at = "l, t, j" if self.layered else "t, j"
        if not self.parts:
            return f"""
    evt.call @{self.name}({passed}) grid({self.tile.tiles}, {self.columns})
      {wait(f"{lead}t, j", "0")} {notify(f"{lead}t, j")}
      : ({types})"""
        text = f"""
    evt.call @{self.name}({passed}) grid(%few, {self.columns}_equal, {self.columns})
      {wait(f"{lead}t, s, j", "s")} notify(%{self.name}_pieces[({lead}t, s, j) -> ({at})])
      : ({types})"""
        if not self.is_even:
            text += f"""
    evt.call @{self.name}_last({passed}) grid(%few, {self.columns})
      {wait(f"{lead}t, j", str(len(self.pieces) - 1))} notify(%{self.name}_pieces[({lead}t, j) -> ({at})])
      : ({types})"""
        return text + f"""
    evt.call @combine_{self.name}({', '.join(f'%{n}' for n, _ in self.parts + self.outputs)}) grid(%few, {self.columns})
      wait(%{self.name}_pieces[({lead}t, j) -> ({at})]) {notify(f"{lead}t, j")}
      : ({', '.join(t for _, t in self.parts + self.outputs)})"""


def chain(d, qkv, ff, vocabulary, wide_pieces=1, deepest=MOST_DEPTH):
    """With `wide_pieces`, down waits for so many parts of its rows as it comes to them, also with more than 8 tokens."""
    x16, xf = f"memref<?x{d}xbf16>", f"memref<?x{d}xf32>"
    wq, wo = f"memref<?x{qkv}x{d}xbf16>", f"memref<?x{d}x{d}xbf16>"
    wg, wd, wh = f"memref<?x{ff}x{d}xbf16>", f"memref<?x{d}x{ff}xbf16>", f"memref<{vocabulary}x{d}xbf16>"
    q, h, out = f"memref<?x{qkv}xbf16>", f"memref<?x{ff}xbf16>", f"memref<?x{vocabulary}xf32>"
    text = f"""// The decode chain of a dense decoder: hidden size {d}, query/key/value rows {qkv}, feed-forward {ff}, vocabulary
// {vocabulary}. Written by bench/chain/program.py.
"""

    def store_q(tile, value):
        return f"""
  %q16 = arith.truncf {value} : {tile.type} to {tile.narrow}
  evt.store %q16, %q[%token, %row] : {tile.narrow} -> {q}"""

    def store_h(tile, gate, up):
        return f"""
  %one = arith.constant dense<1.0> : {tile.type}
  %minus = arith.negf {gate} : {tile.type}
  %exp = math.exp %minus fastmath<afn> : {tile.type}
  %below = arith.addf %exp, %one : {tile.type}
  %silu = arith.divf {gate}, %below fastmath<arcp> : {tile.type}
  %swiglu = arith.mulf %silu, {up} : {tile.type}
  %swiglu16 = arith.truncf %swiglu : {tile.type} to {tile.narrow}
  evt.store %swiglu16, %h[%token, %row] : {tile.narrow} -> {h}"""

    def add(tile, value):
        return residual(tile, d, d // tile.rows, value)

    def store_logits(tile, value):
        return f"""
  evt.store {value}, %logits[%token, %row] : {tile.type} -> {out}"""

    def operators(tile, whole, pieces):
        """`tile(rows)` and more say how; `whole` and `pieces` are the depths of K for the hidden size and for down."""
        hidden = tile(d, divides=True)
        sq = f"memref<?x{d // hidden.rows}xf32>"
        stream = [("r", xf), ("rb", x16), (hidden.squares, sq)]
        return [
            Operator("qkv", tile(qkv), ("rb", x16), [("w", "w_qkv", wq)], [("q", q)], qkv, whole, sq, store_q),
            Operator("out", hidden, ("q", q), [("w", "w_out", wo)], stream, d, whole, None, add),
            Operator("gate_up", tile(ff, 2), ("rb", x16), [("wg", "w_gate", wg), ("wu", "w_up", wg)], [("h", h)], ff, whole, sq,
                     store_h),
            Operator("down", hidden, ("h", h), [("w", "w_down", wd)], stream, d, pieces, None, add),
            Operator("head", tile(vocabulary), ("rb", x16), [("w", "w_head", wh)], [("logits", out)], vocabulary, whole, sq,
                     store_logits, False)]

    few = operators(lambda rows, matrices=1, divides=False: Tile(8, True), split(d, deepest), split(ff, deepest))
    many = operators(lambda rows, matrices=1, divides=False: Tile(wide_rows(rows, matrices, divides), False), [d], [ff])
    columns = 64 if d % 64 == 0 else 8
    group = many[1].tile.rows
    text += start("start", d, columns, 8) + "".join(operator.devices() for operator in few)
    text += start("start_wide", d, 4 * group, group, "%t, %i, %j", f"(d0, d1) -> (d0 * {WIDE} + d1 * 8)", "%t, %i")
    text += "".join(operator.devices() for operator in many)

    def layer(operators, end, pieces):
        """The calls of a layer and of the head, and the events between them; `pieces` are down's that wait apart."""
        qkv_, out_, gate_up, down, head = operators
        tiles, per_piece = qkv_.tile.tiles, pieces[0] // gate_up.tile.rows
        name = {n: f"%{end}{n}" for n in ("started", "projected", "added1", "activated", "added2")}
        activated = f"{gate_up.tasks}" if len(pieces) == 1 else f"{per_piece}" if len(set(pieces)) == 1 else \
            f"(l, t, s) -> ({per_piece}, {gate_up.tasks} - s * {per_piece})"
        piece = f"j floordiv {per_piece}" if len(pieces) > 1 else "0"

        def after_layer(at, _):
            before = at.split(", ")[0]
            return f"wait({name['started']}[({at}) -> (t)], {name['added2']}[({at}) -> ({before} - 1 to {before}, t)])"

        calls = qkv_.calls(after_layer, lambda at: f"notify({name['projected']}[({at}) -> (l, t)])")
        calls += out_.calls(lambda at, _: f"wait({name['projected']}[({at}) -> (l, t)])",
                            lambda at: f"notify({name['added1']}[({at}) -> (l, t)])")
        calls += gate_up.calls(lambda at, _: f"wait({name['added1']}[({at}) -> (l, t)])",
                               lambda at: f"notify({name['activated']}[({at}) -> (l, t, {piece})])")
        all_pieces = f"0 to {len(pieces)}" if len(pieces) > 1 else "0"  # of an operator that is not split itself
        calls += down.calls(lambda at, s: f"wait({name['activated']}[({at}) -> (l, t, {s if down.parts else all_pieces})])",
                            lambda at: f"notify({name['added2']}[({at}) -> (l, t)])")
        events = f"""
  %{end}pieces = arith.constant {len(pieces)} : index{"".join(operator.memory() for operator in operators)}
  {name['projected']} = evt.event(%layers, {tiles}) count({qkv_.tasks}) : !evt.event<?x?>
  {name['added1']} = evt.event(%layers, {tiles}) count({out_.tasks}) : !evt.event<?x?>
  {name['activated']} = evt.event(%layers, {tiles}, %{end}pieces) count({activated}) : !evt.event<?x?x?>
  {name['added2']} = evt.event(%layers, {tiles}) count({down.tasks}) : !evt.event<?x?>"""
        return events, calls, head.calls(after_layer, lambda at: "", "layers, ")

    few_events, few_calls, few_head = layer(few, "", few[3].pieces)
    tasks, rows = many[2].tasks, many[2].tile.rows
    piece = -(-tasks // wide_pieces)
    many_events, many_calls, many_head = layer(
        many, "wide_", [rows * min(piece, tasks - first) for first in range(0, tasks, piece)] if wide_pieces > 1 else [ff])
    sq, wide_sq = few[1].outputs[2][1], many[1].outputs[2][1]
    text += f"""
// Up to 8 tokens are one tile of 8, whose weights stream; more are tiles of {WIDE}. One or the other has no tasks.
evt.graph @decode_chain(%r: {xf}, %w_qkv: {wq} {{evt.immutable}}, %w_out: {wo} {{evt.immutable}},
                        %w_gate: {wg} {{evt.immutable}}, %w_up: {wg} {{evt.immutable}}, %w_down: {wd} {{evt.immutable}},
                        %w_head: {wh} {{evt.immutable}}, %logits: {out}) {{
  %tokens = evt.symbol "tokens" (%r[0], %logits[0]) range(1, 256) : {xf}, {out}
  %layers = evt.symbol "layers" (%w_qkv[0], %w_out[0], %w_gate[0], %w_up[0], %w_down[0])
    : {wq}, {wo}, {wg}, {wg}, {wd}
  %few_or_less = affine.min affine_map<()[s0] -> (1, 9 - s0)>()[%tokens]
  %few = affine.max affine_map<()[s0] -> (s0, 0)>()[%few_or_less]
  %many_or_less = affine.min affine_map<()[s0] -> (s0 ceildiv {WIDE}, s0 - 8)>()[%tokens]
  %many = affine.max affine_map<()[s0] -> (s0, 0)>()[%many_or_less]
  %c_start = arith.constant {d // columns} : index
  %c_eight = arith.constant {WIDE // 8} : index
  %c_start_wide = arith.constant {d // (4 * group)} : index
  %rb = evt.alloc(%tokens) : {x16}
  %wide_rb = evt.alloc(%tokens) : {x16}
  %squares = evt.alloc(%tokens) : {sq}
  %wide_squares = evt.alloc(%tokens) : {wide_sq}
  %q = evt.alloc(%tokens) : {q}
  %wide_q = evt.alloc(%tokens) : {q}
  %h = evt.alloc(%tokens) : {h}
  %wide_h = evt.alloc(%tokens) : {h}
  %started = evt.event(%few) count({d // columns}) : !evt.event<?>
  %wide_started = evt.event(%many) count({WIDE // 8 * (d // (4 * group))}) : !evt.event<?>{few_events}{many_events}

  evt.call @start(%r, %rb, %squares) grid(%few, %c_start) notify(%started[(t, j) -> (t)])
    : ({xf}, {x16}, {sq})
  evt.call @start_wide(%r, %wide_rb, %wide_squares) grid(%many, %c_eight, %c_start_wide)
    notify(%wide_started[(t, i, j) -> (t)]) : ({xf}, {x16}, {wide_sq})
  evt.repeat %l to %layers {{{few_calls}{many_calls}
  }}{few_head}{many_head}
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
    parser.add_argument("--wide-pieces", type=int, default=1,
                        help="events along K of down's rows with more than 8 tokens, which it waits for one after the other")
    parser.add_argument("--deepest", type=int, default=MOST_DEPTH, help="columns of K that a product of few tokens has at most")
    options = parser.parse_args()
    if options.deepest % UNIT or not UNIT <= options.deepest <= MOST_DEPTH:
        parser.error(f"--deepest is {options.deepest}, required a multiple of {UNIT} up to {MOST_DEPTH}")
    if options.wide_pieces < 1:
        parser.error(f"--wide-pieces is {options.wide_pieces}, required at least 1")
    dims = MODELS[options.model] if options.model else (options.hidden, options.qkv, options.feed_forward, options.vocabulary)
    if None in dims:
        parser.error("give --model, or --hidden, --qkv, --feed-forward and --vocabulary")
    for name, value, unit in zip(("hidden", "qkv", "feed-forward", "vocabulary"), dims, (256, 8, 256, 8)):
        if value <= 0 or value % unit:
            parser.error(f"--{name} is {value}, required a positive multiple of {unit}")
    print(chain(*dims, options.wide_pieces, options.deepest), end="")


if __name__ == "__main__":
    main()
