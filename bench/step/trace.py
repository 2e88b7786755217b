#!/usr/bin/env python3
"""Traces one step of a model: every task of one launch, on which SM it ran, when, and how long it waited.

    bench/step/trace.py MODEL.evt --batch 16 --context 1024 -o trace.json
    bench/step/timeline.py trace.json --layer 3 --phases
    bench/step/timeline.py trace.json --layer 3 -o docs/step.svg

Weights are zero, and layers few: neither changes what a launch does or when. `evt` must be able to use the GPU
(for an artifact of the CPU it runs there, likewise).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS, POSITIONS = 32, 64  # models/config/Splits.h


def tables(options, kv_heads):
    """The arguments that say which tokens there are: the last position of each of `batch` requests."""
    slots, batch, positions = options.page_size, options.batch, options.context
    pages = -(-positions // slots)
    parts = min(PARTS, -(-positions // POSITIONS))
    tasks = max(1, min(parts, options.processors // (batch * kv_heads)))
    share = -(-parts // tasks)
    ints = lambda values: np.asarray(values, dtype=np.int32)
    table = np.random.default_rng(1).permutation(batch * pages).reshape(batch, pages)
    choices = np.zeros((batch, 8), dtype=np.int32)
    choices[:, 3] = positions
    return {"tokens": ints(range(batch)), "positions": ints([positions - 1] * batch), "requests": ints(range(batch)),
            "slots": ints(table[:, -1] * slots + (positions - 1) % slots), "pages": ints(table),
            "outputs": ints(range(batch)), "last": ints(range(batch)), "choices": choices,
            "rates": np.tile(np.float32([0, 1, 0, 1, 0, 0, 0, 0]), (batch, 1))}, {
                "splits": -(-parts // share), "share": share, "page_size": slots}, batch * pages * slots


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("artifact", type=pathlib.Path)
    add("--evt", default=str(ROOT / "build" / "bin" / "evt"), help="the tool")
    add("--batch", type=int, default=1, help="requests, each with a new token")
    add("--context", type=int, default=1024, help="positions that each has with it")
    add("--layers", type=int, default=6)
    add("--page-size", type=int, default=64, help="as the artifact was compiled")
    add("--processors", type=int, default=132, help="of the GPU")
    add("--schedule", default="static")
    add("-o", "--output", type=pathlib.Path, required=True, help="a .json or .html file")
    options = parser.parse_args()
    try:
        manifest = json.loads((options.artifact / "manifest.json").read_text())
        arguments = manifest["arguments"]
        heads = next(a["dims"][1] for a in arguments if a["name"] == "keys")
    except (OSError, ValueError, KeyError, StopIteration) as error:
        sys.exit(f"trace.py: {options.artifact}: {error!r} (a model's step, as `evt compile` wrote it, is needed)")
    values, numbers, cache = tables(options, heads)
    command = [options.evt, "run", str(options.artifact), "--schedule", options.schedule, "--trace",
               str(options.output), "--repeat", "3"]
    for symbol, value in {"layers": options.layers, "norms": options.layers + 1, "cache_slots": cache}.items():
        command += ["--size", f"{symbol}={value}"]
    with tempfile.TemporaryDirectory() as folder:
        for a in arguments:
            name = a["name"]
            if name in values:
                np.save(f"{folder}/{name}.npy", values[name])
                command += ["--in", f"{name}={folder}/{name}.npy"]
            elif name in numbers:
                command += ["--in", f"{name}={numbers[name]}"]
            elif a.get("access", "").startswith("read"):
                command += ["--in", f"{name}=zeros"]
        sys.exit(subprocess.run(command).returncode)


if __name__ == "__main__":
    main()
