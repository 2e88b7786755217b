#!/usr/bin/env python3
"""Products on tiles when something is lost: the watchdog's report, and the launch after it.

    test/gpu/products.py ARTIFACT [--library FILE]

ARTIFACT is `bench/products/program.py mlp --hidden 328 --feed-forward 200 --columns 208 --group 3`, compiled for the target
cuda. Arguments are on the host. The last line is `N passed, N failed`.
"""

import argparse
import ctypes
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "examples")]
import example  # noqa: E402
import launcher  # noqa: E402

HIDDEN, FEED = 328, 200


class Case:
    def __init__(self, tokens):
        rng = np.random.default_rng(tokens)

        def bf16(*dims):
            return example.BFloat16.rounded(rng.standard_normal(dims, np.float32) * np.float32(dims[-1] ** -0.5))

        self.x, self.gate, self.up, self.down = bf16(tokens, HIDDEN), bf16(FEED, HIDDEN), bf16(FEED, HIDDEN), bf16(HIDDEN, FEED)
        self.y = np.empty((tokens, HIDDEN), np.uint16)

    def launch(self, program, schedule, workers=0, inject=(-1, -1)):
        self.y[:] = 0x7FC0
        arrays = [self.x.bits, self.gate.bits, self.up.bits, self.down.bits, self.y]
        tensors = [launcher.Tensor(a.ctypes.data, launcher.Device(launcher.CPU, 0), 2, launcher.DataType(4, 16, 1),
                                   (ctypes.c_int64 * 2)(*a.shape), None, 0) for a in arrays]
        values = (launcher.Value * 5)(*[launcher.Value(ctypes.pointer(t), 0) for t in tensors])
        options = launcher.LaunchOptions(ctypes.sizeof(launcher.LaunchOptions), workers, schedule.encode(), 0.5, 0, *inject,
                                         None, None, -1, -1, -1)
        program.library.check(program.library.c.evt_program_launch(program.handle, values, 5, ctypes.byref(options)))

    def error(self):
        x, gate, up, down = (example.float64(a) for a in (self.x, self.gate, self.up, self.down))
        g = x @ gate.T
        expected = (g / (1 + np.exp(-g)) * (x @ up.T)) @ down.T
        found = example.BFloat16(self.y).float64()
        return np.linalg.norm(found - expected) / np.linalg.norm(expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact")
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    options = parser.parse_args()
    program = launcher.Library(options.library).load(options.artifact)
    counts = [0, 0]

    def expect(what, good, found=""):
        print(f"{'ok    ' if good else 'FAILED'} {what}" + (f": {found}" if not good else ""), flush=True)
        counts[not good] += 1

    case = Case(150)
    for schedule in ("static", "ticket", "dynamic"):
        case.launch(program, schedule)
        expect(f"{schedule}, arguments from the host", case.error() < 1e-2, case.error())
        for workers in (1, 5):
            try:
                case.launch(program, schedule, workers, inject=(0, 4))  # gate_up(0, 1, 1)
                found = "no error"
            except launcher.LaunchError as error:
                found = str(error)
            named = "activated[0, 1] has received 1 of 2 notifications" in found and "gate_up(0, 1, 1)" in found
            expect(f"{schedule}, {workers} workers: a lost notification is named", named, found)
            case.launch(program, schedule, workers)
            expect(f"{schedule}, {workers} workers: the next launch works", case.error() < 1e-2, case.error())
    program.close()
    print(f"{counts[0]} passed, {counts[1]} failed")
    return 1 if counts[1] or not counts[0] else 0


if __name__ == "__main__":
    sys.exit(main())
