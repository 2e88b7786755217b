#!/usr/bin/env python3
"""Times the programs of program.py on a GPU: microseconds a phase, as the slope between few and many phases.

    run.py --artifacts DIR [--schedules static,ticket,dynamic]

DIR holds, compiled for the target cuda: one.evt (mirror, width 1), pair.evt (mirror, width 2, run with two workers), mirror.evt,
all.evt and free.evt (width 132). Launches are queued one behind another, medians of --repeats after a warm-up; the last
row must hold the number of phases. bench/dependencies/peers.cu has the other ways to order phases. Needs PyTorch.
"""

import argparse
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "run"))

import launcher

FEW, MANY, WARM_UP = 64, 1024, 30
# Name, width, workers (0: one for each SM), what the last row holds after p phases.
PROGRAMS = (("one", 1, 0, lambda p: p), ("pair", 2, 2, lambda p: p), ("mirror", 132, 0, lambda p: p),
            ("all", 132, 0, lambda p: p), ("free", 132, 0, lambda p: 1))


def measure(program, width, workers, schedule, phases, expected, repeats):
    """(median ms, whether the last row is right)"""
    stream = torch.cuda.Stream()
    v = torch.zeros(phases + 1, width, device="cuda")
    torch.cuda.synchronize()
    timers = []
    with torch.cuda.stream(stream):
        for _ in range(repeats + WARM_UP):
            v[1:].zero_()
            timers.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            timers[-1][0].record()
            program.enqueue({"v": v}, stream.cuda_stream, schedule, workers)
            timers[-1][1].record()
    stream.synchronize()
    times = [begin.elapsed_time(end) for begin, end in timers]
    return statistics.median(times[WARM_UP:]), bool((v[-1] == expected).all())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=pathlib.Path, required=True)
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--schedules", default="static,ticket,dynamic")
    parser.add_argument("--repeats", type=int, default=41)
    options = parser.parse_args()
    library, failed = launcher.Library(options.library), 0
    for name, width, workers, expected in PROGRAMS:
        program = library.load(options.artifacts / f"{name}.evt")
        for schedule in options.schedules.split(","):
            few, good = measure(program, width, workers, schedule, FEW, expected(FEW), options.repeats)
            many, too = measure(program, width, workers, schedule, MANY, expected(MANY), options.repeats)
            failed += not (good and too)
            print(f"{name:7} {schedule:8} {(many - few) / (MANY - FEW) * 1e3:7.3f} us a phase"
                  f"{'' if good and too else '  FAILED'}", flush=True)
        program.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
