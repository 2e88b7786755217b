#!/usr/bin/python3
"""The events of the examples are no more than they need: without any one of its waits, a program is rejected.

    every_wait_matters.py EVT

Takes the waits that the examples write as maps, `wait(%done[(i) -> (i)], …)`, away one at a time, and requires that
`evt check` then finds two tasks that no event orders. The mixtures of experts are left out: what their waits order is
read from tables, so it is an obligation rather than a theorem.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
AFFINE = ("row_sum", "chained_matmul", "stencil2d", "gemm_reduce_scatter", "decode_attention", "decoder",
          "foreign_softmax")
USE = r"%\w+\[\([^()]*\) -> \([^()]*\)\]"
WAIT = re.compile(rf"wait\(({USE}(?:,\s*{USE})*)\)")


def without_one_wait(text):
    """(the wait, the program without it) for each wait."""
    for clause in WAIT.finditer(text):
        uses = re.findall(USE, clause.group(1))
        for removed in range(len(uses)):
            rest = ", ".join(uses[:removed] + uses[removed + 1:])
            yield uses[removed], text[: clause.start()] + (f"wait({rest})" if rest else "") + text[clause.end():]


def main():
    wrong = count = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name in AFFINE:
            program = pathlib.Path(scratch) / f"{name}.mlir"
            found = list(without_one_wait((EXAMPLES / name / f"{name}.mlir").read_text()))
            if not found:
                print(f"{name}: has no wait written as a map")
                wrong += 1
            for wait, text in found:
                program.write_text(text)
                done = subprocess.run([sys.argv[1], "check", str(program)], stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, text=True)
                count += 1
                if "error: no event orders " not in done.stdout or done.returncode != 1:
                    print(f"{name} without {wait}: exit code {done.returncode}\n{done.stdout}")
                    wrong += 1
    print(f"{count} waits taken away, {count - wrong} missed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
