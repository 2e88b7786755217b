"""What follows products of tiles and needs sums of whole rows, on the simulated GPU: the columns are done 32 at a time, and sums
go on from one block of them to the next.

A task adds a tile of x w^T to r, stores it, times a vector in bf16 too, and the sum of squares and the largest value of each of
its rows; columns outside the matrix are 0. The second may be found "behind" the first, from
which it starts. Or there are none: for every row, a number that needs no column. Expected values are NumPy's.
"""

import collections

Case = collections.namedtuple("Case", "rows columns width n depth sums", defaults=["apart"])
# Blocks of 32 columns, and a rest of 8 and 24; tiles that reach beyond the matrix; few rows, for one group of warps.
CASES = [Case(128, 96, 192, 150, 64), Case(128, 72, 144, 40, 128), Case(64, 120, 240, 70, 64), Case(256, 128, 200, 300, 64),
         Case(128, 96, 192, 150, 64, "behind"),
         Case(128, 96, 192, 150, 64, "none")]


def program(case):
    r, c, w = case.rows, case.columns, case.width
    tiles = -(-w // c)
    f32, bf16, row = f"tensor<{r}x{c}xf32>", f"tensor<{r}x{c}xbf16>", f"tensor<{r}xf32>"
    x, weights, y, yb, v, found = (f"memref<?x{case.depth}xbf16>", f"memref<{w}x{case.depth}xbf16>", f"memref<?x{w}xf32>",
                                   f"memref<?x{w}xbf16>", f"memref<{w}xf32>", f"memref<?x{tiles}xf32>")
    memories = f"%x: {x}, %w: {weights}, %r: {y}, %y: {y}, %yb: {yb}, %v: {v}, %squares: {found}, %largest: {found}"
    types = f"{x}, {weights}, {y}, {y}, {yb}, {v}, {found}, {found}"

    def reduced(name, combine, of, first, begin=""):
        return f"""
  %{name}_0 = arith.constant dense<{first}> : {row}
  %{name} = linalg.reduce {{ {combine} }} ins({of} : {f32}) outs({begin or f"%{name}_0"} : {row}) dimensions = [1]"""

    def plain(name, value):
        return f"""
  %{name} = arith.constant dense<{value}> : {row}"""

    def stored(name, memory):
        return f"""
  evt.store %{name}, {memory}[%row, %j] sizes [{r}, 1] : {row} -> {found}"""

    square = f"""
  %square = arith.mulf %value, %value : {f32}"""
    sums = square + reduced("sums", "arith.addf", "%square", "0.0")
    most = reduced("most", "arith.maximumf", "%value", "-1000.0", "%sums" if case.sums == "behind" else "")
    seven, minus = plain("seven", "7.0"), plain("minus", "-3.0")
    rows = {"apart": sums + stored("sums", "%squares") + most + stored("most", "%largest"),
            "behind": sums + most + stored("most", "%largest") + seven + stored("seven", "%squares"),
            "none": seven + stored("seven", "%squares") + minus + stored("minus", "%largest")}[case.sums]
    return f"""
evt.device @tile({memories}) grid(%i, %j) {{
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %depth = arith.constant {case.depth} : index
  %row = affine.apply affine_map<(d0) -> (d0 * {r})>(%i)
  %column = affine.apply affine_map<(d0) -> (d0 * {c})>(%j)
  %zero = arith.constant dense<0.0> : {f32}
  %sum = scf.for %k = %c0 to %depth step %c64 iter_args(%in = %zero) -> ({f32}) {{
    %a16 = evt.load %x[%row, %k] : {x} -> tensor<{r}x64xbf16>
    %a = arith.extf %a16 : tensor<{r}x64xbf16> to tensor<{r}x64xf32>
    %b16 = evt.load %w[%column, %k] : {weights} -> tensor<{c}x64xbf16>
    %b = arith.extf %b16 : tensor<{c}x64xbf16> to tensor<{c}x64xf32>
    %out = linalg.matmul_transpose_b ins(%a, %b : tensor<{r}x64xf32>, tensor<{c}x64xf32>) outs(%in : {f32}) -> {f32}
    scf.yield %out : {f32}
  }}
  %before = evt.load %r[%row, %column] : {y} -> {f32}
  %value = arith.addf %sum, %before : {f32}
  evt.store %value, %y[%row, %column] : {f32} -> {y}
  %factors = evt.load %v[%column] : {v} -> tensor<{c}xf32>
  %empty = tensor.empty() : {f32}
  %wide = linalg.broadcast ins(%factors : tensor<{c}xf32>) outs(%empty : {f32}) dimensions = [0]
  %scaled = arith.mulf %value, %wide : {f32}
  %narrow = arith.truncf %scaled : {f32} to {bf16}
  evt.store %narrow, %yb[%row, %column] : {bf16} -> {yb}{rows}
}}
evt.graph @rows({memories.replace(f"%w: {weights}", f"%w: {weights} {{evt.immutable}}").replace(f"%x: {x}", f"%x: {x} {{evt.immutable}}")}) {{
  %n = evt.symbol "n" (%x[0], %r[0], %y[0], %yb[0], %squares[0], %largest[0])
    : {x}, {y}, {y}, {yb}, {found}, {found}
  %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv {r})>()[%n]
  %columns = arith.constant {tiles} : index
  evt.call @tile(%x, %w, %r, %y, %yb, %v, %squares, %largest) grid(%tiles, %columns)
    : ({types})
}}
"""


def problem_of(simulator, case, seed, folder):
    """What is wrong, or None."""
    import numpy as np

    source, artifact = folder / "program.mlir", folder / "program.evt"
    source.write_text(program(case))
    code, said = simulator.compile(source, artifact)
    if code:
        return f"does not compile\n{said.rstrip()}"
    if "first += 32" not in (artifact / "kernel.cu").read_text():
        return "its columns are not done block by block"
    random = np.random.default_rng(seed)
    # Whole numbers and halves: bf16 has them, and every order of a sum gives the same.
    values = {"x": random.integers(-1, 2, (case.n, case.depth)), "w": random.integers(-2, 3, (case.width, case.depth)) / 2,
              "r": random.integers(-9, 10, (case.n, case.width)) / 2 - 30.0 * (np.arange(case.n)[:, None] % 3),
              "v": random.integers(-3, 4, case.width) / 2}
    as_bf16 = lambda a: (np.ascontiguousarray(a, dtype=np.float32).view(np.uint32) >> 16).astype(np.uint16).view("V2")
    command = [simulator.evt, "run", artifact]
    for name, value in values.items():
        np.save(folder / f"{name}.npy", as_bf16(value) if name in "xw" else value.astype(np.float32))
        command += ["--in", f"{name}={folder / name}.npy"]
    for name in ("y", "yb", "squares", "largest"):
        command += ["--out", f"{name}={folder / name}.npy"]
    y = values["r"] + values["x"] @ values["w"].T
    tiles = [y[:, at:at + case.columns] for at in range(0, case.width, case.columns)]
    expected = {"y": y, "squares": np.stack([(t * t).sum(1) for t in tiles], 1),
                "largest": np.stack([np.maximum(t.max(1), -1000 if t.shape[1] == case.columns else 0) for t in tiles], 1)}
    if case.sums == "behind":
        expected["largest"] = np.maximum(expected["largest"], expected["squares"])
    if case.sums == "none":
        expected["largest"] = np.full((case.n, len(tiles)), -3)
    if case.sums != "apart":
        expected["squares"] = np.full((case.n, len(tiles)), 7)
    for schedule in ("static", "ticket", "dynamic"):
        code, said = simulator.run([*command, "--schedule", schedule], EVT_SIMULATED_SEED=str(seed), EVT_SIMULATED_SMS="3")
        if code:
            return f"{schedule}: exit code {code}\n{said.rstrip()}"
        for name, value in expected.items():
            found = np.load(folder / f"{name}.npy")
            if not np.array_equal(found, value.astype(np.float32)):
                return f"{schedule}: {name} is off by {np.abs(found - value).max()}"
        narrow = (np.load(folder / "yb.npy").view(np.uint16).astype(np.uint32) << 16).view(np.float32)
        scaled = y * values["v"]
        if not np.all(np.abs(narrow - scaled) <= np.abs(scaled) / 256):
            return f"{schedule}: yb is off by {np.abs(narrow - scaled).max()}"
    return None


def checks(simulator):
    """(name, what is wrong, in a folder)."""
    return [(f"row sums, {case}", lambda folder, case=case, seed=seed: problem_of(simulator, case, seed, folder))
            for seed, case in enumerate(CASES, 1)]
