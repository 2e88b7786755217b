"""What the examples' references share: shapes written as text, bf16 in NumPy, and writing a case to files.

An example's reference.py defines

    TOLERANCE                 largest ‖result - expected‖ / ‖expected‖ of an output
    inputs(shape, rng)        the graph's inputs by name: NumPy arrays, BFloat16, or int for an index argument;
                              `shape` is a line of the file `shapes` as a dictionary, `rng` a seeded generator
    expected(shape, inputs)   what the graph must write, by name, in float64, from the formulas alone
"""

import argparse
import dataclasses
import importlib.util
import pathlib
import shlex
import zlib

import numpy as np


@dataclasses.dataclass(frozen=True)
class BFloat16:
    """An array of bf16, which NumPy does not have: the upper half of an f32."""

    bits: np.ndarray

    @staticmethod
    def rounded(values):
        """To nearest, ties to even; finite values only."""
        wide = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return BFloat16(((wide + 0x7FFF + ((wide >> 16) & 1)) >> 16).astype(np.uint16))

    def float64(self):
        return (self.bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def float64(value):
    return value.float64() if isinstance(value, BFloat16) else value.astype(np.float64)


def uniform(rng, *shape):
    """f32 in [-1, 1)."""
    return rng.uniform(-1, 1, shape).astype(np.float32)


def parse_shape(line):
    """'m=3 lens=zero' -> {'m': 3, 'lens': 'zero'}."""
    fields = (field.split("=") for field in line.split())
    return {name: int(value) if value.lstrip("-").isdigit() else value for name, value in fields}


def read_shapes(folder):
    """The lines of the file `shapes`; '#' starts a comment."""
    lines = (line.split("#")[0].strip() for line in (folder / "shapes").read_text().splitlines())
    return [line for line in lines if line]


def generator(line):
    """The same line always gives the same inputs."""
    return np.random.default_rng(zlib.crc32(line.encode()))


def load_reference(folder):
    spec = importlib.util.spec_from_file_location(f"{folder.name}_reference", folder / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_case(reference, line, folder):
    """Writes the inputs of a case, and what must come out, as .npy files; the options of `evt run` that use them."""
    shape = parse_shape(line)
    inputs = reference.inputs(shape, generator(line))
    options = []
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in inputs.items():
        path = folder / f"{name}.npy"
        options += ["--in", f"{name}={value if isinstance(value, int) else path}"]
        if not isinstance(value, int):
            np.save(path, value.bits.view("V2") if isinstance(value, BFloat16) else value)
    for name, value in reference.expected(shape, inputs).items():
        path = folder / f"expected_{name}.npy"
        np.save(path, value.astype(np.float32))
        options += ["--expect", f"{name}={path}"]
    return options + ["--tol", f"{reference.TOLERANCE:g}"]


def main():
    parser = argparse.ArgumentParser(description="Writes the inputs of a case, and what must come out, as .npy files; "
                                                 "prints the command that runs it and compares.")
    parser.add_argument("example", type=pathlib.Path, help="the example's folder")
    parser.add_argument("shape", help="such as 'm=3 k=5'; the fields are those of the file shapes")
    parser.add_argument("folder", type=pathlib.Path, help="gets NAME.npy for inputs, expected_NAME.npy for outputs")
    options = parser.parse_args()
    case = write_case(load_reference(options.example.resolve()), options.shape, options.folder)
    print(shlex.join(["./evt", "run", str(options.example / f"{options.example.resolve().name}.mlir"), *case]))


if __name__ == "__main__":
    import example  # references import this file under that name: their BFloat16 is that module's

    example.main()
