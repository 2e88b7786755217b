"""Checks the runtime's .npy files against NumPy, both ways.

usage: npy_numpy_test.py COPY_PROGRAM SCRATCH_DIRECTORY

COPY_PROGRAM reads one .npy file and writes it to another.
"""
import os
import subprocess
import sys

import numpy as np


def main(program, scratch):
    os.makedirs(scratch, exist_ok=True)
    source, target = os.path.join(scratch, "in.npy"), os.path.join(scratch, "out.npy")
    generator = np.random.default_rng(7)
    arrays = [
        generator.standard_normal((5, 3)).astype(np.float32),
        generator.standard_normal((2, 2, 2)).astype(np.float16),
        generator.integers(-(2**31), 2**31, (7,)).astype(np.int32),
        generator.integers(-(2**62), 2**62, (1, 4)).astype(np.int64),
        generator.integers(0, 2, (9,)).astype(bool),
        generator.integers(0, 2**16, (3, 3)).astype(np.uint16).view("V2"),
        np.array(2.5, dtype=np.float32),
        np.zeros((0, 6), dtype=np.float32),
    ]
    for array in arrays:
        np.save(source, array)
        subprocess.run([program, source, target], check=True)
        back = np.load(target)
        if back.dtype != array.dtype or back.shape != array.shape or back.tobytes() != array.tobytes():
            sys.exit(f"{array.dtype} {array.shape} came back as {back.dtype} {back.shape}")
    print(f"{len(arrays)} arrays came back as NumPy wrote them")


if __name__ == "__main__":
    main(*sys.argv[1:])
