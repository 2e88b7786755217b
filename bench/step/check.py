"""Compares a step's logits with those of transformers, and its bits among each other."""

import itertools
import json
import random

import torch

from reference import Expected
from steps import Steps, pages_for

OWN = 1, 65, 700, 3000  # positions of the requests whose bits are compared


def way_of(program, tokens):
    """Of a launch of so many: the numbers of tokens whose launches all give a request the same bits, by the manifest."""
    symbols = json.loads((program.directory / "manifest.json").read_text())["symbols"]
    borders = next(s.get("borders", []) for s in symbols if s["name"] == "tokens")
    first = max((b + 1 for b in borders if b < tokens), default=1)
    return f"{first} to {min(b for b in borders if b >= tokens)}" if tokens <= max(borders, default=0) else f"{first} and more"


def random_tokens(model, lengths, seed):
    generator = torch.Generator().manual_seed(seed + 2)
    return [torch.randint(0, model.vocabulary, (n,), generator=generator).tolist() for n in lengths]


class Judge:
    """Counts what is wrong: an error of more than 1.5 times the largest of transformers in bf16, another token than float32
    gives where that is decided, other bits than before."""

    def __init__(self, expected):
        self.expected, self.bits, self.failures = expected, {}, 0

    def judge(self, name, found, r, first, key):
        """`found`: logits of request r at the expected positions from `first` on. All of one `key` must have the same bits. Gives
        the errors, and where the token is the expected one."""
        e, places = self.expected, slice(first, first + len(found))
        error = (found - e.logits[r][places]).abs().amax(-1)
        equal = found.argmax(-1) == e.tokens[r][places]
        wrong = e.decided[r][places] & ~equal
        same = self.bits.setdefault((r, first, key), found)
        other = (same.view(torch.int32) != found.view(torch.int32)).any(-1)
        bad = ~(error <= 1.5 * e.largest) | wrong | other
        if bad.any():
            self.failures += 1
            i = bad.int().argmax().item()
            print(f"  FAILED {name}: request of {e.lengths[r]}, position {first + i}: error {error[i].item():.4f} (bf16 "
                  f"{e.errors[r][first + i].item():.4f}){', another token' if wrong[i] else ''}"
                  f"{', other bits' if other[i] else ''}", flush=True)
        return error, equal


def check(model, program, lengths, last, schedules, seed):
    """Number of failures. Prompts in chunks of many tokens and then token by token, alone and in batches, and in chunks beside
    new tokens of other requests."""
    prompts = random_tokens(model, lengths, seed)
    judge, mistakes = Judge(Expected(model, prompts, [last] * len(prompts))), 0
    for schedule in schedules:
        steps, worst = Steps(model, program, 4 + 2 * sum(pages_for(n) for n in lengths)), {}

        def judged(name, found, row, r, i, key, kind):
            error, _ = judge.judge(f"{schedule}, {name}", found[row:row + 1], r, i, key)
            worst[kind] = max(worst.get(kind, 0), error.item())

        pages = [steps.take(n) for n in lengths]
        starts = [max(len(p) - last, 0) for p in prompts]
        # Everything before the last positions in one step of many tokens, or several: the last request in chunks.
        batch = [(p[:s], 0, g) for p, s, g in zip(prompts[:-1], starts, pages) if s]
        steps.run(batch, schedule)
        for at in range(0, starts[-1], 100):
            steps.run([(prompts[-1][at:min(at + 100, starts[-1])], at, pages[-1])], schedule)
        for i in range(last):
            live = [r for r, p in enumerate(prompts) if starts[r] + i < len(p)]
            token = lambda r: ([prompts[r][starts[r] + i]], starts[r] + i, pages[r])
            for group in (live[:8], live[8:], live):  # the second time, the same keys are written again
                if not group:
                    continue
                found = steps.run([token(r) for r in group], schedule)
                way = way_of(program, len(group))
                for row, r in enumerate(group):
                    judged(f"{len(group)} at once", found, row, r, i, way, way)
            for r in live[:3]:
                way = way_of(program, 1)
                judged("alone", steps.run([token(r)], schedule), 0, r, i, way, way)
        # Chunks of the long prompts beside new tokens of the others: runs of any length from anywhere in a page.
        long = [r for r, p in enumerate(prompts) if len(p) >= 300]
        others = [r for r, p in enumerate(prompts) if r not in long and len(p) > last]
        sizes, done, i = [15, 150, 16, 7, 300, 1, 64, 33, 700], {r: 0 for r in long}, 0
        fresh = {r: steps.take(lengths[r]) for r in long}
        while any(done[r] < len(prompts[r]) for r in long):
            batch, places = [], []
            for r in long:
                # Up to the first position that is compared, then one by one.
                take = min(sizes[(i + r) % len(sizes)], max(starts[r] + 1 - done[r], 1), len(prompts[r]) - done[r])
                if take:
                    batch.append((prompts[r][done[r]:done[r] + take], done[r], fresh[r]))
                    done[r] += take
                    places.append((r, done[r] - 1 - starts[r]))
            for n, r in enumerate(others):
                at = starts[r] + (i + n) % last
                batch.insert(n % (len(batch) + 1), ([prompts[r][at]], at, pages[r]))
                places.insert(n % (len(places) + 1), (r, at - starts[r]))
            found = steps.run(batch, schedule)
            for row, (r, at) in enumerate(places):
                if at >= 0:
                    judged(f"chunks and new tokens, step {i}", found, row, r, at, f"mixed {i}", "mixed")
            i += 1
        print(f"  {schedule}: largest error {', '.join(f'{e:.4f} ({w} tokens)' for w, e in worst.items())}, transformers in bf16 "
              f"{judge.expected.largest:.4f}", flush=True)
        mistakes += steps.failures
    return judge.failures + mistakes


def bits(model, program, sizes, schedules, seed):
    """Number of failures. New tokens of requests of OWN positions, alone and in batches of so many of random others."""
    source, failures = random.Random(seed), 0
    lengths = [*OWN, *(source.randint(1, 200) for _ in range(max(sizes) - 1))]
    sequences = random_tokens(model, lengths, seed)
    for schedule in schedules:
        steps = Steps(model, program, sum(pages_for(n) for n in lengths))
        pages = [steps.take(n) for n in lengths]
        steps.take_prompts([(tokens[:-1], 0, where) for tokens, where in zip(sequences, pages)], schedule)
        token = lambda r: (sequences[r][-1:], lengths[r] - 1, pages[r])

        def found(r, size):
            batch = source.sample(range(len(OWN), len(lengths)), size - 1)
            batch.insert(size // 2, r)
            return steps.run([token(b) for b in batch], schedule)[size // 2].view(torch.int32)

        ways = {}
        for size in sorted({1, *sizes}):
            ways.setdefault(way_of(program, size), []).append(size)
        named = lambda sizes: ", ".join(str(size) for size in sizes)
        for (r, length), (way, group) in itertools.product(enumerate(OWN), ways.items()):
            first = found(r, group[0])
            wrong = [size for size in group[1:] if not torch.equal(found(r, size), first)]
            failures += len(wrong)
            print(f"  {'FAILED ' if wrong else ''}{schedule}, request of {length}, {way} tokens: T = {named(group)} have the same bits"
                  f"{f', but for {named(wrong)}' if wrong else ''}", flush=True)
        failures += steps.failures
    return failures
