#!/usr/bin/env python3
"""What the parts of a step's design bring: the same step with one of them left out.

    evt compile MODEL --target cuda -o MODEL.evt
    evt compile MODEL --target cuda --all-to-all -o all.evt
    evt compile MODEL --target cuda --nvccflag=-DEVT_NO_RUN_AHEAD -o waiting.evt
    bench/step/ablation.py --model MODEL --artifact MODEL.evt --all-to-all all.evt --no-run-ahead waiting.evt

- the three schedules;
- all-to-all: tasks wait for all of the operator before, instead of for those they need;
- no run-ahead: weights are fetched when the events of their task have come;
- a kernel each: every operator of every layer is a launch of its own, with the same tiles, in one CUDA graph.

Logits are compared: they have the same bits in all of them.
"""
import argparse
import json
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "bench" / "peers")]

import launcher
from model import Model
from steps import Steps, pages_for, stream
from timing import median

# Operators of a step with few tokens: calls that are one launch. Those that whoever completes an event runs are part of
# the call before.
BEFORE = [["angles", "embed"]]
LAYER = [["query", "key", "value"], ["attend", "merge"], ["out", "out_combine"], ["gate_up", "gate_up_combine"],
         ["down", "down_last", "down_combine"]]
AFTER = [["logits", "logits_combine"], ["best"], ["next"]]


def parts_of(artifact, layers):
    """(first call, last call, iteration) of every launch, in order."""
    calls = [call["name"] for call in json.loads((artifact / "manifest.json").read_text())["calls"]]

    def spans(operators):
        for names in operators:
            found = [calls.index(name) for name in names if name in calls]
            yield found[0], found[-1]

    parts = [(*span, -1) for span in spans(BEFORE)]
    parts += [(*span, layer) for layer in range(layers) for span in spans(LAYER)]
    parts += [(*span, -1) for span in spans(AFTER)]
    parts[-1] = (parts[-1][0], len(calls) - 1, -1)  # the last part ends the step; calls behind it have no tasks
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    numbers = lambda text: [int(n) for n in text.split(",")]
    add("--model", type=pathlib.Path, required=True, help="a folder with a config.json")
    add("--artifact", type=pathlib.Path, required=True)
    add("--all-to-all", type=pathlib.Path, metavar="ARTIFACT")
    add("--no-run-ahead", type=pathlib.Path, metavar="ARTIFACT")
    add("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    add("--batch", type=numbers, default=[1, 8], help="new tokens, a request each; at most 8")
    add("--context", type=int, default=1024)
    add("--layers", type=int, help="fewer than the model has")
    add("--repeats", type=int, default=41)
    options = parser.parse_args()

    library = launcher.Library(options.library)
    programs = {"": options.artifact, "all-to-all events": options.all_to_all, "no run-ahead": options.no_run_ahead}
    programs = {name: library.load(path) for name, path in programs.items() if path}
    model = Model(options.model, options.layers, programs[""])
    print(f"{options.model.name}: {model.layers} layers, context {options.context}, ms (times static)", flush=True)
    failures = 0
    for batch in options.batch:
        steps = Steps(model, programs[""], batch * pages_for(options.context))
        steps.fill()
        values = steps.arguments([([7 * r % model.vocabulary], options.context - 1, steps.take(options.context))
                                  for r in range(batch)])
        queue = stream()
        first = {}

        def timed(name, launch):
            """Its time; what it leaves behind is what the first one did."""
            nonlocal failures
            with torch.cuda.stream(queue):
                values["logits"].fill_(float("nan"))
                launch()
                queue.synchronize()
                logits = values["logits"].clone()
                ms = median(launch, options.repeats)
            base = first.setdefault("ms", ms)
            same = torch.equal(first.setdefault("logits", logits), logits)
            failures += not same or bool(logits.isnan().any())
            print(f"  batch {batch:2d}  {name:18s} {ms:8.3f}  {ms / base:5.2f}  {'' if same else 'FAILED: other bits'}",
                  flush=True)

        for schedule in "static", "ticket", "dynamic":
            timed(schedule, lambda: programs[""].enqueue(values, queue.cuda_stream, schedule))
        for name, program in list(programs.items())[1:]:
            timed(name, lambda: program.enqueue(values, queue.cuda_stream, "static"))
        parts = parts_of(options.artifact, model.layers)

        def launch_parts():
            for part in parts:
                programs[""].enqueue(values, queue.cuda_stream, "static", part=part)

        with torch.cuda.stream(queue):
            launch_parts()
            queue.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, stream=queue):
                launch_parts()
        timed(f"a kernel each ({len(parts)})", graph.replay)
        del graph, steps, values
    print(f"{'1 passed, 0' if not failures else '0 passed, 1'} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
