#!/usr/bin/env python3
"""What `--schedule auto` picks beside the best schedule, on examples on a GPU.

    run.py --artifacts DIR CASE…        run.py --artifacts DIR 'moe:tokens=96 experts=any' 'stencil2d:h=500 w=500 steps=20'

A case is an example, whose artifact is DIR/NAME.evt, and a shape as its file `shapes` writes them. Times are medians of launches
between two events, taken in turns; the stream is busy before each, so that putting it there is not counted. Needs PyTorch.
bench/chain/run.py and bench/products/run.py take `auto` among their schedules.
"""

import argparse
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "test" / "gpu")]

import launcher
import resident

SCHEDULES = ("static", "ticket", "dynamic", "auto")
WARM_UP = 5


def measure(case, repeats):
    """Median microseconds by schedule."""
    timers = {schedule: [] for schedule in SCHEDULES}
    with torch.cuda.stream(case.stream):
        for _ in range(repeats + WARM_UP):
            for schedule in SCHEDULES:
                case.restore()
                torch.cuda._sleep(200_000)
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                case.launch(schedule)
                end.record()
                timers[schedule].append((begin, end))
    case.stream.synchronize()
    return {s: statistics.median(b.elapsed_time(e) for b, e in t[WARM_UP:]) * 1e3 for s, t in timers.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=pathlib.Path, required=True)
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--repeats", type=int, default=101)
    parser.add_argument("cases", nargs="+", metavar="CASE")
    options = parser.parse_args()
    library = launcher.Library(options.library)
    for case in options.cases:
        name, line = case.split(":", 1)
        program = library.load(options.artifacts / f"{name}.evt")
        times = measure(resident.Resident(program, options.artifacts / f"{name}.evt", name, line), options.repeats)
        best = min(times[s] for s in SCHEDULES[:3])
        print(f"{name}, {line}: " + ", ".join(f"{s} {times[s]:.1f}" for s in SCHEDULES) +
              f" us; auto takes {100 * (times['auto'] / best - 1):.1f} % more than the best", flush=True)
        program.close()


if __name__ == "__main__":
    sys.exit(main())
