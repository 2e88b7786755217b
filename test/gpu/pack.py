#!/usr/bin/python3
"""Packs weights on a GPU with the kernel that is in every artifact, against PyTorch, and times it.

    pack.py ARTIFACT [--library build/lib/libevt_runtime.so] [--megabytes 1024]

ARTIFACT is one of the target cuda with a packed argument, such as a model's step. Rows of bf16, f16 and f32 with random bits are packed
into the argument's layout, all of them and a part; every element must be where tiles of packed_rows x packed_columns have it (include/evt/evt.h),
with the value that PyTorch converts it to. The rate is that of the bytes of weights, each read once and written once. Needs PyTorch. The
last line is `N passed, N failed`.
"""

import argparse
import ctypes
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "run"))

import launcher

TYPES = {torch.bfloat16: (4, 16), torch.float16: (2, 16), torch.float32: (2, 32)}
BITS = {torch.bfloat16: torch.int16, torch.float16: torch.int16, torch.float32: torch.int32}
COLUMNS = 2048


def places(rows, columns, tile):
    """Where element (r, c) of a matrix lies, as one tensor: the definition, element by element."""
    r, c = torch.arange(rows, device="cuda")[:, None], torch.arange(columns, device="cuda")[None, :]
    inside_row, inside_column = r % tile[0], c % tile[1]
    if tile[1] * 2 == 64:  # bytes of a tile's row: its pieces of 8 elements trade places
        inside_column = (inside_column // 8 ^ inside_row // 2 % 4) * 8 + inside_column % 8
    number = r // tile[0] * (columns // tile[1]) + c // tile[1]
    return number * tile[0] * tile[1] + inside_row * tile[1] + inside_column


class Packer:
    def __init__(self, library, artifact):
        self.c = library.c
        self.c.evt_program_pack.argtypes = [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p, launcher.DataType,
                                            ctypes.c_int64, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
        self.library, self.program = library, library.load(artifact)
        self.number, argument = next((i, a) for i, a in enumerate(self.program.arguments) if a.packed)
        self.name, self.tile = argument.name, argument.packed

    def __call__(self, to, source, first, stream):
        rows, columns = source.shape
        code, bits = TYPES[source.dtype]
        self.library.check(self.c.evt_program_pack(self.program.handle, self.number, to.data_ptr(), source.data_ptr(),
                                                   launcher.DataType(code, bits, 1), first, rows, columns, stream.cuda_stream))


def same(found, expected):
    """Bit by bit, but for which NaN it is."""
    nan = expected.isnan()
    return torch.equal(found.isnan(), nan) and torch.equal(found.view(torch.int16)[~nan], expected.view(torch.int16)[~nan])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "lib" / "libevt_runtime.so")
    parser.add_argument("--megabytes", type=int, default=1024, help="of weights that are timed")
    options = parser.parse_args()
    torch.cuda.init()
    pack = Packer(launcher.Library(options.library), options.artifact)
    stream = torch.cuda.Stream()
    passed = failed = 0
    rows, untouched = 96, 0x1234
    at = places(rows, COLUMNS, pack.tile).reshape(-1)
    for dtype in TYPES:
        size = BITS[dtype]
        source = torch.randint(torch.iinfo(size).min, torch.iinfo(size).max, (rows, COLUMNS), device="cuda", dtype=size).view(dtype)
        for first, count in ((0, rows), (32, 40)):
            to = torch.full((rows * COLUMNS,), untouched, device="cuda", dtype=torch.int16)
            expected = to.clone().view(torch.bfloat16)
            expected[at[first * COLUMNS:(first + count) * COLUMNS]] = source[first:first + count].to(torch.bfloat16).reshape(-1)
            part = source[first:first + count].clone()
            torch.cuda.synchronize()
            pack(to, part, first, stream)
            stream.synchronize()
            good = same(to.view(torch.bfloat16), expected)
            passed, failed = passed + good, failed + (not good)
            print(f"{pack.name} in tiles of {pack.tile[0]} x {pack.tile[1]}, {count} rows of {dtype} from {first}: "
                  + ("ok" if good else "FAILED"), flush=True)
    for dtype in TYPES:
        rows = options.megabytes * 10**6 // 2 // COLUMNS // 8 * 8
        source = torch.randn((rows, COLUMNS), device="cuda").to(dtype)
        to = torch.empty((rows, COLUMNS), device="cuda", dtype=torch.bfloat16)
        times = []
        torch.cuda.synchronize()
        for _ in range(12):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record(stream)
            pack(to, source, 0, stream)
            end.record(stream)
            times.append((begin, end))
        stream.synchronize()
        ms = statistics.median([b.elapsed_time(e) for b, e in times][2:])
        print(f"{to.numel() * 2 / 1e9:.2f} GB of weights from {dtype}: {ms:.3f} ms, {to.numel() * 2 / ms / 1e6:.0f} GB/s", flush=True)
        del source, to
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
