"""A case of an example with its arguments on the GPU, to be launched many times on a stream. Needs PyTorch."""

import json
import pathlib
import sys

import numpy as np
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "examples")]

import example
import run_examples


def packed(array):
    """Matrices as tiles of 8 x 32, one after the other, in which piece p (8 columns) of row r lies at p ^ (r / 2 % 4)."""
    *lead, rows, columns = array.shape
    tiles = np.moveaxis(array.reshape(*lead, rows // 8, 8, columns // 32, 4, 8), -4, -3)
    row = np.arange(8)[:, None]
    return np.ascontiguousarray(tiles[..., row, np.arange(4)[None, :] ^ (row // 2 % 4), :]).reshape(array.shape)


def on_gpu(array):
    return torch.from_numpy(array.view(np.int16) if array.dtype == np.uint16 else array).cuda()


class Resident:
    """One shape of one example. `launch` puts a launch on the stream; `bits` are the outputs after it."""

    def __init__(self, program, artifact, name, line):
        reference = example.load_reference(ROOT / "examples" / name)
        self.case = run_examples.Case(reference, program, line)
        self.program, self.stream = program, torch.cuda.Stream()
        manifest = json.loads((pathlib.Path(artifact) / "manifest.json").read_text())
        is_packed = {a["name"] for a in manifest["arguments"] if "packed" in a}
        self.start = {n: v if isinstance(v, int) else on_gpu(packed(v) if n in is_packed else v)
                      for n, v in self.case.values().items()}
        self.written = [a.name for a in program.arguments if a.is_written]
        self.values = {n: v if isinstance(v, int) else v.clone() for n, v in self.start.items()}
        torch.cuda.synchronize()

    def restore(self):
        for name in self.written:
            self.values[name].copy_(self.start[name])

    def launch(self, schedule):
        self.program.enqueue(self.values, self.stream.cuda_stream, schedule)

    def bits(self):
        return torch.cat([self.values[name].reshape(-1).view(torch.uint8) for name in self.written])
