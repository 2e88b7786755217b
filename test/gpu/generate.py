#!/usr/bin/python3
"""Continues requests with tiny models on a GPU, and judges every token.

    generate.py --artifacts DIR [--evt build/bin/evt] [--steps 10000] [--few] [FAMILY…]

DIR has step-golden-FAMILY.evt and step-same-bits-FAMILY.evt, which `test/gpu/run --compile DIR --steps` makes (any step of
test/models/golden, compiled with --page-size 8, the second one with --same-bits). The weights are random and written here. Requests come
and go: as many as fill --steps steps, with prompts and answers of random lengths, some of which end early.

  - The prompts of test/models/golden, in small and large steps, must be continued as transformers did, wherever the margin is larger than
    what bf16 can change.
  - Steps of up to 8 tokens give the same bits whoever else is in them, and with --same-bits those of up to 256: every answer must be the
    one that its request gets alone, and the log-probabilities of its tokens to the last bit.
  - Memory of the GPU and of the host must not grow between step 500 and the end.

The last line is `N passed, N failed`.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "test" / "models" / "golden"
GROWTH = 4 << 20  # bytes of the host that a run may need more after step 500: its allocator's


class Model:
    """A family's tiny model with its weights in a folder of their own."""

    def __init__(self, family, evt, artifacts, folder):
        self.evt, self.folder = evt, folder / family
        self.artifact, self.same_bits = (artifacts / f"step-{kind}-{family}.evt" for kind in ("golden", "same-bits"))
        self.folder.mkdir()
        expected = json.loads((GOLDEN / family / "expected.json").read_text())
        config = json.loads((GOLDEN / family / "config.json").read_text())
        self.vocabulary = config["vocab_size"]
        config["eos_token_id"] = list(range(0, self.vocabulary, 50))  # so that texts end
        (self.folder / "config.json").write_text(json.dumps(config))
        subprocess.run([evt, "weights", self.folder, "--random", str(expected["seed"])], check=True, stdout=subprocess.DEVNULL)
        self.golden = []  # (prompt, answer, tokens of it that rounding cannot change)
        for request in expected["requests"]:
            error, certain = max(request["bf16_error"]), 0
            for margin in request["greedy"]["margins"]:
                if margin <= 2 * error:
                    break
                certain += 1
            self.golden.append((request["prompt"], request["greedy"]["tokens"], certain))

    def generate(self, requests, *options, artifact=None):
        """Answers by id, and the report."""
        paths = {name: self.folder / name for name in ("in.jsonl", "out.jsonl", "report.json")}
        paths["in.jsonl"].write_text("".join(json.dumps(r) + "\n" for r in requests))
        done = subprocess.run([self.evt, "generate", self.folder, "--artifact", artifact or self.artifact, "--in", paths["in.jsonl"], "--out",
                               paths["out.jsonl"], "--report", paths["report.json"], *map(str, options)],
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(f"evt generate ended with {done.returncode}: {done.stderr.strip()}")
        answers = [json.loads(line) for line in paths["out.jsonl"].read_text().splitlines()]
        return {a["id"]: a for a in answers}, json.loads(paths["report.json"].read_text())


def golden_requests(model, count):
    """Prompts of transformers' continuations, over and over in random order, and random parts of their answers."""
    picked = list(range(len(model.golden)))
    random.shuffle(picked)
    picked = [picked[i] if i < len(picked) else random.choice(picked) for i in range(count)]
    requests = [{"id": f"{i} {g}", "tokens": model.golden[g][0], "ignore_eos": True,
                 "max_tokens": len(model.golden[g][1]) if i < len(model.golden) else random.randint(1, len(model.golden[g][1]))}
                for i, g in enumerate(picked)]
    return requests


def random_requests(model, count, prompts=(1, 2, 3, 7, 12, 40), answer=40):
    return [{"id": str(i), "tokens": [random.randrange(model.vocabulary) for _ in range(random.choice(prompts))],
             "max_tokens": random.randint(1, answer), "ignore_eos": i % 4 == 0, "logprobs": i % 3 > 0} for i in range(count)]


class Judge:
    def __init__(self):
        self.passed = self.failed = 0

    def __call__(self, name, problems, note=""):
        self.passed, self.failed = self.passed + (not problems), self.failed + bool(problems)
        print(f"{name}: " + (f"{len(problems)} problems, the first: {problems[0]}" if problems else "ok") + note, flush=True)


def steps_note(report):
    each = 1e6 / report["steps"]
    return (f" ({report['steps']} steps, {report['generated']} tokens, {report['dropped']} dropped, {report['seconds'] * each:.1f} us a "
            f"step, of the GPU {report['device_seconds'] * each:.1f})")


def leaks(report):
    settled, end = report.get("settled"), report["memory"]
    if not settled:
        return ["it ended before step 500"]
    grown = end["resident"] - settled["resident"]
    problems = [f"the host's memory grew by {grown} bytes"] if grown > GROWTH else []
    if end["device"] > settled["device"]:
        problems.append(f"the GPU's memory grew by {end['device'] - settled['device']} bytes")
    return problems


def check_golden(model, name, judge, count, *options):
    answers, report = model.generate(golden_requests(model, count), *options)
    problems = [] if len(answers) == count else [f"{len(answers)} answers of {count}"]
    for key, answer in answers.items():
        _, expected, certain = model.golden[int(key.split()[1])]
        certain = min(certain, len(answer["tokens"]))
        if answer["tokens"][:certain] != expected[:certain]:
            problems.append(f"request {key} got {answer['tokens']}, transformers {expected}, of which {certain} are certain")
    judge(f"{name}, as transformers, {' '.join(map(str, options))}", problems, steps_note(report))
    return report


def differences(requests, together, alone):
    return [f"request {r['id']} got {together.get(r['id'])}, alone {alone.get(r['id'])}" for r in requests
            if r["id"] not in together or together[r["id"]] != alone.get(r["id"])]


def check_alone(model, name, judge, steps):
    """Random requests that join and leave, and each of them alone. Answers are shorter than asked for: some more requests."""
    requests = random_requests(model, steps // 2)
    together, report = model.generate(requests, "--batch-tokens", 8, "--pages", 60)
    if report["steps"] < steps:
        requests = random_requests(model, int(len(requests) * steps / report["steps"] * 1.05) + 1)
        together, report = model.generate(requests, "--batch-tokens", 8, "--pages", 60)
    alone, one = model.generate(requests, "--batch-tokens", 8, "--batch-requests", 1, "--pages", 60)
    problems = differences(requests, together, alone)
    if report["steps"] < steps:
        problems.append(f"only {report['steps']} of {steps} steps")
    if steps >= 100 and (not report["dropped"] or not any(a["finish"] == "eos" for a in together.values())):
        problems.append("no text ended early")
    judge(f"{name}, {len(requests)} requests together and alone", problems, steps_note(report) + " alone:" + steps_note(one))
    if steps >= 2000:
        judge(f"{name}, memory", leaks(report),
              f" (GPU {report['memory']['device'] >> 20} MiB, host {report['memory']['resident'] >> 20} MiB)")


def check_same_bits(model, name, judge, count, answer):
    """Batches of up to 60 tokens, compiled to give the bits of every other batch, with prompts cut where nobody else has a say."""
    requests = random_requests(model, count, (1, 2, 9, 25, 40), answer)
    options = ("--batch-tokens", 60, "--prompt-chunk", 24, "--pages", 300)
    together, report = model.generate(requests, *options, artifact=model.same_bits)
    alone, one = model.generate(requests, *options, "--batch-requests", 1, artifact=model.same_bits)
    problems = differences(requests, together, alone)
    if report["steps"] * 3 > one["steps"]:
        problems.append(f"{report['steps']} steps together and {one['steps']} alone: batches were small")
    judge(f"{name}, same bits, {count} requests together and alone", problems, steps_note(report) + " alone:" + steps_note(one))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=pathlib.Path, required=True, help="where the steps are")
    parser.add_argument("--evt", type=pathlib.Path, default=ROOT / "build" / "bin" / "evt", help="the tool")
    parser.add_argument("--steps", type=int, default=10000, help="of requests that join and leave")
    parser.add_argument("--few", action="store_true", help="each kind of kernel once: for a simulated GPU")
    parser.add_argument("families", nargs="*", default=["llama", "qwen3"], metavar="FAMILY")
    options = parser.parse_args()
    random.seed(7)
    judge = Judge()
    with tempfile.TemporaryDirectory() as scratch:
        for family in options.families:
            model = Model(family, options.evt, options.artifacts, pathlib.Path(scratch))
            few = len(model.golden)
            cases = [("--batch-tokens", 8), ("--batch-tokens", 20), (), ("--batch-tokens", 3, "--pages", 8, "--ahead", 1)]
            for case in cases[1:3] if options.few else cases:
                check_golden(model, family, judge, few, *case)
            check_alone(model, family, judge, options.steps)
            check_same_bits(model, family, judge, 20 if options.few else 300, 3 if options.few else 20)
            if options.few:
                continue
            report = check_golden(model, family, judge, max(few, options.steps // 2), "--batch-tokens", 64, "--pages", 100)
            if report["steps"] > 1000:
                judge(f"{family}, memory of large steps", leaks(report))
    print(f"{judge.passed} passed, {judge.failed} failed")
    return 1 if judge.failed else 0


if __name__ == "__main__":
    sys.exit(main())
