#!/usr/bin/python3
"""Runs the examples under ThreadSanitizer and under Address- and UndefinedBehaviorSanitizer.

    run_sanitizers.py [--build DIR] [--shapes N] [--only thread|address] [NAME…]

The runtime and the tool are built again with the sanitizer (without the compiler, which does not run here), each example is
compiled with it, and launched from that tool: both sides of every synchronization are instrumented. Each run also
compares with the example's float64 reference. Prints what a sanitizer said and, last, `N passed, N failed`.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))

import example

FLAGS = {"thread": ["-fsanitize=thread"],
         "address": ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]}
# Examples that another one stands for when none is named: the same graph with another type or another number of experts; and, for
# addresses, the same moves of tiles. And one whose results are integers, which `evt run --expect` does not compare with a float reference.
LEFT_OUT = {"thread": {"chained_matmul_bf16", "moe", "sampling"},
            "address": {"chained_matmul_bf16", "moe", "row_sum", "gemm_reduce_scatter", "decode_attention", "sampling"}}
# Examples that are compiled a second time, with their products split into roles: threads of a worker, joined by rings.
WITH_ROLES = ("decode_chain", "decoder", "prefill_layers")
COMBINATIONS = (("static", 2), ("ticket", 3), ("dynamic", 4))
ENVIRONMENT = {"TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=1:halt_on_error=1",
               "UBSAN_OPTIONS": "print_stacktrace=1"}


def run(command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", **options)


def build_tool(build, sanitizer):
    """The tool without the compiler, instrumented; None and a message if it does not build. Several files are compiled as one, in a third
    of the time: functions of one name in unnamed namespaces of one folder are then refused."""
    directory = build / f"sanitize-{sanitizer}"
    flags = " ".join(FLAGS[sanitizer])
    if not (directory / "build.ninja").exists():
        done = run(["cmake", "-S", ROOT, "-B", directory, "-G", "Ninja", "-DEVT_BUILD_COMPILER=OFF",
                    "-DEVT_BUILD_MODELS=OFF", "-DEVT_BUILD_TESTS=OFF", "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1",
                    f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_EXE_LINKER_FLAGS={flags}",
                    f"-DCMAKE_SHARED_LINKER_FLAGS={flags}"])
        if done.returncode:
            return None, done.stdout
    done = run(["ninja", "-C", directory, "evt"])
    return (directory / "bin" / "evt", "") if done.returncode == 0 else (None, done.stdout)


def run_example(options, sanitizer, tool, name, more=()):
    """(passed, failed, what went wrong) of an example under a sanitizer, compiled with more flags."""
    passed = failed = 0
    report = ""
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        flags = [f"--cxxflag={flag}" for flag in FLAGS[sanitizer] + ["-O1", "-g1"]]
        done = run([options.build.resolve() / "bin" / "evt", "compile", ROOT / "examples" / name / f"{name}.mlir", "-o",
                    scratch / "artifact", *flags, *more])
        if done.returncode:
            return 0, 1, f"{sanitizer}: {' '.join([name, *more])} does not compile\n{done.stdout}\n"
        reference = example.load_reference(ROOT / "examples" / name)
        lines = example.read_shapes(ROOT / "examples" / name)
        chosen = lines[:: max(1, len(lines) // options.shapes)][: options.shapes]
        for number, line in enumerate(chosen):
            arguments = example.write_case(reference, line, scratch / str(number))
            for schedule, workers in COMBINATIONS:
                done = run([tool, "run", scratch / "artifact", *arguments, "--schedule", schedule, "--workers", workers,
                            "--watchdog", 120, "--perturb", 1 + number],
                           env={**os.environ, **ENVIRONMENT}, timeout=900)
                passed += done.returncode == 0
                if done.returncode:
                    failed += 1
                    report += (f"{sanitizer}: {' '.join([name, *more])}, {line}, {schedule}, {workers} workers: exit code {done.returncode}\n"
                               f"{done.stdout[-4000:]}\n")
    return passed, failed, report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--shapes", type=int, default=3, help="shapes of each example, spread over its list")
    parser.add_argument("--only", choices=sorted(FLAGS), help="one sanitizer")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    names = options.names or sorted(p.parent.name for p in (ROOT / "examples").glob("*/reference.py"))
    passed = failed = 0
    for sanitizer in [options.only] if options.only else sorted(FLAGS):
        tool, message = build_tool(options.build.resolve(), sanitizer)
        if tool is None:
            print(f"{sanitizer}: the tool does not build\n{message}")
            failed += 1
            continue
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            chosen = [n for n in names if options.names or n not in LEFT_OUT[sanitizer]]
            runs = [(name, ()) for name in chosen] + [(name, ("--roles",)) for name in chosen if name in WITH_ROLES]
            for good, bad, report in pool.map(lambda run: run_example(options, sanitizer, tool, *run), runs):
                passed, failed = passed + good, failed + bad
                print(report, end="", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
