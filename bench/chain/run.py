#!/usr/bin/env python3
"""Times the decode chain on a GPU and checks it: one artifact for every number of tokens.

    run.py --artifact chain.evt --model qwen3-8b [--layers 36] [--tokens 1,8] [--schedules static,ticket,dynamic]

Weights are random and resident on the GPU in the artifact's packed layout. A run's time is that of one launch between two
events on a stream, the median of --repeats after a warm-up, queued one behind another as decoding does; the residual stream is
restored before each. Schedules and artifacts take turns, a few launches each, so that none of them has a better moment of the
machine than the others. The bound is the
weights' bytes over --limit TB/s. Logits are compared with a float32 reference made of PyTorch's own operations (‖a-b‖/‖b‖),
and bit for bit among all runs of a token count. With --peer the same chain is timed as PyTorch's own kernels in a CUDA graph.
With --operators DIR it is also timed as one kernel for each operator, in a CUDA graph: DIR/NAME.evt is the program of
NAME.mlir of operators.py, the same device functions, so its logits must have the same bits, too. Those are written for up to 8
tokens; with more, each operator is a launch of its own of the one kernel.
Needs PyTorch.
"""

import argparse
import json
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(pathlib.Path(__file__).resolve().parent)]

import launcher
import operators
import program

WARM_UP = 30  # launches
TURN, FIRST = 12, 2  # launches of a way before it is another one's turn, and how many of them are not counted
OPERATORS, PARTS = "a kernel each", "a launch each"
WIDE_CALLS = ("start_wide", "qkv_wide", "out_wide", "gate_up_wide", "down_wide", "head_wide")  # calls for more than 8 tokens
LAYERS = {"qwen3-8b": 36, "llama-3.2-1b": 16, "qwen3-0.6b": 28, "qwen3-4b": 36}


def unpacked(weights):
    """Rows of one packed matrix: tiles of 8 x 32, in which piece p (8 columns) of row r lies at p ^ (r / 2 % 4)."""
    rows, columns = weights.shape
    row = torch.arange(8, device=weights.device)[:, None]
    piece = torch.arange(4, device=weights.device)[None, :] ^ (row // 2 % 4)
    tiles = weights.view(rows // 8, columns // 32, 8, 4, 8)[:, :, row, piece]
    return tiles.reshape(rows // 8, columns // 32, 8, 32).permute(0, 2, 1, 3).reshape(rows, columns)


class Chain:
    def __init__(self, dims, layers, seed):
        self.d, self.qkv, self.ff, self.vocabulary = dims
        torch.manual_seed(seed)

        def weights(*shape):
            w = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
            for part in w if len(shape) == 3 else [w]:
                part.normal_(0, shape[-1] ** -0.5)
            return w

        self.layers = layers
        self.weights = {"w_qkv": weights(layers, self.qkv, self.d), "w_out": weights(layers, self.d, self.d),
                        "w_gate": weights(layers, self.ff, self.d), "w_up": weights(layers, self.ff, self.d),
                        "w_down": weights(layers, self.d, self.ff), "w_head": weights(self.vocabulary, self.d)}
        self.bytes = sum(2 * w.numel() for w in self.weights.values())

    def reference(self, x):
        def norm(x):
            return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)

        def times(x, w):
            return x @ unpacked(w).float().T

        w = self.weights
        for l in range(self.layers):
            q = times(norm(x), w["w_qkv"][l])
            x = x + times(q[:, :self.d], w["w_out"][l])
            a = norm(x)
            h = torch.nn.functional.silu(times(a, w["w_gate"][l])) * times(a, w["w_up"][l])
            x = x + times(h, w["w_down"][l])
        a = norm(x)
        out = torch.empty(len(x), self.vocabulary, device="cuda")
        for i in range(0, self.vocabulary, 32768):
            out[:, i:i + 32768] = times(a, w["w_head"][i:i + 32768])
        return out


class Peer:
    """The chain as PyTorch runs it: bf16 products of cuBLAS and its own element-wise kernels, captured in a CUDA graph."""

    def __init__(self, chain):
        w = chain.weights
        self.layers = [[unpacked(w[name][l]) for name in ("w_qkv", "w_out", "w_gate", "w_up", "w_down")]
                       for l in range(chain.layers)]
        self.layers = [(qkv, out, torch.cat((gate, up)), down) for qkv, out, gate, up, down in self.layers]
        self.head, self.chain = unpacked(w["w_head"]), chain
        self.ones = torch.ones(chain.d, dtype=torch.bfloat16, device="cuda")

    def step(self, x):
        linear, norm = torch.nn.functional.linear, torch.nn.functional.rms_norm
        for qkv, out, gate_up, down in self.layers:
            q = linear(norm(x, x.shape[-1:], self.ones, 1e-6), qkv)
            x = x + linear(q[:, :self.chain.d], out)
            gate, up = linear(norm(x, x.shape[-1:], self.ones, 1e-6), gate_up).chunk(2, dim=-1)
            x = x + linear(torch.nn.functional.silu(gate) * up, down)
        return linear(norm(x, x.shape[-1:], self.ones, 1e-6), self.head)

    def measure(self, tokens, repeats):
        x = torch.randn(tokens, self.chain.d, device="cuda", dtype=torch.bfloat16)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.step(x)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step(x)
        timers = []
        for _ in range(repeats + WARM_UP):
            timers.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            timers[-1][0].record()
            graph.replay()
            timers[-1][1].record()
        torch.cuda.synchronize()
        return statistics.median([begin.elapsed_time(end) for begin, end in timers][WARM_UP:])


class Operators:
    """The chain as one kernel for each operator: programs of operators.py, captured in a CUDA graph."""

    def __init__(self, chain, library, folder):
        self.chain = chain
        self.programs = {name: library.load(folder / f"{name}.evt") for name in operators.OPERATORS}

    def step(self, values, stream, schedule):
        def enqueue(name, weights):
            self.programs[name].enqueue({**values, **weights}, stream.cuda_stream, schedule)

        w = self.chain.weights
        enqueue("start", {})
        for l in range(self.chain.layers):
            layer = {name: w[name][l:l + 1] for name in w if name != "w_head"}
            for name in ("qkv", "out", "gate_up", "down"):
                enqueue(name, layer)
        enqueue("head", {"w_head": w["w_head"]})

    def capture(self, values, stream, schedule):
        """What launches a captured step."""
        tokens, d = values["r"].shape
        empty = lambda columns, dtype: torch.empty(tokens, columns, dtype=dtype, device="cuda")
        values = {**values, "rb": empty(d, torch.bfloat16), "squares": empty(d // 8, torch.float32),
                  "q": empty(self.chain.qkv, torch.bfloat16), "h": empty(self.chain.ff, torch.bfloat16)}
        self.tensors = values  # the graph knows only their addresses
        return captured(stream, lambda: self.step(values, stream, schedule))


class Parts:
    """The chain as a launch for each operator, of the kernel that is otherwise launched once: parts of its graph."""

    def __init__(self, chain, loaded, artifact):
        self.chain, self.loaded = chain, loaded
        calls = [call["name"] for call in json.loads((pathlib.Path(artifact) / "manifest.json").read_text())["calls"]]
        start, *layer, head = (calls.index(name) for name in WIDE_CALLS)
        self.parts = [(0, start, -1)] + [(k, k, l) for l in range(chain.layers) for k in layer] + [(head, len(calls) - 1, -1)]

    def capture(self, values, stream):
        values = {**values, **self.chain.weights}

        def step():
            for part in self.parts:
                self.loaded.enqueue(values, stream.cuda_stream, "static", part=part)

        return captured(stream, step)


def captured(stream, step):
    """What launches what `step` puts on the stream, as a CUDA graph."""
    torch.cuda.synchronize()
    step()  # a capture cannot make room
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        step()
    return graph.replay


class Timed:
    """One way to run the chain, its times and what it found. `way(values, stream)` gives what puts one step on the stream."""

    def __init__(self, way, x0, expected, stream):
        self.x0, self.expected = x0, expected
        self.x, self.logits = x0.clone(), torch.empty_like(expected)
        torch.cuda.synchronize()  # the stream does not wait for what made its inputs
        self.launch = way({"r": self.x, "logits": self.logits}, stream)
        self.timers, self.unequal = [], []

    def run(self, bits, counts):
        self.x.copy_(self.x0)
        self.logits.fill_(float("nan"))
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        self.launch()
        end.record()
        if counts:
            self.timers.append((begin, end))
        found = self.logits.view(torch.int32)
        if not bits:
            bits.append(found.clone())
        self.unequal.append((found != bits[0]).sum())

    def result(self):
        """(median ms, relative error, runs with other bits, the most logits that differ in one)."""
        unequal = [int(n) for n in self.unequal]
        error = ((self.logits - self.expected).norm() / self.expected.norm()).item()
        return (statistics.median(begin.elapsed_time(end) for begin, end in self.timers), error, sum(n > 0 for n in unequal),
                max(unequal))


def measure(ways, x0, expected, repeats, bits):
    """Results by name: ways take turns, launches queued one behind another: a GPU that is left alone lowers its clock."""
    stream = torch.cuda.Stream()
    timed = {name: Timed(way, x0, expected, stream) for name, way in ways.items()}
    with torch.cuda.stream(stream):
        for way in timed.values():
            for _ in range(WARM_UP):
                way.run(bits, False)
        for done in range(0, repeats, TURN - FIRST):
            for way in timed.values():
                for i in range(min(TURN, repeats - done + FIRST)):
                    way.run(bits, i >= FIRST)
    stream.synchronize()
    return {name: way.result() for name, way in timed.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifact", required=True, action="append", help="several: builds of one program, timed in turn")
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--model", choices=program.MODELS)
    parser.add_argument("--dims", help="hidden,qkv,feed-forward,vocabulary")
    parser.add_argument("--layers", type=int)
    parser.add_argument("--tokens", default="1,8")
    parser.add_argument("--schedules", default="static,ticket,dynamic")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--peer", action="store_true", help="time PyTorch's kernels in a CUDA graph, too")
    parser.add_argument("--operators", type=pathlib.Path, metavar="DIR", help="time a kernel for each operator, too")
    parser.add_argument("--operators-schedule", default="static", help="of those kernels")
    parser.add_argument("--limit", type=float, default=4.71, help="the memory limit, TB/s")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    dims = program.MODELS[options.model] if options.model else tuple(int(n) for n in options.dims.split(","))
    chain = Chain(dims, options.layers or LAYERS.get(options.model, 4), seed=1)
    library = launcher.Library(options.library)
    compiled = [library.load(artifact) for artifact in options.artifact]
    bound = chain.bytes / options.limit / 1e9
    print(f"{options.model or options.dims}: {chain.layers} layers, {chain.bytes / 1e9:.3f} GB, bound {bound:.4f} ms", flush=True)

    def whole(loaded, schedule):
        return lambda values, stream: lambda: loaded.enqueue({**values, **chain.weights}, stream.cuda_stream, schedule)

    ways = {schedule + (f" #{i}" if i else ""): whole(loaded, schedule)
            for i, loaded in enumerate(compiled) for schedule in options.schedules.split(",")}
    if options.operators:
        apart = Operators(chain, library, options.operators)
        ways[OPERATORS] = lambda values, stream: apart.capture(values, stream, options.operators_schedule)
        parts = Parts(chain, compiled[0], options.artifact[0])
        ways[PARTS] = parts.capture
    failed = 0
    for tokens in (int(n) for n in options.tokens.split(",")):
        x0 = torch.randn(tokens, chain.d, device="cuda", generator=torch.Generator("cuda").manual_seed(tokens))
        expected, bits = chain.reference(x0), []
        mine = {name: way for name, way in ways.items() if name != (OPERATORS if tokens > program.FEW else PARTS)}
        for name, (ms, error, other, differing) in measure(mine, x0, expected, options.repeats, bits).items():
            good = error < 2e-2 and not other
            failed += not good
            print(f"  tokens {tokens:3} {name:13} {ms:8.4f} ms  {100 * bound / ms:5.1f} % of the bound  error {error:.2e}"
                  f"  {f'{other} runs differ, in up to {differing} logits' if other else 'same bits'}{'' if good else '  FAILED'}",
                  flush=True)
    if options.peer:
        peer = Peer(chain)
        for tokens in (int(n) for n in options.tokens.split(",")):
            ms = peer.measure(tokens, options.repeats)
            print(f"  tokens {tokens:3} PyTorch, CUDA graph {ms:8.4f} ms  {100 * bound / ms:5.1f} % of the bound", flush=True)
    for loaded in compiled:
        loaded.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
