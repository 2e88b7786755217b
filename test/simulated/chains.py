"""Decode chains of drawn dimensions on the simulated GPU: kernels that nobody has looked at, against float64.

Dimensions are small, but their remainders are all that a chain's program allows: pieces of K that are equal or not, stages that
are full or not, rows that are waited for part by part, tasks that do not divide by blocks. Every schedule runs one shape with a number of blocks and an order of
events of its own, and all must give the same bits.
"""

import collections
import pathlib
import random
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench" / "chain")]

import example
import program

Draw = collections.namedtuple("Draw", "dims wide_pieces deepest shapes")
BITS = re.compile(r"^  (\w+): .*(fnv1a64 \w+)$", re.MULTILINE)


def draw(generator):
    """The dimensions of a chain, and (tokens, layers, blocks, seed) of each run; one in four has rows of more pieces than fit in
    registers."""
    is_deep = generator.random() < 0.25
    hidden = 256 * (generator.randint(26, 28) if is_deep else generator.randint(1, 5))
    qkv = 8 * generator.randint(hidden // 8, hidden // 8 + 40)
    feed_forward = 256 * generator.randint(1, 12 if is_deep else 40)
    vocabulary = 8 * generator.randint(1, 60)
    tokens = [generator.randint(1, 8), generator.choice((9, 17, 64, 65, 129, generator.randint(9, 140)))]
    layers = [generator.choice((0, 1, 2, 3)), generator.choice((1, 1, 2))]
    deepest = min(256 * generator.randint(-(-max(hidden, feed_forward) // 2048), 26), program.MOST_DEPTH)
    return Draw((hidden, qkv, feed_forward, vocabulary), generator.randint(1, 5), deepest,
                [(n, l if hidden < 6656 else 1, generator.randint(1, 9), generator.randint(1, 10**6))
                 for n, l in zip(tokens, layers)])


def stage_by_stage(text):
    """@qkv finds its rows anew in each step, so it reads them stage by stage; a stage has three pieces of them."""
    head, device, rest = text.partition("evt.device @qkv(")
    body, end, rest = rest.partition("\n}\n")
    body = body.replace("%step = arith.constant 512", "%step = arith.constant 768").replace("tensor<8x512x", "tensor<8x768x")
    body = body.replace("    %a16 = evt.load %x[%token,", "    %own = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)\n    %a16 = evt.load %x[%own,")
    return head + device + body + end + rest


def rows_outside(text):
    """The same with other rows in each step, of which the first ones of the first step are outside."""
    text = stage_by_stage(text)
    return text.replace("%own = affine.apply affine_map<(d0) -> (d0 * 8)>(%t)",
                        "%own = affine.apply affine_map<(d0, d1) -> (d0 * 8 + (d1 floordiv 768) * 4 - 4)>(%t, %k)")


# Many blocks: rows are not there when they are read first.
STAGES = Draw((1536, 1536, 1536, 1000), 1, program.MOST_DEPTH, [(8, 2, 40, 1)])


def of_schedules(simulator, artifact, case, blocks, seed):
    """What is wrong with a case under one of the schedules, or None."""
    first = None
    for schedule in ("static", "ticket", "dynamic"):
        code, text = simulator.run([simulator.evt, "run", artifact, "--schedule", schedule, *case, "--workers", blocks],
                                   EVT_SIMULATED_SEED=str(seed), EVT_SIMULATED_SMS=str(blocks))
        where = f"{schedule}, {blocks} blocks, EVT_SIMULATED_SEED={seed}"
        found = BITS.findall(text)
        if code or len(found) != 2:
            return f"{where}: exit code {code}\n{text.rstrip()}"
        first = first or found
        if found != first:
            return f"{where}: other bits than under static"
    return None


def problem_of(simulator, drawn, folder, change=None):
    """What is wrong with the chain, or None."""
    source, artifact = folder / "chain.mlir", folder / "chain.evt"
    text = program.chain(*drawn.dims, drawn.wide_pieces, drawn.deepest)
    source.write_text(change(text) if change else text)
    code, text = simulator.compile(source, artifact)
    if code:
        return f"does not compile\n{text.rstrip()}"
    _, shown = simulator.run([simulator.evt, "show", "--target", "cuda", "--stage", "roles", source])
    if ("-> (l, t, 0 to " in source.read_text()) != ("events    wide_activated" in shown):
        return f"its down projection does not wait part by part\n{shown.rstrip()}"
    reference = example.load_reference(ROOT / "examples" / "decode_chain")
    reference.HIDDEN, reference.QKV, reference.FEED, reference.VOCABULARY = drawn.dims
    for tokens, layers, blocks, seed in drawn.shapes:
        line = f"tokens={tokens} layers={layers}"
        case = example.write_case(reference, line, folder / line.replace(" ", "-"))
        if problem := of_schedules(simulator, artifact, case, blocks, seed):
            return f"{line}, {problem}"
    return None


def problem_outside(simulator, folder):
    """What is wrong with a chain that no reference knows: every schedule has the same bits, and the CPU's results."""
    source, arguments = folder / "chain.mlir", ["--size", "tokens=8", "--size", "layers=2"]
    source.write_text(rows_outside(program.chain(*STAGES.dims, 1)))
    arguments += [word for name in ("r", "w_qkv", "w_out", "w_gate", "w_up", "w_down", "w_head") for word in ("--in", f"{name}=random")]
    outputs = {name: folder / f"{name}.npy" for name in ("r", "logits")}
    for code, text in (simulator.compile(source, folder / "gpu.evt"),
                       simulator.run([simulator.evt, "compile", source, "-o", folder / "cpu.evt"]),
                       simulator.run([simulator.evt, "run", folder / "cpu.evt", *arguments,
                                      *(word for name, file in outputs.items() for word in ("--out", f"{name}={file}"))])):
        if code:
            return text.rstrip()
    expected = [word for name, file in outputs.items() for word in ("--expect", f"{name}={file}")]
    return of_schedules(simulator, folder / "gpu.evt", [*arguments, "--tol", "0.02", *expected], blocks=40, seed=1)


def checks(simulator, seed, count):
    """(name, what is wrong, in a folder)."""
    generator = random.Random(seed)

    def of_drawn(number, drawn):
        name = (f"chain {number} of seed {seed}, --hidden {drawn.dims[0]} --qkv {drawn.dims[1]} --feed-forward {drawn.dims[2]} "
                f"--vocabulary {drawn.dims[3]} --wide-pieces {drawn.wide_pieces} --deepest {drawn.deepest}")
        return name, lambda folder: problem_of(simulator, drawn, folder)

    return [("a chain with rows that are read stage by stage", lambda folder: problem_of(simulator, STAGES, folder, stage_by_stage)),
            ("a chain with rows from outside", lambda folder: problem_outside(simulator, folder)),
            *(of_drawn(number, draw(generator)) for number in range(count))]
