#!/usr/bin/python3
"""Writes the decode chain of a dense decoder as an evt program: every matrix product of a step with the norms, residuals and
SwiGLU between them, and the head; no attention. Any dimensions; tokens and layers stay symbols.

    program.py --hidden 4096 --qkv 6144 --feed-forward 12288 --vocabulary 151936 > chain.mlir
    program.py --model qwen3-8b > chain.mlir

A task multiplies a tile of 8 tokens with 8 rows of weights, streaming them along K. Norms are applied where a product ends:
who writes the residual stream x stores the sum of squares of its 8 columns (`squares`), and a product of normed
values multiplies its sums with the root at the end. The down projection's K is split into two or more pieces of at most 4096,
waited for apart; @combine_down adds a tile's pieces in order when the last one is there. A hidden size of more than 6144 is
split, too: the rows of a product that streams are kept in registers.
"""

import argparse

STEP = 512  # columns of a stage: 8 KB of weights

MODELS = {"qwen3-8b": (4096, 6144, 12288, 151936), "llama-3.2-1b": (2048, 3072, 8192, 128256),
          "qwen3-0.6b": (1024, 4096, 3072, 151936), "qwen3-4b": (2560, 6144, 9728, 151936)}


MOST_DEPTH = 6144  # of a product that streams


def split(depth, most, fewest=1):
    """Depths of the pieces of a sum along K: as few as fit, but at least `fewest` where they are not tiny; equal, or the last
    one shorter. All but the last are multiples of STEP: smaller stages leave less in flight."""
    count = max(-(-depth // most), min(fewest, depth // (2 * STEP)), 1)
    piece = -(-depth // (STEP * count)) * STEP if count > 1 else depth
    return [piece] * (count - 1) + [depth - piece * (count - 1)]


def product(name, arguments, extra, rows, depth, sources, epilogue, columns="%c0", grid="%t, %j"):
    """A device function: one or two products of x[t] with 8 rows of weights, then the epilogue."""
    step = STEP if depth % STEP == 0 else 256
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


class Operator:
    """A product of the chain and what follows it.

    x and outputs are (name, type) of the graph's memories, weights (name in the device function, name in the graph, type);
    `pieces` are depths, and `epilogue` takes the names of the sums. Where K is split, tasks leave the sums of a piece in a part
    for each weight (@name, and @name_last for a last piece that is shorter), and @combine_name adds them in order and ends the
    tile."""

    def __init__(self, name, x, weights, outputs, rows, pieces, squares, epilogue, layered=True):
        self.name, self.x, self.weights, self.outputs, self.epilogue = name, x, weights, outputs, epilogue
        self.rows, self.layered, self.columns = rows, layered, f"%c_{name}"
        self.pieces = pieces
        self.is_even = len(set(self.pieces)) == 1
        self.inputs = [x] + ([("squares", squares)] if squares else [])
        self.hidden = int(x[1].split("x")[1]) if squares else 0
        kind = f"memref<{len(self.pieces)}x?x{rows}xf32>"
        self.parts = [(f"{name}_part{i}", kind) for i in range(len(weights))] if len(self.pieces) > 1 else []

    def devices(self):
        targets = self.parts or self.outputs
        arguments = [f"%x: {self.x[1]}"] + [f"%{n}: {t}" for n, t in self.inputs[1:]]
        arguments += [f"%{formal}: {t}" for formal, _, t in self.weights] + [f"%{n}: {t}" for n, t in targets]
        arguments = ", ".join(arguments + ["%l: index"] * self.layered)
        sources = [(f"%{formal}", t, "%l, " if self.layered else "") for formal, _, t in self.weights]
        before = norm(self.hidden, self.hidden // 8) if self.hidden else ""
        values, scaled = [f"%acc{i}" for i in range(len(sources))], ""
        if self.hidden:
            scaled = "".join(f"""
  %scaled{i} = arith.mulf %acc{i}, %root_wide : tensor<8x8xf32>""" for i in range(len(sources)))
            values = [f"%scaled{i}" for i in range(len(sources))]
        if not self.parts:
            return product(self.name, arguments, before, self.x[1], self.pieces[0], sources, scaled + self.epilogue(*values))
        stores = scaled + "".join(f"""
  evt.store {value}, %{n}[%s, %token, %row] : tensor<8x8xf32> -> {t}""" for value, (n, t) in zip(values, self.parts))
        text = product(self.name, arguments, f"""{before}
  %first = affine.apply affine_map<(d0) -> (d0 * {self.pieces[0]})>(%s)""", self.x[1], self.pieces[0], sources, stores, "%first",
                       "%t, %s, %j")
        if not self.is_even:
            text += product(f"{self.name}_last", arguments, f"""{before}
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
  %row = affine.apply affine_map<(d0) -> (d0 * 8)>(%j){body}{self.epilogue(*sums)}
}}
"""

    def memory(self):
        """Of the graph: how many tasks there are, parts, and the event that counts a tile's pieces."""
        text = f"""
  {self.columns} = arith.constant {self.rows // 8} : index"""
        if self.parts:
            text += f"""
  {self.columns}_equal = arith.constant {len(self.pieces) - (not self.is_even)} : index""" + "".join(f"""
  %{n} = evt.alloc(%tokens) : {t}""" for n, t in self.parts) + f"""
  %{self.name}_pieces = evt.event({'%layers, ' * self.layered}%tiles, {self.columns}) count({len(self.pieces)})
    : !evt.event<{'?x' * self.layered}?x?>"""
        return text

    def calls(self, wait, notify, lead="l, "):
        """`wait(coordinates, piece)` and `notify(coordinates)` are given the left side of their maps, which begins with `lead`."""
        operands = self.inputs + [(n, t) for _, n, t in self.weights] + (self.parts or self.outputs)
        passed = ", ".join([f"%{n}" for n, _ in operands] + ["%l"] * self.layered)
        types = ", ".join([t for _, t in operands] + ["index"] * self.layered)
        at = "l, t, j" if self.layered else "t, j"
        if not self.parts:
            return f"""
    evt.call @{self.name}({passed}) grid(%tiles, {self.columns})
      {wait(f"{lead}t, j", "0")} {notify(f"{lead}t, j")}
      : ({types})"""
        text = f"""
    evt.call @{self.name}({passed}) grid(%tiles, {self.columns}_equal, {self.columns})
      {wait(f"{lead}t, s, j", "s")} notify(%{self.name}_pieces[({lead}t, s, j) -> ({at})])
      : ({types})"""
        if not self.is_even:
            text += f"""
    evt.call @{self.name}_last({passed}) grid(%tiles, {self.columns})
      {wait(f"{lead}t, j", str(len(self.pieces) - 1))} notify(%{self.name}_pieces[({lead}t, j) -> ({at})])
      : ({types})"""
        return text + f"""
    evt.call @combine_{self.name}({', '.join(f'%{n}' for n, _ in self.parts + self.outputs)}) grid(%tiles, {self.columns})
      wait(%{self.name}_pieces[({lead}t, j) -> ({at})]) {notify(f"{lead}t, j")}
      : ({', '.join(t for _, t in self.parts + self.outputs)})"""


def chain(d, qkv, ff, vocabulary):
    count = d // 8
    x16, xf, sq = f"memref<?x{d}xbf16>", f"memref<?x{d}xf32>", f"memref<?x{count}xf32>"
    wq, wo = f"memref<?x{qkv}x{d}xbf16>", f"memref<?x{d}x{d}xbf16>"
    wg, wd, wh = f"memref<?x{ff}x{d}xbf16>", f"memref<?x{d}x{ff}xbf16>", f"memref<{vocabulary}x{d}xbf16>"
    q, h, out = f"memref<?x{qkv}xbf16>", f"memref<?x{ff}xbf16>", f"memref<?x{vocabulary}xf32>"
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

    def store_q(value):
        return f"""
  %q16 = arith.truncf {value} : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %q16, %q[%token, %row] : tensor<8x8xbf16> -> {q}"""

    def store_h(gate, up):
        return f"""
  %one = arith.constant dense<1.0> : tensor<8x8xf32>
  %minus = arith.negf {gate} : tensor<8x8xf32>
  %exp = math.exp %minus : tensor<8x8xf32>
  %below = arith.addf %exp, %one : tensor<8x8xf32>
  %silu = arith.divf {gate}, %below : tensor<8x8xf32>
  %swiglu = arith.mulf %silu, {up} : tensor<8x8xf32>
  %swiglu16 = arith.truncf %swiglu : tensor<8x8xf32> to tensor<8x8xbf16>
  evt.store %swiglu16, %h[%token, %row] : tensor<8x8xbf16> -> {h}"""

    def add(value):
        return residual(d, count, value)

    def store_logits(value):
        return f"""
  evt.store {value}, %logits[%token, %row] : tensor<8x8xf32> -> {out}"""

    whole = split(d, MOST_DEPTH)
    stream = [("r", xf), ("rb", x16), ("squares", sq)]
    qkv_, out_, gate_up, down, head = operators = [
        Operator("qkv", ("rb", x16), [("w", "w_qkv", wq)], [("q", q)], qkv, whole, sq, store_q),
        Operator("out", ("q", q), [("w", "w_out", wo)], stream, d, whole, None, add),
        Operator("gate_up", ("rb", x16), [("wg", "w_gate", wg), ("wu", "w_up", wg)], [("h", h)], ff, whole, sq, store_h),
        Operator("down", ("h", h), [("w", "w_down", wd)], stream, d, split(ff, 4096, fewest=2), None, add),
        Operator("head", ("rb", x16), [("w", "w_head", wh)], [("logits", out)], vocabulary, whole, sq, store_logits, False)]
    text += "".join(operator.devices() for operator in operators)
    pieces, per_piece = len(down.pieces), down.pieces[0] // 8
    activated = f"{per_piece}" if down.is_even else f"(l, t, s) -> ({per_piece}, {ff // 8} - s * {per_piece})"

    def after_layer(at, _):
        before = at.split(", ")[0]
        return f"wait(%started[({at}) -> (t)], %added2[({at}) -> ({before} - 1 to {before}, t)])"

    calls = qkv_.calls(after_layer, lambda at: f"notify(%projected[({at}) -> (l, t)])")
    calls += out_.calls(lambda at, _: f"wait(%projected[({at}) -> (l, t)])", lambda at: f"notify(%added1[({at}) -> (l, t)])")
    calls += gate_up.calls(lambda at, _: f"wait(%added1[({at}) -> (l, t)])",
                           lambda at: f"notify(%activated[({at}) -> (l, t, j floordiv {per_piece})])")
    calls += down.calls(lambda at, s: f"wait(%activated[({at}) -> (l, t, {s})])", lambda at: f"notify(%added2[({at}) -> (l, t)])")
    text += f"""
evt.graph @decode_chain(%r: {xf}, %w_qkv: {wq} {{evt.immutable}}, %w_out: {wo} {{evt.immutable}},
                        %w_gate: {wg} {{evt.immutable}}, %w_up: {wg} {{evt.immutable}}, %w_down: {wd} {{evt.immutable}},
                        %w_head: {wh} {{evt.immutable}}, %logits: {out}) {{
  %tokens = evt.symbol "tokens" (%r[0], %logits[0]) range(1, 256) : {xf}, {out}
  %layers = evt.symbol "layers" (%w_qkv[0], %w_out[0], %w_gate[0], %w_up[0], %w_down[0])
    : {wq}, {wo}, {wg}, {wg}, {wd}
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 8)>()[%tokens]
  %c_start = arith.constant {d // wide} : index
  %c_pieces = arith.constant {pieces} : index
  %rb = evt.alloc(%tokens) : {x16}
  %squares = evt.alloc(%tokens) : {sq}
  %q = evt.alloc(%tokens) : {q}
  %h = evt.alloc(%tokens) : {h}{"".join(operator.memory() for operator in operators)}
  %started = evt.event(%tiles) count({d // wide}) : !evt.event<?>
  %projected = evt.event(%layers, %tiles) count({qkv // 8}) : !evt.event<?x?>
  %added1 = evt.event(%layers, %tiles) count({d // 8}) : !evt.event<?x?>
  %activated = evt.event(%layers, %tiles, %c_pieces) count({activated}) : !evt.event<?x?x?>
  %added2 = evt.event(%layers, %tiles) count({d // 8}) : !evt.event<?x?>

  evt.call @start(%r, %rb, %squares) grid(%tiles, %c_start) notify(%started[(t, j) -> (t)])
    : ({xf}, {x16}, {sq})
  evt.repeat %l to %layers {{{calls}
  }}{head.calls(after_layer, lambda at: "", "layers, ")}
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
