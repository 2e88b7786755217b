#!/usr/bin/env python3
"""Times products with many rows on a GPU beside cuBLAS, and checks them.

    run.py --artifact product.evt --product 8192,8192,8192 [--schedules ticket]     M, N, K of program.py product
    run.py --artifact mlp.evt --mlp 2048,4096,12288                                 tokens, hidden, feed-forward

The first number may be several, `1+77+2048`: one artifact serves all. Ours and PyTorch's kernels (cuBLAS) take turns in one
loop over three sets of random inputs, each launch between two events on a stream that is busy before it; medians of
--repeats after a warm-up. Every launch finds NaN in its output, which lies between two bands that nobody may write. Results
are compared with a float32 product of the same inputs (‖a-b‖/‖b‖), and bit for bit among all runs of a shape, whatever the
schedule and --workers. With --check nothing is timed. Needs PyTorch. The last line is `N passed, N failed`.
"""

import argparse
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "run"))

import launcher

BAND = 8  # rows before and after an output
TYPES = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}


class Output:
    """A matrix between two bands."""

    def __init__(self, rows, columns, dtype):
        self.whole = torch.empty(rows + 2 * BAND, columns, dtype=dtype, device="cuda")
        self.rows = self.whole[BAND:BAND + rows]

    def poison(self):
        self.whole.fill_(12345.0)
        self.rows.fill_(float("nan"))

    def is_contained(self):
        return bool((self.whole[:BAND] == 12345.0).all() and (self.whole[len(self.whole) - BAND:] == 12345.0).all())


class Product:
    """C = A B^T."""

    def __init__(self, m, n, k, operands, output, sets):
        self.name, self.flops = f"product {m} x {n} x {k}", 2 * m * n * k
        self.inputs = [{"a": torch.randn(m, k, device="cuda", dtype=operands),
                        "b": torch.randn(n, k, device="cuda", dtype=operands)} for _ in range(sets)]
        self.output, self.argument = Output(m, n, output), "c"
        self.peer_out = torch.empty(m, n, device="cuda", dtype=operands)

    def reference(self, v):
        return v["a"].float() @ v["b"].float().T

    def peers(self):
        return {"cuBLAS": lambda v: torch.matmul(v["a"], v["b"].T, out=self.peer_out)}


class Mlp:
    """down(silu(gate(x)) * up(x))."""

    def __init__(self, tokens, hidden, ff, sets):
        self.name, self.flops = f"mlp {tokens} x {hidden} x {ff}", 2 * tokens * hidden * ff * 3

        def weights(*shape):
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * shape[1] ** -0.5

        self.inputs = []
        for _ in range(sets):
            both, down = weights(2 * ff, hidden), weights(hidden, ff)
            self.inputs.append({"x": torch.randn(tokens, hidden, device="cuda", dtype=torch.bfloat16), "both": both,
                                "w_gate": both[:ff], "w_up": both[ff:], "w_down": down})
        self.output, self.argument = Output(tokens, hidden, torch.bfloat16), "y"
        self.wide = torch.empty(tokens, 2 * ff, device="cuda", dtype=torch.bfloat16)
        self.narrow = torch.empty(tokens, hidden, device="cuda", dtype=torch.bfloat16)

    def reference(self, v):
        x = v["x"].float()
        h = torch.nn.functional.silu(x @ v["w_gate"].float().T) * (x @ v["w_up"].float().T)
        return h @ v["w_down"].float().T

    def peers(self):
        def both(v):
            torch.matmul(v["x"], v["both"].T, out=self.wide)
            gate, up = self.wide.chunk(2, dim=-1)
            torch.matmul(torch.nn.functional.silu(gate) * up, v["w_down"].T, out=self.narrow)

        def products_alone(v):
            torch.matmul(v["x"], v["both"].T, out=self.wide)
            torch.matmul(self.wide.view(-1, v["w_down"].shape[1])[:len(v["x"])], v["w_down"].T, out=self.narrow)

        return {"cuBLAS with silu * mul": both, "cuBLAS, products alone": products_alone}


def timed(stream, action):
    """Milliseconds of one launch: the stream is busy before it, so that putting it there is not counted."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(1_000_000)
    begin.record()
    action()
    end.record()
    stream.synchronize()
    return begin.elapsed_time(end)


class Runs:
    def __init__(self, compiled, case, options):
        self.compiled, self.case, self.options = compiled, case, options
        self.stream = torch.cuda.Stream()
        self.bits = {}

    def launch(self, schedule, which, workers=0):
        values = {name: t for name, t in self.case.inputs[which].items() if name != "both"}
        values[self.case.argument] = self.case.output.rows
        self.compiled.enqueue(values, self.stream.cuda_stream, schedule, workers)

    def check(self, schedule, workers):
        """Whether a launch on the first inputs is right; the error or what is wrong."""
        case = self.case
        with torch.cuda.stream(self.stream):
            case.output.poison()
            self.launch(schedule, 0, workers)
            self.stream.synchronize()
            found = case.output.rows.clone()
            expected = case.reference(case.inputs[0])
            error = ((found.float() - expected).norm() / expected.norm()).item()
            if not case.output.is_contained():
                return False, "wrote outside of its output"
            if not error < 1e-2:
                return False, f"error {error:.2e}"
            bits = found.view(torch.int16 if found.element_size() == 2 else torch.int32)
            if "bits" in self.bits and int((bits != self.bits["bits"]).sum()):
                return False, "other bits than the run before"
            self.bits["bits"] = bits
        return True, f"error {error:.2e}"

    def measure(self, schedules, repeats):
        """Median milliseconds of each schedule and of each peer, taken in turns."""
        actions = {schedule: lambda i, s=schedule: self.launch(s, i) for schedule in schedules}
        for name, peer in self.case.peers().items():
            actions[name] = lambda i, p=peer: p(self.case.inputs[i])
        times = {name: [] for name in actions}
        with torch.cuda.stream(self.stream):
            for i in range(repeats + 3):
                for name, action in actions.items():
                    times[name].append(timed(self.stream, lambda: action(i % len(self.case.inputs))))
        return {name: statistics.median(t[3:]) for name, t in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifact", required=True)
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--product", help="M,N,K; M may be several: 1+77")
    parser.add_argument("--mlp", help="tokens,hidden,feed-forward; tokens may be several")
    parser.add_argument("--operands", choices=TYPES, default="bf16", help="type of A and B")
    parser.add_argument("--output", choices=TYPES, default="bf16", help="type of C")
    parser.add_argument("--schedules", default="ticket,static,dynamic")
    parser.add_argument("--workers", default="0", help="to check with; 0 is one for each SM")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--check", action="store_true", help="time nothing")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.manual_seed(7)
    compiled = launcher.Library(options.library).load(options.artifact)
    schedules = options.schedules.split(",")
    first, *rest = (options.product or options.mlp).split(",")
    passed = failed = 0
    for rows in (int(n) for n in first.split("+")):
        dims, sets = [rows] + [int(n) for n in rest], 1 if options.check else 3
        case = Product(*dims, TYPES[options.operands], TYPES[options.output], sets) if options.product else Mlp(*dims, sets)
        runs = Runs(compiled, case, options)
        found = [(s, w, *runs.check(s, w)) for s in schedules for w in (int(n) for n in options.workers.split(","))]
        for schedule, workers, good, what in found:
            passed, failed = passed + good, failed + (not good)
            if not good:
                print(f"{case.name}: {schedule}, {workers} workers: FAILED, {what}")
        print(f"{case.name}: {found[-1][3]}", flush=True)
        if not options.check:
            for name, ms in runs.measure(schedules, options.repeats).items():
                print(f"  {name:24} {ms * 1e3:9.1f} us  {case.flops / ms / 1e9:6.0f} TFLOP/s", flush=True)
    compiled.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
