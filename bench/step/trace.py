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
    """The arguments that say which tokens there are: the last position of each of `batch` requests, then a prompt's."""
    slots, batch, positions, prompt = options.page_size, options.batch, options.context, options.prompt
    requests = batch + (prompt > 0)
    pages = -(-max(positions if batch else 0, prompt) // slots)
    tokens = batch + prompt
    parts = min(PARTS, -(-(pages * slots) // POSITIONS))
    tasks = max(1, min(parts, options.processors // (tokens * kv_heads)))
    share = -(-parts // tasks)
    ints = lambda values: np.asarray(values, dtype=np.int32)
    table = np.random.default_rng(1).permutation(requests * pages).reshape(requests, pages)
    request = [*range(batch), *[batch] * prompt]
    position = [positions - 1] * batch + [*range(prompt)]
    last = [*range(batch), *[tokens - 1] * (prompt > 0)]
    outputs = np.full(tokens, -1, dtype=np.int32)
    outputs[last] = range(requests)
    choices = np.zeros((requests, 8), dtype=np.int32)
    choices[:, 3] = [position[row] + 1 for row in last]
    return {"tokens": ints(range(tokens)), "positions": ints(position), "requests": ints(request),
            "slots": ints([table[r, p // slots] * slots + p % slots for r, p in zip(request, position)]),
            "pages": ints(table), "outputs": outputs, "last": ints(last), "choices": choices,
            "rates": np.tile(np.float32([0, 1, 0, 1, 0, 0, 0, 0]), (requests, 1))}, {
                "splits": -(-parts // share), "share": share, "page_size": slots}, requests * pages * slots


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("artifact", type=pathlib.Path)
    add("--evt", default=str(ROOT / "build" / "bin" / "evt"), help="the tool")
    add("--batch", type=int, default=1, help="requests, each with a new token")
    add("--prompt", type=int, default=0, help="tokens of one more request, all of them in this step")
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
