#!/usr/bin/python3
"""Runs the examples: every shape under every schedule and with 1, 2, 7 and 16 workers.

    run_examples.py [--build DIR] [--quick] [--target cuda] [--nvcc PROGRAM] [--artifacts DIR] [NAME…]     all when none is named

Each example is compiled once; that one artifact serves every shape. A run passes if every output agrees with the
float64 reference (‖result - expected‖ / ‖expected‖ within the example's tolerance; NaN never does) and has the same
bits as the first run of its shape, whatever the schedule and the workers; with 7 and 16 workers, tasks stall at random
points. Outputs hold NaN before each run. An example that is also written in C++ (examples/example_NAME of the build
prints it) runs a second time from there, on a few shapes, and must give the same bits as the text; and one with products that
`evt compile --roles` splits runs so, too, with the same bits.
On CUDA, workers are blocks: 1, 2, 7 and one for each SM. With --artifacts, DIR/NAME.evt is used where it exists rather
than compiling, so that a machine without the compiler can run them.
Prints what failed and, as the last line, `N passed, N failed`; exits with 0 only if nothing failed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # of the references; the cores belong to the workers

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import example
import launcher

SCHEDULES = ("static", "ticket", "dynamic")
# Workers, and the seed of the stalls at random points that shake the order of their tasks; 0: no stalls.
WORKERS = ((1, 0), (2, 0), (7, 1), (16, 2))
CUDA_WORKERS = ((1, 0), (2, 0), (7, 0), (0, 0))
ROLES = [("static", 1, 0), ("static", 3, 1), ("ticket", 2, 2), ("dynamic", 2, 1)]
QUICK = [("static", 1, 0), ("ticket", 2, 0), ("dynamic", 7, 1)]
POISON = {np.float32: np.nan, np.float16: np.nan, np.uint16: 0x7FC0, np.int32: -0x55555556, np.int64: -0x55555556,
          np.bool_: True}
SHOWN = 12  # failures printed for an example; the rest are counted
SUM = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


def names_of_examples():
    return sorted(path.parent.name for path in (ROOT / "examples").glob("*/reference.py"))


def find_library(build):
    found = sorted(build.rglob("libevt_runtime.so"))
    if not found:
        raise FileNotFoundError(f"no libevt_runtime.so under {build}")
    return found[0]


def relative_error(result, expected):
    """‖result - expected‖ / ‖expected‖; infinite where a value is not finite, or where something should be zero but
    is not."""
    if not np.isfinite(result).all():
        return np.inf
    difference = np.linalg.norm((result - expected).ravel())
    return difference / np.linalg.norm(expected.ravel()) if expected.any() else (np.inf if difference else 0.0)


class Case:
    """One shape of one example: its inputs, what must come out, and the bits of the first run."""

    def __init__(self, reference, program, line):
        shape = example.parse_shape(line)
        self.arguments = program.arguments
        self.tolerance = reference.TOLERANCE
        self.inputs = reference.inputs(shape, example.generator(line))
        self.expected = reference.expected(shape, self.inputs)
        self.first = None
        written = {argument.name for argument in self.arguments if argument.is_written}
        if written != set(self.expected):
            raise ValueError(f"the graph writes {sorted(written)}, the reference gives {sorted(self.expected)}")

    def values(self):
        """Fresh arguments: copies of what is both read and written, poison where nothing is given."""
        values = {}
        for argument in self.arguments:
            given = self.inputs.get(argument.name)
            if given is None:
                poison = POISON[argument.dtype]
                values[argument.name] = np.full(self.expected[argument.name].shape, poison, argument.dtype)
            elif isinstance(given, int):
                values[argument.name] = given
            else:
                array = given.bits if isinstance(given, example.BFloat16) else given
                values[argument.name] = array.copy() if argument.is_written else np.ascontiguousarray(array)
        return values

    def problem(self, program, schedule, workers, perturb=0):
        """What is wrong with a run, or None."""
        values = self.values()
        try:
            program.launch(values, schedule, workers, perturb)
        except launcher.LaunchError as error:
            return str(error)
        outputs = {argument.name: values[argument.name] for argument in self.arguments if argument.is_written}
        for argument in self.arguments:
            if argument.is_written:
                result = outputs[argument.name]
                result = example.BFloat16(result).float64() if argument.is_bfloat16 else result.astype(np.float64)
                error = relative_error(result, self.expected[argument.name])
                if not error <= self.tolerance:
                    return f"'{argument.name}' is off by {error:.2e}, allowed is {self.tolerance:.0e}"
        bits = {name: array.tobytes() for name, array in outputs.items()}
        if self.first is None:
            self.first = bits
        for name, value in bits.items():
            if value != self.first[name]:
                return f"'{name}' has other bits than in the first run of this shape"
        return None


def compile_program(build, target, program, directory, flags=()):
    """What `evt compile` says when it fails, or None."""
    done = subprocess.run([str(build / "bin" / "evt"), "compile", "--target", target, str(program), "-o", str(directory), *flags],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.stdout if done.returncode else None


def run_program(options, name, text, cases, combinations, flags=()):
    """(passed, failed) of one program, the file `text`, over cases: shape → Case, which is made where it is missing."""
    reference = example.load_reference(ROOT / "examples" / text.stem)
    count = len(cases) * len(combinations)
    with tempfile.TemporaryDirectory() as scratch:
        build = options.build
        artifact = pathlib.Path(scratch) / f"{text.stem}.evt"
        ready = options.artifacts and options.artifacts / artifact.name
        if ready and ready.exists():
            artifact = ready
        flags = [*flags, *(["--nvcc", options.nvcc] if options.nvcc else [])]
        complaint = None if artifact == ready else compile_program(build, options.target, text, artifact, flags)
        if complaint is not None:
            print(f"{name}: does not compile\n{complaint.rstrip()}")
            return 0, count
        try:
            program = launcher.Library(find_library(build)).load(artifact)
        except launcher.LaunchError as error:
            print(f"{name}: does not load: {error}")
            return 0, count
        passed, problems = 0, []
        for line in cases:
            case = cases[line] = cases[line] or Case(reference, program, line)
            for schedule, workers, perturb in combinations:
                problem = case.problem(program, schedule, workers, perturb)
                passed += problem is None
                if problem:
                    if options.stop:
                        raise SystemExit(f"{name}: {line}, {schedule}: {problem}")
                    problems.append(f"{name}: {line}, {schedule}, {workers} workers, perturb {perturb}: {problem}")
                    if len(problems) <= SHOWN:
                        print(problems[-1], flush=True)
        program.close()
    if len(problems) > SHOWN:
        print(f"{name}: and {len(problems) - SHOWN} more")
    return passed, len(problems)


def run_cpp(options, name, cases):
    """(passed, failed) of the example as C++ writes it, if it does, on cases that the text has run: the bits must agree
    with the text's."""
    binary = options.build / "examples" / f"example_{name}"
    if not (ROOT / "examples" / name / f"{name}.cpp").exists():
        return 0, 0
    if not binary.exists():
        print(f"{name} in C++: not built, so not run")
        return 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        text = pathlib.Path(scratch) / f"{name}.mlir"
        with text.open("w") as out:
            done = subprocess.run([str(binary)], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            print(f"{name} in C++: gives no program\n{done.stderr.rstrip()}")
            return 0, len(cases) * len(QUICK)
        return run_program(options, f"{name} in C++", text, cases, QUICK)


def run_roles(options, name, cases):
    """(passed, failed) of the example with its products split into roles, if it has any, on cases that it has run without."""
    text = ROOT / "examples" / name / f"{name}.mlir"
    shown = subprocess.run([str(options.build / "bin" / "evt"), "show", str(text), "--roles", "--stage", "events"],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if shown.returncode:
        print(f"{name} with roles: is not split\n{shown.stdout.rstrip()}")
        return 0, 1
    if "evt.role" not in shown.stdout:
        return 0, 0
    return run_program(options, f"{name} with roles", text, cases, ROLES, ["--roles"])


def run_example(options, name):
    """(passed, failed) of one example, in this process."""
    folder = ROOT / "examples" / name
    lines = example.read_shapes(folder)
    cuda = options.target == "cuda"
    schedules = options.schedules.split(",")
    combinations = [(schedule, *workers) for schedule in schedules for workers in (CUDA_WORKERS if cuda else WORKERS)]
    if options.quick:
        lines, combinations = lines[::4], [(schedule, 0, 0) for schedule in schedules] if cuda else QUICK
    cases = dict.fromkeys(lines)
    passed, failed = run_program(options, name, folder / f"{name}.mlir", cases, combinations)
    if cuda:
        return passed, failed
    good, bad = run_cpp(options, name, {line: cases[line] for line in lines[::4 if options.quick else 16]})
    some, wrong = run_roles(options, name, {line: cases[line] for line in lines[::4]})
    return passed + good + some, failed + bad + wrong


def run_apart(options, name):
    """One example in a process of its own, so that a crash is that example's failure."""
    command = [sys.executable, __file__, "--build", str(options.build), "--target", options.target, name]
    command += ["--quick"] * options.quick
    command += ["--artifacts", str(options.artifacts)] if options.artifacts else []
    command += ["--nvcc", options.nvcc] if options.nvcc else []
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    sums = SUM.findall(done.stdout)
    if not sums or (done.returncode and not int(sums[-1][1])):
        return name, 0, 1, f"{done.stdout}{name}: ended with exit code {done.returncode}\n"
    return name, int(sums[-1][0]), int(sums[-1][1]), SUM.sub("", done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", help="where evt is built")
    parser.add_argument("--quick", action="store_true", help="a quarter of the shapes, three combinations")
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--nvcc", help="what compiles for CUDA, if not nvcc")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 1) // 2), help="examples at once")
    parser.add_argument("--stop", action="store_true", help="end with the first failure; a single example")
    parser.add_argument("--schedules", default=",".join(SCHEDULES), metavar="LIST", help="some of the schedules, for CUDA")
    parser.add_argument("--artifacts", type=pathlib.Path, help="where compiled examples are")
    parser.add_argument("names", nargs="*", metavar="NAME", help="examples; all when none is named")
    options = parser.parse_args()
    options.build = options.build.resolve()
    known = names_of_examples()
    for name in options.names:
        if name not in known:
            parser.error(f"no example is called '{name}': there are {', '.join(known)}")
    if len(options.names) == 1:
        passed, failed = run_example(options, options.names[0])
    else:
        passed = failed = 0
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            for name, good, bad, text in pool.map(lambda n: run_apart(options, n), options.names or known):
                print(text.strip() + "\n" if text.strip() else "", end="")
                print(f"{name + ':':24} {good} passed, {bad} failed", flush=True)
                passed, failed = passed + good, failed + bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
