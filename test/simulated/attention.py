"""Attention of new tokens on the simulated GPU: models with heads that the tensor cores multiply, and requests of few parts and many.

How a launch deals out parts of positions to tasks hangs on how many workers there are, and with that who reads keys and values:
tasks of four short parts and more are fed by loaders, as long requests always are. A request's answer must have the same bits
with few workers and with many, and be what a decoder in NumPy says of it. Broken headers must be noticed.
"""

import collections
import json
import pathlib
import random
import sys

import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "models"))

import drawn
import reference

FEW, MANY = 3, 24  # workers that a launch deals out for
VOCABULARY, POSITIONS = 320, 4096

Case = collections.namedtuple("Case", "name family head heads page lengths")
CASES = [Case("short parts", "llama", 64, (2, 4), 64, (200, 257, 1, 300)),
         Case("short parts of normed heads, 4 pages a stage", "qwen3", 64, (1, 8), 16, (255, 512, 449, 193)),
         Case("long parts", "qwen3", 128, (1, 2), 64, (2053, 70))]
BROKEN = [(CASES[0], "warps do not let others' parts pass", "cuda/tile/attend_short.h",
           "    pass_until(2 * part * (int)ceildiv(cache.size, Positions));\n", ""),
          (CASES[1], "positions that the step writes are not read again", "cuda/tile/attend_short.h",
           "const bool is_new = own + i / pieces >= settled;", "const bool is_new = false;"),
          (CASES[2], "values are taken for keys", "cuda/tile/attend_long.h", "ring.address_of(pair) + offset", "ring.address_of(pair + 1) + offset")]


def config_of(case):
    groups, each = case.heads
    return {"architectures": [drawn.FAMILIES[case.family]], "model_type": case.family, "num_attention_heads": groups * each,
            "num_key_value_heads": groups, "head_dim": case.head, "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 1,
            "max_position_embeddings": POSITIONS, "vocab_size": VOCABULARY, "rms_norm_eps": 1e-6, "rope_theta": 10000.0,
            "rope_scaling": None, "tie_word_embeddings": False, "initializer_range": 0.1}


def answers_of(simulator, case, folder, workers, flags):
    """The requests, and their answers with each number of workers. Throws RuntimeError where they end otherwise, ValueError where it
    does not come to that."""
    folder.mkdir(exist_ok=True)
    r = random.Random(case.name)
    requests = [{"id": number, "tokens": [r.randrange(VOCABULARY) for _ in range(length)], "max_tokens": 4, "ignore_eos": True,
                 "logprobs": True} for number, length in enumerate(case.lengths)]
    (folder / "config.json").write_text(json.dumps(config_of(case)))
    (folder / "in.jsonl").write_text("".join(json.dumps(request) + "\n" for request in requests))

    for code, text in (simulator.run([simulator.evt, "weights", folder, "--random", 3, "--force"]),
                       simulator.compile(folder, folder / "step.evt", "--page-size", case.page, "--only-schedule", "static", flags=flags)):
        if code:
            raise ValueError(text.rstrip())
    answers = []
    for count in workers:
        code, text = simulator.run([simulator.evt, "generate", folder, "--artifact", folder / "step.evt", "--in", folder / "in.jsonl",
                                    "--out", folder / "out.jsonl", "--workers", count], timeout=300, EVT_SIMULATED_SMS=str(count))
        if code:
            raise RuntimeError(text.rstrip())
        answers.append({int(answer["id"]): answer for answer in map(json.loads, (folder / "out.jsonl").read_text().splitlines())})
    return requests, answers


def problem_of(simulator, case, folder, workers=(FEW, MANY), flags=""):
    """What is wrong, or None. Throws what answers_of does."""
    requests, answers = answers_of(simulator, case, folder, workers, flags)
    judge = drawn.Judge(reference.Decoder(folder))
    for request in requests:
        found, *others = [its.get(request["id"]) for its in answers]
        if any(found != other for other in others):
            return f"a prompt of {len(request['tokens'])} tokens gets {found} and {others} with {workers} workers"
        judge.add(request, found, f"a prompt of {len(request['tokens'])}")
    return judge.problem()


def problem_of_mutant(simulator, broken, folder):
    """Why broken headers were not noticed, or None."""
    case, name, *change = broken
    mutants.make(mutants.Mutant(name, *change, case.name), folder)
    try:
        return None if problem_of(simulator, case, folder / "model", (FEW,), f"-I{folder}") else "not noticed"
    except RuntimeError:  # ended by the simulated GPU: the case runs with the true headers
        return None


def checks(simulator):
    """(name, what is wrong, in a folder)."""

    def of_case(case):
        return f"attention, {case.name}", lambda folder: problem_of(simulator, case, folder)

    def of_mutant(broken):
        return f"mutant '{broken[1]}', {broken[0].name}", lambda folder: problem_of_mutant(simulator, broken, folder)

    return [*map(of_case, CASES), *map(of_mutant, BROKEN)]
