#!/usr/bin/env python3
"""Checks and times a model's step on a GPU: one artifact for every number of tokens, requests and positions.

    evt compile --target cuda bench/step/models/qwen3-8b -o qwen3-8b.evt
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --check --teach 256 --long 32768 --bits 2,3,7,8,9,64
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --batch 1,8 --context 1024 --peer
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --batch 1,8,64 --context 160,1024,8192 --table steps.md
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --prefill 2048 --mixed 512,16,1024 --peer

Weights are random, N(0, 0.02), and resident on the GPU in the artifact's layout.

Results. Logits are compared with transformers on the same weights. The largest error against float32 must be at most 1.5 times
that of transformers in bf16, the largest logit must be that of float32 where its margin is more than twice the error of bf16, and
the bits must be the same under all schedules and in any batch between two borders of the manifest (8, 16, 256 and 1024 tokens; 256
and 1024 with `evt compile --same-bits`).
  --check   prompts in chunks of many tokens and then token by token, alone and in batches, and in chunks beside new tokens of other
            requests
  --teach   given tokens behind prompts of 1, 60 and 700, at every position: the three requests at once, the first one alone, and
            12 at once, four of each
  --long    a request of so many positions, in chunks beside two that decode meanwhile; then the last 4 positions step by step,
            with 3 and with 12 requests
  --bits    requests alone and in batches of new tokens

Times. A time is that of one launch, the median of --repeats (fewer where one takes long), queued one behind another as decoding
does. The bound is the bytes of weights and of the cache's keys and values over --limit TB/s.
  --batch   new tokens of requests that have --context positions each; --sampling says how they are chosen
  --prefill a step of one prompt, of which the last token's logits are wanted
  --mixed   a step with a chunk of a prompt and a batch of new tokens, and both by themselves
  --peer    PyTorch's own kernels for --batch and --prefill in a CUDA graph (bench/peers/torch_step.py); --compiled what
            torch.compile makes of them for --batch
  --table   writes --batch with --peer to a file; points that do not fit in the GPU's memory are left out

Needs PyTorch and, to compare logits, transformers.
"""

import argparse
import pathlib
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test" / "run"), str(ROOT / "bench" / "peers")]

import launcher
from check import bits, check
from model import Model
from steps import SAMPLING, set_page_size
from teach import long, teach
from timing import time_mixed, time_points, time_prompts

ALL = ["static", "ticket", "dynamic"]


def numbers(text):
    return [int(n) for n in text.split(",") if n]


def names(text):
    return text.split(",")


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def add(name, what, **how):
        parser.add_argument(name, help=what, **how)

    add("--artifact", "the step, as `evt compile` wrote it", required=True)
    add("--model", "a folder with a config.json", required=True, type=pathlib.Path)
    add("--library", "the runtime", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    add("--page-size", "positions of a page, as the artifact was compiled", type=int, default=64)
    add("--layers", "fewer than the model has", type=int)
    add("--seed", "of weights and prompts", type=int, default=1)
    add("--schedules", "of static, ticket, dynamic [all; for --teach, --long and --bits static]", type=names)
    add("--check", "compare logits of prompts with transformers", action="store_true")
    add("--lengths", "of the prompts of --check", type=numbers, default="1,2,9,63,64,65,130,300,17,1100")
    add("--last", "positions of each that --check compares", type=int, default=3)
    add("--teach", "compare logits of so many given tokens behind prompts, one a step", type=int, default=0, metavar="N")
    add("--long", "compare logits of the last of so many positions", type=numbers, default="", metavar="N,…")
    add("--bits", "compare bits alone and in batches of so many requests", type=numbers, default="", metavar="N,…")
    add("--batch", "time steps with a new token of each of so many requests", type=numbers, default="", metavar="N,…")
    add("--context", "positions that each request of --batch has", type=numbers, default="1024", metavar="N,…")
    add("--sampling", f"how --batch chooses tokens: {', '.join(SAMPLING)}", type=names, default="greedy")
    add("--prefill", "time a prompt of so many tokens in one step", type=numbers, default="", metavar="N,…")
    add("--mixed", "time a chunk of a prompt beside a batch of new tokens", type=numbers, metavar="CHUNK,BATCH,CONTEXT")
    add("--repeats", "launches that a time is the median of, at most", type=int, default=21)
    add("--peer", "time PyTorch's own kernels, too, in a CUDA graph", action="store_true")
    add("--compiled", "time what torch.compile makes of --batch, too", action="store_true")
    add("--compile-mode", "torch.compile's mode", default="max-autotune-no-cudagraphs")
    add("--table", "write the times of --batch and PyTorch's to a Markdown table", type=pathlib.Path, metavar="FILE")
    add("--limit", "TB/s that memory can be read with: the bound", type=float, default=4.71)
    return parser.parse_args()


def main():
    options = parse()
    torch.backends.cuda.matmul.allow_tf32 = False
    set_page_size(options.page_size)
    program = launcher.Library(options.library).load(options.artifact)
    model = Model(options.model, options.layers, program, options.seed)
    print(f"{options.model.name}: {model.layers} layers, weights {model.weight_bytes / 1e9:.3f} GB", flush=True)
    all_of, one_of = options.schedules or ALL, options.schedules or ALL[:1]
    failures = check(model, program, options.lengths, options.last, all_of, options.seed) if options.check else 0
    if options.teach:
        failures += teach(model, program, options.teach, one_of, options.seed)
    for total in options.long:
        failures += long(model, program, total, one_of, options.seed)
    if options.bits:
        failures += bits(model, program, options.bits, one_of, options.seed)
    time_points(model, program, options, all_of)
    time_prompts(model, program, options, all_of)
    if options.mixed:
        time_mixed(model, program, options, all_of)
    if options.check or options.teach or options.long or options.bits:
        print(f"{'1 passed, 0' if not failures else '0 passed, 1'} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
