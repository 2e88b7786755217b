#!/usr/bin/python3
"""Writes docs/ops/evt.md from the summaries, descriptions and examples in compiler/ir/*.td.

With --check it writes nothing, and exits with 1 if the file is not what it would write.
"""

import pathlib
import subprocess
import sys

import source_tree

LLVM = pathlib.Path("/usr/lib/llvm-19")
DEFINITIONS = pathlib.Path("compiler/ir/EvtOps.td")
OUTPUT = pathlib.Path("docs/ops/evt.md")


def generate(root):
    done = subprocess.run(
        [LLVM / "bin/mlir-tblgen", "-gen-dialect-doc", "-dialect=evt", "-I", LLVM / "include", "-I", root,
         "-I", (root / DEFINITIONS).parent, root / DEFINITIONS],
        capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    lines[0] = f"<!-- Written by scripts/operation_docs.py from {DEFINITIONS.parent}/*.td. -->"
    return "\n".join(line for line in lines if line != "[TOC]").rstrip() + "\n"


def problems(root):
    """What is wrong with the written file: a list of at most one line."""
    output = root / OUTPUT
    if output.exists() and output.read_text() == generate(root):
        return []
    return [f"{OUTPUT} is not what {DEFINITIONS.parent} says; scripts/operation_docs.py writes it"]


def main():
    if "--check" in sys.argv[1:]:
        found = problems(source_tree.ROOT)
        print("".join(problem + "\n" for problem in found), end="")
        return len(found)
    text = generate(source_tree.ROOT)
    output = source_tree.ROOT / OUTPUT
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
