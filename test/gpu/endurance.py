#!/usr/bin/env python3
"""Many launches: the same bits every time, and nothing left behind.

    test/gpu/endurance.py --artifacts DIR [--library FILE] [--chain MODEL] [--repeats 1000] [--launches 100000]

Every example of DIR (NAME.evt) is launched --repeats times under each schedule, on the shape in the middle of its list; all outputs
must have the bits of the first launch, which agrees with the reference. Then --launches launches of row_sum, 16 shapes
under the three schedules in turn, back to back: sums are right, and neither the GPU's free memory nor the process's own grows. The same
for programs that are loaded, launched and closed again. With --chain, DIR/chain-MODEL.evt may take at most 64 MB of the GPU beyond
weights and activations. The last line is `N passed, N failed`. Needs PyTorch.
"""

import argparse
import json
import math
import os
import pathlib
import sys
import time

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "test" / "gpu"), str(ROOT / "bench" / "chain"), str(ROOT / "examples")]

import example
import launcher
import program as chain_program
import resident

SCHEDULES = ("static", "ticket", "dynamic")
MEGABYTE = 1 << 20
SIZES = {"bf16": 2, "f32": 4}


def own_bytes():
    """The process's resident memory."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def gpu_bytes():
    """The GPU's free memory."""
    torch.cuda.synchronize()
    return torch.cuda.mem_get_info()[0]


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, what, good):
        print(f"{'ok    ' if good else 'FAILED'} {what}", flush=True)
        self.passed += bool(good)
        self.failed += not good


def repeat(checks, library, artifact, repeats):
    name = artifact.stem
    program = library.load(artifact)
    lines = example.read_shapes(ROOT / "examples" / name)
    line = lines[len(lines) // 2]
    case = resident.Resident(program, artifact, name, line)
    problem = case.case.problem(program, "static", 0)
    differ, first = [], None
    with torch.cuda.stream(case.stream):
        for schedule in SCHEDULES:
            for _ in range(repeats):
                case.restore()
                case.launch(schedule)
                bits = case.bits()
                first = bits.clone() if first is None else first
                differ.append((bits != first).any())
        different = int(torch.stack(differ).sum())
    host = b"".join(case.case.first[n] for n in case.written) if case.case.first else b""
    agrees = first.cpu().numpy().tobytes() == host
    checks.expect(f"{name}, {line}: {repeats} launches under each schedule, {different} with other bits"
                  f"{'' if agrees else ', not those of a launch from the host'}{f'; {problem}' if problem else ''}",
                  not problem and not different and agrees)
    program.close()


def launch_many(checks, library, artifact, launches):
    program = library.load(artifact)
    rows = [1, 2, 3, 5, 7, 8, 13, 31, 64, 100, 131, 132, 133, 255, 256, 500]
    xs = [torch.randint(-4, 5, (n, 4096), device="cuda").float() for n in rows]
    ys = [torch.full((n,), float("nan"), device="cuda") for n in rows]
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    before = None
    begin = time.perf_counter()
    for i in range(launches):
        k = i * 7 % len(rows)
        program.enqueue({"x": xs[k], "y": ys[k]}, stream.cuda_stream, SCHEDULES[i % 3])
        if i == launches // 50:  # all shapes and schedules have been seen
            stream.synchronize()
            before = gpu_bytes(), own_bytes()
    stream.synchronize()
    seconds = time.perf_counter() - begin
    gpu, own = before[0] - gpu_bytes(), own_bytes() - before[1]
    right = all(bool((y == x.sum(1)).all()) for x, y in zip(xs, ys))
    checks.expect(f"{launches} launches of {len(rows)} shapes under three schedules in turn: {seconds:.1f} s, "
                  f"sums {'right' if right else 'wrong'}", right)
    checks.expect(f"after them the GPU has {gpu} bytes less, the process {own} more", gpu <= 0 and own < 4 * MEGABYTE)
    program.close()


def load_many(checks, library, artifact, times):
    x, y = torch.ones(64, 4096, device="cuda"), torch.empty(64, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for i in range(times):
        program = library.load(artifact)
        for schedule in SCHEDULES:
            program.enqueue({"x": x, "y": y}, stream.cuda_stream, schedule)
        stream.synchronize()
        program.close()
        if i == times // 10:
            before = gpu_bytes(), own_bytes()
    gpu, own = before[0] - gpu_bytes(), own_bytes() - before[1]
    checks.expect(f"loaded, launched and closed {times} times: the GPU has {gpu} bytes less, the process {own} more",
                  gpu <= 0 and own < 4 * MEGABYTE)


def take_little(checks, library, artifact, model, tokens=8, layers=36):
    d, qkv, ff, vocabulary = chain_program.MODELS[model]
    manifest = json.loads((artifact / "manifest.json").read_text())
    weights = {"w_qkv": (layers, qkv, d), "w_out": (layers, d, d), "w_gate": (layers, ff, d), "w_up": (layers, ff, d),
               "w_down": (layers, d, ff), "w_head": (vocabulary, d)}
    values = {n: torch.zeros(shape, dtype=torch.bfloat16, device="cuda") for n, shape in weights.items()}
    values |= {"r": torch.ones(tokens, d, device="cuda"), "logits": torch.empty(tokens, vocabulary, device="cuda")}
    stream = torch.cuda.Stream()
    before = gpu_bytes()
    program = library.load(artifact)
    for schedule in SCHEDULES:
        program.enqueue(values, stream.cuda_stream, schedule)
    stream.synchronize()
    taken = before - gpu_bytes()
    symbols = {"tokens": tokens, "layers": layers}
    activations = sum(SIZES[m["type"]] * math.prod(symbols.get(n, n) for n in m["dims"]) for m in manifest["memories"] if "dims" in m)
    checks.expect(f"chain of {model}, {tokens} tokens, {layers} layers, three schedules: {taken / MEGABYTE:.1f} MB of the GPU "
                  f"in all, {activations / MEGABYTE:.1f} of them activations", taken - activations < 64 * MEGABYTE)
    program.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=pathlib.Path, required=True)
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--chain", choices=chain_program.MODELS, action="append", default=[])
    parser.add_argument("--repeats", type=int, default=1000)
    parser.add_argument("--launches", type=int, default=100000)
    options = parser.parse_args()
    library, checks = launcher.Library(options.library), Checks()
    torch.zeros(1, device="cuda")  # the context is not counted
    for model in options.chain:
        take_little(checks, library, options.artifacts / f"chain-{model}.evt", model)
    for name in resident.run_examples.names_of_examples():
        repeat(checks, library, options.artifacts / f"{name}.evt", options.repeats)
    launch_many(checks, library, options.artifacts / "row_sum.evt", options.launches)
    load_many(checks, library, options.artifacts / "row_sum.evt", 300)
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
