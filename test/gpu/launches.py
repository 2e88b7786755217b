#!/usr/bin/env python3
"""How a program is launched on a GPU, through the C interface and the driver's own: row sums, since any sum is known.

    test/gpu/launches.py ARTIFACT [--library FILE] [--driver FILE]

ARTIFACT is examples/row_sum compiled for the target cuda. Arguments on the host and on the GPU; launches that follow each
other on a stream; a graph that launches again and again; the calls of the program one after the other; a lost notification,
with and without a stream. The last line is `N passed, N failed`.
"""

import argparse
import ctypes
import pathlib
import sys
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "run"))
import launcher  # noqa: E402

COLUMNS = 4096


class Driver:
    """As a caller of the runtime has it: memory and streams in the primary context of the first GPU."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        self.call("cuInit", 0)
        self.context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.call("cuCtxPushCurrent_v2", self.context)

    def call(self, name, *arguments):
        code = getattr(self.c, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.c.cuGetErrorName(code, ctypes.byref(text))
            raise RuntimeError(f"{name}: {text.value.decode() if text.value else code}")

    def has(self, name):
        return hasattr(self.c, name)

    def stream(self):
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        return stream

    def upload(self, array, stream):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(array.nbytes))
        self.write(address, array, stream)
        return address

    def write(self, address, array, stream):
        self.call("cuMemcpyHtoDAsync_v2", address, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), stream)
        self.call("cuStreamSynchronize", stream)

    def download(self, address, array, stream):
        self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(array.ctypes.data), address, ctypes.c_size_t(array.nbytes), stream)
        self.call("cuStreamSynchronize", stream)


class Rows:
    """Arguments on the GPU with known sums: small integers, exact in any order."""

    def __init__(self, driver, stream, n):
        self.driver, self.stream = driver, stream
        self.host = (np.arange(n * COLUMNS).reshape(n, COLUMNS) % 7).astype(np.float32)
        self.x = driver.upload(self.host, stream)
        self.y = driver.upload(np.full(n, -1, np.float32), stream)

    def tensor(self, address, shape):
        extents = (ctypes.c_int64 * len(shape))(*shape)
        return launcher.Tensor(address.value, launcher.Device(launcher.CUDA, 0), len(shape), launcher.DataType(2, 32, 1),
                               extents, None, 0)

    def spoil(self):
        self.driver.write(self.y, np.full(len(self.host), -1, np.float32), self.stream)

    def correct(self):
        found = np.empty(len(self.host), np.float32)
        self.driver.download(self.y, found, self.stream)
        return bool((found == self.host.sum(1, dtype=np.float64)).all())


def launch(program, tensors, stream=None, workers=0, watchdog=5.0, inject=(-1, -1), part=(-1, -1, -1)):
    values = (launcher.Value * 2)(*[launcher.Value(ctypes.pointer(t), 0) for t in tensors])
    options = launcher.LaunchOptions(ctypes.sizeof(launcher.LaunchOptions), workers, None, watchdog, 0, *inject, None, stream,
                                     *part)
    program.library.check(program.library.c.evt_program_launch(program.handle, values, 2, ctypes.byref(options)))


def enqueue(program, rows, **options):
    n = len(rows.host)
    launch(program, [rows.tensor(rows.x, (n, COLUMNS)), rows.tensor(rows.y, (n,))], **options)


def message(action):
    try:
        action()
    except launcher.LaunchError as error:
        return str(error)
    return "no error"


class Checks:
    def __init__(self):
        self.passed = self.failed = 0

    def expect(self, what, good, found=""):
        print(f"{'ok    ' if good else 'FAILED'} {what}" + (f": {found}" if found != "" and not good else ""), flush=True)
        self.passed += bool(good)
        self.failed += not good


def host_arrays(checks, program):
    for n in (5, 1, 300, 2):
        x = (np.arange(n * COLUMNS).reshape(n, COLUMNS) % 5).astype(np.float32)
        y = np.full(n, -1, np.float32)
        program.launch({"x": x, "y": y}, schedule="static", workers=0)
        checks.expect(f"{n} rows from the host", (y == x.sum(1, dtype=np.float64)).all())


def on_a_stream(checks, driver, program):
    stream = driver.stream()
    rows = Rows(driver, stream, 64)
    enqueue(program, rows)
    checks.expect("tensors on the GPU, waited for", rows.correct())
    rows.spoil()
    enqueue(program, rows, stream=stream)
    begin = time.perf_counter()
    for _ in range(200):
        enqueue(program, rows, stream=stream)
    put = time.perf_counter() - begin
    driver.call("cuStreamSynchronize", stream)
    whole = time.perf_counter() - begin
    print(f"       200 launches on a stream: {put / 200 * 1e6:.1f} us each to put there, {whole / 200 * 1e6:.1f} us each in all")
    checks.expect("200 launches on a stream", rows.correct())
    other = driver.stream()
    there = Rows(driver, other, 64)
    rows.spoil()
    for _ in range(20):
        enqueue(program, rows, stream=stream, workers=2)
        enqueue(program, there, stream=other, workers=2)
    driver.call("cuStreamSynchronize", stream)
    driver.call("cuStreamSynchronize", other)
    checks.expect("two streams at once", rows.correct() and there.correct())


def lacks(driver, function, what):
    """Whether the driver is without a function; says what is skipped then."""
    if driver.has(function):
        return False
    print(f"skipped {what}")
    return True


def in_a_graph(checks, driver, program):
    if lacks(driver, "cuStreamBeginCapture_v2", "a graph: the driver has no captures"):
        return
    stream = driver.stream()
    rows = Rows(driver, stream, 64)
    enqueue(program, rows, stream=stream)
    driver.call("cuStreamSynchronize", stream)
    graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
    driver.call("cuStreamBeginCapture_v2", stream, 0)
    for _ in range(3):
        enqueue(program, rows, stream=stream)
    driver.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    driver.call("cuGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
    rows.spoil()
    for _ in range(50):
        driver.call("cuGraphLaunch", ready, stream)
    driver.call("cuStreamSynchronize", stream)
    checks.expect("three launches in a graph, 50 times", rows.correct())


def in_parts(checks, driver, program):
    if lacks(driver, "cuLaunchCooperativeKernel", "parts of a graph: the driver is a fake one, whose kernels know of no parts"):
        return
    stream = driver.stream()
    rows = Rows(driver, stream, 300)
    for turn in range(3):  # a sequence of parts leaves the counters clear for the next
        rows.spoil()
        enqueue(program, rows, stream=stream, part=(0, 0, -1))
        first = np.empty(len(rows.host), np.float32)
        driver.download(rows.y, first, stream)
        checks.expect(f"a part of the graph does its part, turn {turn}", (first == -1).all() and not rows.correct())
        enqueue(program, rows, stream=stream, part=(1, 1, -1))
        checks.expect(f"the next part finds what it waits for, turn {turn}", rows.correct())
    rows.spoil()
    enqueue(program, rows, stream=stream)
    checks.expect("and then all of it", rows.correct())
    found = message(lambda: enqueue(program, rows, stream=stream, part=(1, 2, -1)))
    checks.expect("calls that there are not are refused", found == "calls to run are 1..2, required a range of 0..1", found)


def lost_notification(checks, driver, program):
    x = np.ones((3, COLUMNS), np.float32)
    y = np.full(3, -1, np.float32)

    def host(**options):
        tensors = [launcher.Tensor(a.ctypes.data, launcher.Device(launcher.CPU, 0), a.ndim, launcher.DataType(2, 32, 1),
                                   (ctypes.c_int64 * a.ndim)(*a.shape), None, 0) for a in (x, y)]
        launch(program, tensors, **options)

    found = message(lambda: host(workers=1, watchdog=0.5, inject=(0, 6)))
    checks.expect("a lost notification is named", found == (
        "graph 'row_sum' is stuck: a wait lasted longer than 0.5 s; 12 of 15 tasks are done (schedule static, 1 worker)\n"
        "  done[1] has received 3 of 4 notifications\n"
        "    waited for by total(1), on worker 0\n"
        "    not notified by partial(1, 2), on no worker"), found)
    host()
    checks.expect("the next launch works", (y == COLUMNS).all())
    stream = driver.stream()
    rows = Rows(driver, stream, 3)
    enqueue(program, rows, stream=stream, workers=1, watchdog=0.5, inject=(0, 6))
    driver.call("cuStreamSynchronize", stream)
    time.sleep(0.05)
    found = message(lambda: enqueue(program, rows, stream=stream))
    checks.expect("a lost notification on a stream is named by the next launch", found == (
        "an earlier launch on this stream: graph 'row_sum' is stuck: a wait lasted longer than 0.5 s; it has 15 tasks "
        "(schedule static, 1 worker)\n"
        "  worker 0 waits in task 1 of total for done[1], which has received 3 of 4 notifications"), found)
    rows.spoil()
    enqueue(program, rows, stream=stream)
    checks.expect("the stream works again", rows.correct())


def refusals(checks, program):
    x = np.ones((2, COLUMNS), np.float32)
    y = np.zeros(2, np.float32)
    found = message(lambda: program.launch({"x": x, "y": y}, schedule="static", workers=100000))
    checks.expect("more workers than fit are refused", found.startswith("workers is 100000, required at most "), found)
    tensor = launcher.Tensor(x.ctypes.data, launcher.Device(launcher.CUDA, 0), 2, launcher.DataType(2, 32, 1),
                             (ctypes.c_int64 * 2)(2, COLUMNS), None, 0)
    out = launcher.Tensor(y.ctypes.data, launcher.Device(launcher.CPU, 0), 1, launcher.DataType(2, 32, 1),
                          (ctypes.c_int64 * 1)(2), None, 0)
    found = message(lambda: launch(program, [tensor, out]))
    checks.expect("an address of the host that is said to be the GPU's is refused", found ==
                  "argument 'x' is said to be on cuda:0, but its address is in the memory of no GPU", found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact")
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"), help="the runtime")
    parser.add_argument("--driver", default="libcuda.so.1", help="the CUDA driver, the same that the runtime finds")
    options = parser.parse_args()
    checks = Checks()
    driver = Driver(options.driver)
    program = launcher.Library(options.library).load(options.artifact)
    host_arrays(checks, program)
    on_a_stream(checks, driver, program)
    in_a_graph(checks, driver, program)
    in_parts(checks, driver, program)
    lost_notification(checks, driver, program)
    refusals(checks, program)
    driver.call("cuCtxSynchronize")
    program.close()
    print(f"{checks.passed} passed, {checks.failed} failed")
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
