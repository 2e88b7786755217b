"""A model's step program, with a cache and the tables that a launch takes."""

import functools

import torch

SLOTS = 64     # positions of a page: --page-size of `evt compile`
TOKENS = 2048  # the most tokens of a launch, likewise
PARTS, POSITIONS = 32, 64  # the most parts of a request's attention, the fewest positions of one: models/config/Splits.h

# How tokens are chosen: temperature, top_p, min_p, repetition, presence and frequency penalty, top_k, log-probabilities.
SAMPLING = {"greedy": (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 0), "logprobs": (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 1),
            "temperature": (0.8, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 0), "top_k": (0.8, 1.0, 0.0, 1.0, 0.0, 0.0, 50, 0),
            "top_p": (0.8, 0.9, 0.0, 1.0, 0.0, 0.0, 0, 0), "both": (0.8, 0.9, 0.0, 1.0, 0.0, 0.0, 50, 0),
            "min_p": (0.8, 1.0, 0.05, 1.0, 0.0, 0.0, 0, 0),
            "penalties": (0.0, 1.0, 0.0, 1.1, 0.5, 0.5, 0, 0), "all": (0.8, 0.9, 0.05, 1.1, 0.5, 0.5, 50, 1)}


def set_page_size(slots):
    global SLOTS
    SLOTS = slots


def split(positions, pairs):
    """How many tasks attend to a request for a token and a head, and how many parts each has."""
    parts = min(PARTS, -(-positions // POSITIONS))
    tasks = max(1, min(parts, torch.cuda.get_device_properties(0).multi_processor_count // pairs))
    share = -(-parts // tasks)
    return {"splits": -(-parts // share), "share": share}


def pages_for(positions):
    return -(-positions // SLOTS)


def cache_bytes(model, pages):
    squares = 4 * (model.head // 16) if model.normed else 0
    return pages * SLOTS * (model.layers * model.kv * (2 * 2 * model.head + squares) + 4)


@functools.cache
def stream():
    """One for all launches: the runtime has a workspace for each stream that it has seen."""
    return torch.cuda.Stream()


class Steps:
    """The step program with a cache of pages, dealt in random order."""

    def __init__(self, model, program, pages):
        self.model, self.program, self.failures = model, program, 0
        shape = (model.layers, model.kv, pages * SLOTS)
        self.cache = {"keys": torch.full((*shape, model.head), float("nan"), dtype=torch.bfloat16, device="cuda"),
                      "values": torch.full((*shape, model.head), float("nan"), dtype=torch.bfloat16, device="cuda")}
        if model.normed:
            self.cache["key_squares"] = torch.full((*shape, model.head // 16), float("nan"), device="cuda")
        self.cache["history"] = torch.full((pages * SLOTS,), -1, dtype=torch.int32, device="cuda")
        self.free = torch.randperm(pages).tolist()

    def take(self, positions):
        """Pages for so many positions of a request."""
        return [self.free.pop() for _ in range(pages_for(positions))]

    def copy(self, pages, positions):
        """Other pages, for so many positions, that begin as these do."""
        others = self.take(positions)
        for name, tensor in self.cache.items():
            paged = (tensor[None] if name == "history" else tensor.flatten(0, 1)).unflatten(1, (-1, SLOTS))
            paged[:, others[:len(pages)]] = paged[:, pages]
        return others

    def fill(self):
        """Random numbers everywhere, the same in every layer: a large cache takes long to fill with others."""
        for name, tensor in self.cache.items():
            if name == "history":
                tensor.random_(self.model.vocabulary)
                continue
            first, others = tensor[0], tensor[1:]
            first.uniform_(0.5, 1.5) if name == "key_squares" else first.normal_()
            others.copy_(first.expand_as(others))

    def arguments(self, batch, how="greedy"):
        """`batch`: (tokens, position of the first, pages) of each request."""
        tokens, positions, requests, slots, last = [], [], [], [], []
        for r, (new, position, pages) in enumerate(batch):
            places = range(position, position + len(new))
            tokens += new
            positions += places
            requests += [r] * len(new)
            slots += [pages[p // SLOTS] * SLOTS + p % SLOTS for p in places]
            last.append(len(tokens) - 1)
        outputs = [-1] * len(tokens)
        for r, token in enumerate(last):
            outputs[token] = r
        columns = max(len(pages) for _, _, pages in batch)
        table = [pages + [-1] * (columns - len(pages)) for _, _, pages in batch]
        as_ints = lambda v: torch.tensor(v, dtype=torch.int32, device="cuda")
        values = {"tokens": as_ints(tokens), "positions": as_ints(positions), "requests": as_ints(requests),
                  "slots": as_ints(slots), "pages": as_ints(table), "outputs": as_ints(outputs), "last": as_ints(last),
                  "page_size": SLOTS, **split(max(positions) + 1, len(tokens) * self.model.kv),
                  "logits": torch.full((len(batch), self.model.vocabulary), float("nan"), device="cuda"),
                  "next": torch.full((len(batch),), -1, dtype=torch.int32, device="cuda"),
                  "logprobs": torch.zeros(len(batch), device="cuda"), **self.sampling(positions, last, how)}
        return {**values, **self.cache, **self.model.weights}

    @staticmethod
    def sampling(positions, last, how):
        """The tables that say how tokens are chosen (docs/ops/evt.md, evt.draw)."""
        how = SAMPLING[how]
        rates = torch.tensor([how[:6] + (0, 0)], device="cuda").repeat(len(last), 1).contiguous()
        choices = [[how[6], 3, 0, positions[row] + 1, positions[row] // 2, r, how[7], 0] for r, row in enumerate(last)]
        return {"rates": rates, "choices": torch.tensor(choices, dtype=torch.int32, device="cuda")}

    def run(self, batch, schedule="static"):
        """The logits of each request's last token."""
        return self.run_all([batch], schedule)[0]

    def run_all(self, batches, schedule="static"):
        """The logits of each launch. They are queued behind each other, and waited for at the end."""
        launches = [self.arguments(batch) for batch in batches]
        torch.cuda.synchronize()
        for values in launches:
            self.program.enqueue(values, stream().cuda_stream, schedule)
        torch.cuda.synchronize()
        for values in launches:
            if not torch.equal(values["next"].long(), values["logits"].argmax(-1)):
                print("  FAILED: next is not the largest logit")
                self.failures += 1
        return [values["logits"] for values in launches]

    def take_prompts(self, requests, schedule="static"):
        """Prompts, as `arguments` takes requests, in as few launches as have room for them."""
        batch, room = [], TOKENS
        for tokens, position, pages in requests:
            while tokens:
                new, tokens = tokens[:room], tokens[room:]
                batch.append((new, position, pages))
                position, room = position + len(new), room - len(new)
                if not room:
                    self.run(batch, schedule)
                    batch, room = [], TOKENS
        if batch:
            self.run(batch, schedule)
