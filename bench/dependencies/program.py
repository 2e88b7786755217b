#!/usr/bin/python3
"""Writes programs whose time is that of their dependencies: phases of tiny tasks, each reading what a task before it wrote.

    program.py mirror --width 132 > mirror.mlir     task j waits for task width - 1 - j of the phase before: one to one
    program.py all --width 132 > all.mlir           every task waits for all of the phase before
    program.py free --width 132 > free.mlir         nobody waits: what a task costs by itself

With --width 1, `mirror` is a chain of one task a phase. The array v has a row for each phase and one more; row 0 is given, and a
task adds one to the value that it reads, so the last row is known.
"""

import argparse


def program(kind, width):
    v = f"memref<?x{width}xf32>"
    waits, event = {
        "mirror": (f"wait(%done[(p, j) -> (p - 1, {width - 1} - j)]) notify(%done[(p, j) -> (p, j)])",
                   "evt.event(%phases, %width) count(1) : !evt.event<?x?>"),
        "all": ("wait(%done[(p, j) -> (p - 1)]) notify(%done[(p, j) -> (p)])", f"evt.event(%phases) count({width}) : !evt.event<?>"),
        "free": ("", ""),
    }[kind]
    event = f"\n  %done = {event}" if event else ""
    source = "%zero, %j" if kind == "free" else "%p, %from"
    return f"""// Phases of {width} tasks, {kind}. Written by bench/dependencies/program.py.
evt.device @step(%v: {v}, %p: index) grid(%j) {{
  %zero = arith.constant 0 : index
  %next = affine.apply affine_map<(d0) -> (d0 + 1)>(%p)
  %from = affine.apply affine_map<(d0) -> ({width - 1} - d0)>(%j)
  %one = arith.constant dense<1.0> : tensor<1xf32>
  %before = evt.load %v[{source}] : {v} -> tensor<1xf32>
  %after = arith.addf %before, %one : tensor<1xf32>
  evt.store %after, %v[%next, %j] : tensor<1xf32> -> {v}
}}

evt.graph @{kind}(%v: {v}) {{
  %rows = evt.symbol "rows" (%v[0]) range(2, 1048576) : {v}
  %phases = affine.apply affine_map<()[s0] -> (s0 - 1)>()[%rows]
  %width = arith.constant {width} : index{event}
  evt.repeat %p to %phases {{
    evt.call @step(%v, %p) grid(%width) {waits} : ({v}, index)
  }}
}}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("mirror", "all", "free"))
    parser.add_argument("--width", type=int, default=132, help="tasks of a phase")
    options = parser.parse_args()
    if options.width < 1:
        parser.error(f"--width is {options.width}, required at least 1")
    print(program(options.kind, options.width), end="")


if __name__ == "__main__":
    main()
