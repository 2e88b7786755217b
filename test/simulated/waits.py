"""Products of tiles that wait for ranges of elements part by part, on the simulated GPU.

Programs of test/emit/waits_along.mlir, and others in which something stands against it. The dynamic schedule hands out tasks
whose elements are all complete, so its bits are those that static and ticket must give, whatever the order of events.
"""

import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
ALONG, BESIDE = ROOT / "test/emit/waits_along.mlir", ROOT / "test/emit/Inputs/waits_beside.mlir"
BITS = re.compile(r"^  y: .*(fnv1a64 \w+)$", re.MULTILINE)


def outside(text):
    """The columns of a product begin in front of its memories: its first stage has nothing of them."""
    head, device, rest = text.partition("evt.device @multiply_and_add(")
    body, end, rest = rest.partition("\n}\n")
    body = body.replace("  %c0 = arith.constant 0 : index\n", "  %c0 = arith.constant 0 : index\n  %begin = arith.constant -128 : index\n")
    return head + device + body.replace("scf.for %k = %c0 to", "scf.for %k = %begin to") + end + rest


Case = collections.namedtuple("Case", "name file graph change rows", defaults=[None, 40])
CASES = [Case("rows", ALONG, "rows"), Case("pairs", ALONG, "pairs"), Case("first", ALONG, "first"), Case("second", ALONG, "second"),
         Case("first, from outside", ALONG, "first", outside), Case("beside", BESIDE, "beside", None, 192)]


def problem_of(simulator, case, seeds, folder):
    """What is wrong, or None."""
    source, artifact = folder / "program.mlir", folder / "program.evt"
    text = case.file.read_text()
    source.write_text(case.change(text) if case.change else text)
    code, said = simulator.compile(source, artifact, "--graph", case.graph)
    if code:
        return f"does not compile\n{said.rstrip()}"
    inputs = [word for name in ("x", "w") if f"%{name}: " in text.partition(f"@{case.graph}(")[2].partition("{\n")[0]
              for word in ("--in", f"{name}=random")]

    def run(schedule, blocks, seed):
        code, said = simulator.run([simulator.evt, "run", artifact, "--size", f"n={case.rows}", *inputs, "--schedule", schedule],
                                   EVT_SIMULATED_SEED=str(seed), EVT_SIMULATED_SMS=str(blocks))
        found = BITS.findall(said)
        return found[0] if code == 0 and len(found) == 1 else f"exit code {code}\n{said.rstrip()}"

    expected = run("dynamic", 1, 1)
    for schedule in ("dynamic", "static", "ticket"):
        for blocks in (3, 8):
            for seed in range(1, seeds + 1):
                found = run(schedule, blocks, seed)
                if found != expected:
                    return f"{schedule}, {blocks} blocks, EVT_SIMULATED_SEED={seed}: {found}, expected {expected}"
    return None


def checks(simulator, seeds):
    """(name, what is wrong, in a folder)."""
    return [(f"waits, {case.name}", lambda folder, case=case: problem_of(simulator, case, seeds, folder)) for case in CASES]
