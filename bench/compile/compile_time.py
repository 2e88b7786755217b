#!/usr/bin/python3
"""Compile time and memory against the number of layers and rows of a program.

    bench/compile/compile_time.py [--build DIR] [--repeat N]

The sizes are constants in the program's text; `evt check` is the compiler alone, `evt compile` includes the C++ compiler.
Prints medians and the largest resident set as a Markdown table.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def measure(command):
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=HERE.parents[1] / "build")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    evt = str(options.build / "bin" / "evt")
    text = (HERE / "layers.mlir.in").read_text()
    print("| layers | rows | check, s | compile, s | memory of check, MiB | kernel.so, bytes |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for layers, rows in ((2, 10), (64, 10), (2, 1000000), (64, 1000000)):
            program = folder / "layers.mlir"
            program.write_text(text.replace("@LAYERS@", str(layers)).replace("@ROWS@", str(rows))
                               .replace("@TILES@", str((rows + 15) // 16)))
            checks = [measure([evt, "check", str(program)]) for _ in range(options.repeat)]
            compiles = [measure([evt, "compile", str(program), "-o", str(folder / "a.evt")])
                        for _ in range(options.repeat)]
            size = (folder / "a.evt" / "kernel.so").stat().st_size
            print(f"| {layers} | {rows} | {statistics.median(t for t, _ in checks):.3f} | "
                  f"{statistics.median(t for t, _ in compiles):.2f} | {max(m for _, m in checks):.0f} | {size} |", flush=True)


if __name__ == "__main__":
    main()
