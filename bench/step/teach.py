"""Logits of given tokens, step by step: at every position behind short prompts, and at the end of one of many launches."""

import torch

from check import Judge, random_tokens, way_of
from reference import Expected
from steps import TOKENS, Steps, pages_for

PROMPTS = 1, 60, 700  # tokens, of `teach`
COPIES = 4            # of three requests, so that they are many tokens
FOLLOWED = 4          # positions behind the prompt of `long`
SHORT = 60            # positions of one of the requests beside it before it begins; the other has none


class Tally:
    """What a line says about the positions of some launches."""

    def __init__(self, judge):
        self.judge, self.largest = judge, 0.0
        self.all = self.equal = self.decided = self.decided_equal = 0

    def add(self, name, found, r, first, key):
        error, equal = self.judge.judge(name, found, r, first, key)
        decided = self.judge.expected.decided[r][first:first + len(found)]
        self.largest = max(self.largest, error.max().item())
        self.all += len(found)
        self.equal += equal.sum().item()
        self.decided += decided.sum().item()
        self.decided_equal += (decided & equal).sum().item()

    def say(self, what):
        print(f"  {what}: largest error {self.largest:.4f}, transformers in bf16 {self.judge.expected.largest:.4f}, argmax equal "
              f"at {self.decided_equal} of {self.decided} positions that are decided ({self.equal} of {self.all} in all)",
              flush=True)


def follow(steps, judge, what, requests, schedule, first):
    """Launches of one token of each request. `requests`: (number, its tokens, position of the first, pages); logits are compared
    from the `first` expected position of each on."""
    count = len(requests[0][1])
    batches = [[([tokens[i]], position + i, pages) for _, tokens, position, pages in requests] for i in range(count)]
    found, tally = torch.stack(steps.run_all(batches, schedule)), Tally(judge)
    what = f"{what}, T = {len(requests)}{'' if schedule == 'static' else f', {schedule}'}"
    for row, (r, *_) in enumerate(requests):
        tally.add(what, found[:, row], r, first[r], way_of(steps.program, len(requests)))
    tally.say(what)


def teach(model, program, count, schedules, seed):
    """Number of failures. `count` given tokens behind each prompt: the requests at once, the first alone, and four of each."""
    sequences = random_tokens(model, [n + count for n in PROMPTS], seed)
    judge, mistakes, first = Judge(Expected(model, sequences, [count] * len(PROMPTS))), 0, [0] * len(PROMPTS)
    needed = sum(pages_for(n) + (COPIES + 2) * pages_for(n + count) for n in PROMPTS)
    for schedule in schedules:
        steps = Steps(model, program, needed)
        prompts = [steps.take(n) for n in PROMPTS]
        steps.take_prompts([(tokens[:n], 0, pages) for tokens, n, pages in zip(sequences, PROMPTS, prompts)], schedule)

        def request(r):
            return r, sequences[r][PROMPTS[r]:], PROMPTS[r], steps.copy(prompts[r], len(sequences[r]))

        for numbers in ([0, 1, 2], [0], [0, 1, 2] * COPIES):
            follow(steps, judge, f"teacher-forced, {count} steps", [request(r) for r in numbers], schedule, first)
        mistakes += steps.failures
    return judge.failures + mistakes


def long(model, program, total, schedules, seed):
    """Number of failures. A request of `total` positions, of which all but the last few are a prompt in chunks, beside two that
    decode meanwhile; then all three step by step, and four of each."""
    chunk, prompt = TOKENS - 2, total - FOLLOWED
    launches = -(-prompt // chunk)
    starts = [prompt, launches, SHORT + launches]  # where the last positions of each begin
    sequences = random_tokens(model, [n + FOLLOWED for n in starts], seed)
    # Of the long one also the prompt's last position, of the others all that are decoded.
    compared = [FOLLOWED + 1, FOLLOWED + launches, FOLLOWED + launches]
    judge, mistakes = Judge(Expected(model, sequences, compared)), 0
    for schedule in schedules:
        steps = Steps(model, program, (COPIES + 1) * sum(pages_for(len(tokens)) for tokens in sequences))
        pages = [steps.take(len(tokens)) for tokens in sequences]
        steps.take_prompts([(sequences[2][:SHORT], 0, pages[2])], schedule)
        found = torch.stack(steps.run_all(
            [[(sequences[0][i * chunk:min((i + 1) * chunk, prompt)], i * chunk, pages[0]), ([sequences[1][i]], i, pages[1]),
              ([sequences[2][SHORT + i]], SHORT + i, pages[2])] for i in range(launches)], schedule))
        what, tally = f"{total} positions, {launches} chunks beside 2 requests", Tally(judge)
        tally.add(f"{what}, {schedule}", found[-1:, 0], 0, 0, "chunks")
        for r in (1, 2):
            tally.add(f"{what}, {schedule}", found[:, r], r, 0, "chunks")
        tally.say(what + ("" if schedule == "static" else f", {schedule}"))

        def request(r, where):
            return r, sequences[r][starts[r]:], starts[r], where

        copies = [request(r, steps.copy(pages[r], len(sequences[r]))) for _ in range(COPIES) for r in range(3)]
        for requests in ([request(r, pages[r]) for r in range(3)], copies):
            follow(steps, judge, f"{total} positions, {FOLLOWED} steps", requests, schedule, [1, launches, launches])
        mistakes += steps.failures
    return judge.failures + mistakes
