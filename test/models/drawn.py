#!/usr/bin/python3
"""Models of drawn dimensions on the CPU: `evt generate` against a decoder in NumPy (reference.py) that knows nothing of evt.

    drawn.py [--evt build/bin/evt] [--seed N] [--count K]     models N to N + K - 1
    drawn.py --seed N --count 1 --keep DIR                    one of them again, and what was written for it
    drawn.py --target cuda [--nvcc build/simulated/nvcc]      on a GPU, or with LD_LIBRARY_PATH=build/simulated on a simulated one

A model's seed draws its config.json, its weights and its requests: one token, a few, more than a page, more than a part of
attention. They run in small steps, in steps of any size and with all prompts at once, so that few tokens, many and whole prompts go
their own ways. The reference reads what was answered, and

  - log-probabilities of the answers' tokens are at most 1.5 times as far from its own as those are that it gets where it rounds weights
    and every result to bf16: the largest of each, over all tokens of a model;
  - the most likely token is its own, wherever the margin is larger than what rounding can change.

A model takes 10 s, most of them to compile its step. More of them: drawn.py --seed 1000 --count 50. The last line is
`N passed, N failed`.
"""

import argparse
import collections
import concurrent.futures
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # models run beside each other

import numpy as np

import reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
FAMILIES = {"llama": "LlamaForCausalLM", "qwen3": "Qwen3ForCausalLM"}

Draw = collections.namedtuple("Draw", "config dtype compiled requests ways")


def draw_rope(r):
    rope = {"rope_type": "default", "rope_theta": round(10 ** r.uniform(2, 6.5))}
    if r.random() < 0.6:
        low = r.choice((0.5, 1, 2))
        rope |= {"rope_type": "llama3", "factor": round(r.uniform(2, 32), 1), "low_freq_factor": low,
                 "high_freq_factor": round(low * r.uniform(1.2, 5), 2), "original_max_position_embeddings": r.randint(16, 100)}
    if r.random() < 0.3:
        return {"rope_parameters": rope}  # as transformers 5 writes it
    theta = rope.pop("rope_theta")
    return {"rope_theta": theta, "rope_scaling": rope if len(rope) > 1 else None}


def draw_config(r, target):
    family, is_gpu = r.choice(sorted(FAMILIES)), target == "cuda"
    head = r.choice((64, 128)) if is_gpu and r.random() < 0.7 else 16 * r.randint(1, 8)  # 64 columns at a time have ways of their own
    groups, each = r.choice([(g, e) for g in range(1, 9) for e in (*range(1, 9), 9, 10, 12) if g * e * head <= 1024])
    hidden = 8 * r.randint(1, 40)
    config = {"architectures": [FAMILIES[family]], "model_type": family, "num_attention_heads": groups * each,
              "num_hidden_layers": r.randint(1, 3), "max_position_embeddings": 2048,
              "intermediate_size": r.choice((r.randint(1, 700), r.randint(1, 700), r.randint(2048, 3000))),
              "vocab_size": r.choice((r.randint(2, 900), r.randint(2, 900), r.randint(2049, 5000))),
              "rms_norm_eps": float(f"{10 ** r.uniform(-6, -1):.1g}"), "tie_word_embeddings": r.random() < 0.5, **draw_rope(r)}
    if family == "llama" and groups * each * head <= 512 and r.random() < 0.4:
        hidden = groups * each * head  # and a head's width follows
    else:
        config["head_dim"] = head
    if family == "qwen3" or each > 1:  # otherwise it follows
        config["num_key_value_heads"] = groups
    if is_gpu:  # its rule
        config["intermediate_size"] = -(-config["intermediate_size"] // 8) * 8
    return {**config, "hidden_size": hidden, "initializer_range": round(1.2 / math.sqrt(hidden), 3)}


def draw_requests(r, vocabulary, page):
    lengths = [1, 2, 3, r.randint(4, 15), page, page + 1, r.randint(16, 60), r.randint(65, 128), r.randint(129, 300)]
    lengths += [r.randint(1, 30) for _ in range(r.randint(0, 12))]
    if r.random() < 0.3:
        lengths += [r.randint(200, 300) for _ in range(4)]  # more than 1024 tokens together
    r.shuffle(lengths)
    requests = []
    for number, length in enumerate(lengths):
        requests.append({"id": number, "tokens": [r.randrange(vocabulary) for _ in range(length)], "max_tokens": r.randint(1, 6),
                         "ignore_eos": True, "logprobs": True})
        if r.random() < 0.5:
            requests[-1] |= {"temperature": round(r.uniform(0.5, 2), 2), "seed": r.randrange(1 << 64)}
    return requests


def draw_ways(r, requests, page):
    """Options of the runs: steps of few tokens, of some, and all prompts in one step."""
    pages = [-(-(len(q["tokens"]) + q["max_tokens"] - 1) // page) for q in requests]
    most = r.randint(9, 256)
    ways = [["--batch-tokens", r.randint(4, 8), "--pages", r.randint(max(pages), sum(pages))],
            ["--batch-tokens", most, "--prompt-chunk", r.choice((0, r.randint(2, most))), "--pages", r.randint(max(pages), sum(pages))],
            ["--pages", sum(pages)]]
    return [way + ["--schedule", r.choice(("static", "ticket", "dynamic")), "--workers", r.randint(1, 4)] for way in ways]


def draw(seed, target):
    r = random.Random(seed)
    config, page = draw_config(r, target), r.choice((1, 3, 8, 16, 16, 24, 64))
    compiled = ["--page-size", page, *(["--same-bits"] if r.random() < 0.15 else [])]
    requests = draw_requests(r, config["vocab_size"], page)
    return Draw(config, r.choice(("bf16", "bf16", "f16", "f32")), compiled, requests, draw_ways(r, requests, page))


def run(*command):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace")
    if done.returncode:
        raise RuntimeError(f"{' '.join(str(word) for word in command)}: exit code {done.returncode}\n{done.stdout.strip()}")


def answers_of(evt, drawn, compiled, seed, folder):
    """For each way, its answers by the requests' numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(drawn.config, indent=2) + "\n")
    (folder / "requests.jsonl").write_text("".join(json.dumps(r) + "\n" for r in drawn.requests))
    run(evt, "weights", folder, "--random", seed, "--dtype", drawn.dtype, "--force", "--threads", 1)
    run(evt, "compile", folder, "-o", folder / "step.evt", *compiled)
    ways = []
    for number, way in enumerate(drawn.ways):
        out = folder / f"answers{number}.jsonl"
        run(evt, "generate", folder, "--artifact", folder / "step.evt", "--in", folder / "requests.jsonl", "--out", out,
            "--read-threads", 1, *way)
        ways.append({int(answer["id"]): answer for answer in map(json.loads, out.read_text().splitlines())})
    return ways


def log_softmax(logits):
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


class Judge:
    """What the reference says of answers."""

    def __init__(self, decoder):
        self.decoder, self.known = decoder, {}
        self.count, self.ours, self.theirs, self.rounding = 0, (0, ""), 0, 0
        self.greedy = []  # (margin, whether it is right, what it says if it is not)
        self.incomplete = None

    def log_probabilities(self, prompt, tokens):
        """Those of each token of the answer, exactly and rounded."""
        key = (tuple(prompt), tuple(tokens))
        if key not in self.known:
            self.known[key] = [log_softmax(self.decoder.logits([*prompt, *tokens][:-1], to)[len(prompt) - 1:])
                               for to in (reference.exact, reference.bfloat16)]
        return self.known[key]

    def add(self, request, answer, where):
        if not answer or not len(answer["tokens"]) == len(answer["logprobs"]) == request["max_tokens"]:
            self.incomplete = f"request {request['id']}, {where}, has the answer {answer}, expected {request['max_tokens']} tokens"
            return
        tokens = answer["tokens"]
        exact, rounded = self.log_probabilities(request["tokens"], tokens)
        self.rounding = max(self.rounding, np.abs(rounded - exact).max())
        for i, (token, found) in enumerate(zip(tokens, answer["logprobs"])):
            self.count += 1
            at = f"token {i} of request {request['id']}, {where}"
            distance = math.inf if found is None else abs(found - exact[i][token])  # null: no number
            self.ours = max(self.ours, (distance, f"{at}, is {found}, expected {exact[i][token]:.6g}"))
            self.theirs = max(self.theirs, abs(rounded[i][token] - exact[i][token]))
            if "temperature" not in request:
                second, best = np.sort(exact[i])[-2:]
                chosen = f"{at}, is {token}, expected {exact[i].argmax()} by a margin of {best - second:.2g}"
                self.greedy.append((best - second, exact[i].argmax() == token, chosen))

    def problem(self):
        """What is wrong, or None."""
        if self.incomplete:
            return self.incomplete
        if self.ours[0] > 1.5 * self.theirs:
            return f"log-probabilities are {self.ours[0]:.2g} off, where rounding moves them by {self.theirs:.2g}: {self.ours[1]}"
        certain = [(right, what) for margin, right, what in self.greedy if margin > 2 * self.rounding]
        wrong = [what for right, what in certain if not right]
        return f"{len(wrong)} of {len(certain)} tokens are others, where rounding moves them by {self.rounding:.2g}: {wrong[0]}" if wrong else None


def check(options, seed, folder):
    """What is wrong with a model, or None, and a note."""
    drawn = draw(seed, options.target)
    compiled = ["--target", options.target, *(["--nvcc", options.nvcc] if options.nvcc else []), *drawn.compiled]
    try:
        ways = answers_of(options.evt, drawn, compiled, seed, folder)
    except RuntimeError as error:
        return str(error), ""
    judge = Judge(reference.Decoder(folder))
    for way, answers in zip(drawn.ways, ways):
        for request in drawn.requests:
            judge.add(request, answers.get(request["id"]), " ".join(map(str, way)))
    certain = sum(margin > 2 * judge.rounding for margin, _, _ in judge.greedy)
    return judge.problem(), f"{judge.count} tokens, {certain} certain, {judge.ours[0]:.2g} off, rounding {judge.theirs:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evt", type=pathlib.Path, default=ROOT / "build" / "bin" / "evt", help="the tool")
    parser.add_argument("--target", default="cpu", help="what steps are compiled for: cpu or cuda")
    parser.add_argument("--nvcc", type=pathlib.Path, help="NVIDIA's compiler, or the simulated one")
    parser.add_argument("--seed", type=int, default=1, help="of the first model")
    parser.add_argument("--count", type=int, default=4, help="how many models")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of them at once")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for what is written, which then stays")
    options = parser.parse_args()
    failed, seeds = 0, range(options.seed, options.seed + options.count)
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = options.keep or pathlib.Path(scratch)
        for seed, (problem, note) in zip(seeds, pool.map(lambda n: check(options, n, folder / str(n)), seeds)):
            failed += problem is not None
            print(f"model {seed}: {problem or note}", flush=True)
            if problem:
                drawn = draw(seed, options.target)
                print(f"  {json.dumps(drawn.config)}, weights of {drawn.dtype}, {' '.join(map(str, drawn.compiled))}", flush=True)
    print(f"{len(seeds) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
