#!/usr/bin/python3
"""What the compiler counts as a call's bytes is what its tasks touch.

    costs_match_accesses.py EVT [NAME…]      all examples when none is named; EVT is the built tool

Runs the examples on a few of their shapes with an observer that marks every element a task reads or writes, and compares
with the manifest: a call without assumptions must touch exactly the bytes that were counted, each once a direction, and one
with assumptions no more than those. The same for the whole graph and its arguments. Calls without tasks are left out.
"""

import ctypes
import json
import pathlib
import sys
import tempfile

import numpy as np

import run_examples as driver
from run_examples import example, launcher

SHAPES = 6  # of each example
BYTES = {"f32": 4, "bf16": 2, "f16": 2, "i32": 4, "i64": 8, "i1": 1}
POINTER = ctypes.POINTER(ctypes.c_int64)
U32, I64, USER = ctypes.c_uint32, ctypes.c_int64, ctypes.c_void_p
TASK_BEGIN = ctypes.CFUNCTYPE(None, USER, U32, U32, I64, POINTER, U32)
NOTHING = ctypes.CFUNCTYPE(None, USER, U32)
WAIT_BEGIN = ctypes.CFUNCTYPE(None, USER, U32, U32, I64, I64)
NOTIFY = ctypes.CFUNCTYPE(None, USER, U32, U32, I64)
ACCESS = ctypes.CFUNCTYPE(None, USER, U32, U32, U32, POINTER, POINTER, U32)
EVT_WRITE = 1  # of evt_access_kind; all others are reads


class Hooks(ctypes.Structure):
    """evt_hooks of device/common/abi.h."""

    _fields_ = [("user", USER), ("task_begin", TASK_BEGIN), ("task_end", NOTHING), ("wait_begin", WAIT_BEGIN),
                ("wait_end", NOTHING), ("notify", NOTIFY), ("access", ACCESS)]


def evaluate(expression, symbols):
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return symbols[expression]
    a, b = (evaluate(e, symbols) for e in expression[1:])
    return {"+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "floordiv": lambda: a // b,
            "ceildiv": lambda: -(-a // b), "mod": lambda: a % b, "min": lambda: min(a, b),
            "max": lambda: max(a, b)}[expression[0]]()


def symbols_of(manifest, values):
    symbols = {}
    for symbol in manifest["symbols"]:
        source = symbol["from"][0]
        value = values[source["argument"]]
        symbols[symbol["name"]] = value.shape[source["dim"]] if "dim" in source else value
    return symbols


class Marks:
    """Elements touched, by call, memory and direction."""

    def __init__(self, manifest, symbols):
        self.manifest, self.call, self.touched, self.tasks = manifest, 0, {}, set()
        arguments = manifest["arguments"]
        described = [arguments[m["argument"]] if "argument" in m else m for m in manifest["memories"]]
        self.shapes = [[evaluate(d, symbols) for d in m["dims"]] for m in described]
        self.sizes = [BYTES[m["type"]] for m in described]

    def begin(self, user, worker, call, task, coord, rank):
        self.call = call
        self.tasks.add(call)

    def access(self, user, worker, memory, kind, offset, size, rank):
        box = tuple(slice(offset[d], offset[d] + size[d]) for d in range(rank))
        key = self.call, memory, kind == EVT_WRITE
        if key not in self.touched:
            self.touched[key] = np.zeros(self.shapes[memory], bool)
        self.touched[key][box] = True

    def hooks(self):
        nothing = NOTHING(lambda user, worker: None)
        return Hooks(None, TASK_BEGIN(self.begin), nothing, WAIT_BEGIN(lambda *_: None), nothing,
                     NOTIFY(lambda *_: None), ACCESS(self.access))

    def bytes_of(self, call):
        return sum(int(m.sum()) * self.sizes[memory] for (c, memory, _), m in self.touched.items() if c == call)

    def bytes_of_arguments(self):
        union = {}
        for (_, memory, write), marks in self.touched.items():
            if "argument" in self.manifest["memories"][memory]:
                union[memory, write] = union.get((memory, write), False) | marks
        return sum(int(np.sum(m)) * self.sizes[memory] for (memory, _), m in union.items())


def problems_of(program, manifest, case):
    """Sentences about one shape, and how many comparisons were made."""
    values = case.values()
    symbols = symbols_of(manifest, values)
    marks = Marks(manifest, symbols)
    hooks = marks.hooks()

    def as_tensor(argument, value):
        return value.ctypes.data, launcher.Device(launcher.CPU, 0), value.ndim

    program._launch(values, as_tensor, 1, b"static", 60.0, 0, -1, -1, ctypes.addressof(hooks), None, -1, -1, -1)
    found, compared = [], 0

    def compare(name, touched, cost, exact):
        nonlocal compared
        counted = evaluate(cost["bytes"], symbols)
        compared += 1
        if touched != counted if exact else touched > counted:
            found.append(f"{name} touches {touched} bytes, counted are {counted}{'' if exact else ' at most'}")

    assumed = [bool(call["cost"]["assumptions"]) for call in manifest["calls"]]
    for k in sorted(marks.tasks):
        compare(manifest["calls"][k]["name"], marks.bytes_of(k), manifest["calls"][k]["cost"], not assumed[k])
    if len(marks.tasks) == len(manifest["calls"]):
        compare("the graph", marks.bytes_of_arguments(), manifest["cost"], not any(assumed))
    return found, compared


def main():
    build, names = pathlib.Path(sys.argv[1]).resolve().parents[1], sys.argv[2:] or driver.names_of_examples()
    library = launcher.Library(driver.find_library(build))
    compared = wrong = 0
    for name in names:
        folder = driver.ROOT / "examples" / name
        with tempfile.TemporaryDirectory() as scratch:
            artifact = pathlib.Path(scratch) / f"{name}.evt"
            complaint = driver.compile_program(build, "cpu", folder / f"{name}.mlir", artifact)
            if complaint is not None:
                print(f"{name}: does not compile\n{complaint}")
                wrong += 1
                continue
            manifest = json.loads((artifact / "manifest.json").read_text())
            program = library.load(artifact)
            lines = example.read_shapes(folder)
            for line in lines[:: max(1, len(lines) // SHAPES)]:
                case = driver.Case(example.load_reference(folder), program, line)
                found, count = problems_of(program, manifest, case)
                compared += count
                wrong += len(found)
                for problem in found:
                    print(f"{name} ({line}): {problem}")
            program.close()
    print(f"{compared} comparisons, {wrong} wrong")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
