#!/usr/bin/env python3
"""Checks and times a model's step on a GPU: one artifact for every number of tokens, requests and positions.

    evt compile --target cuda bench/step/models/qwen3-8b -o qwen3-8b.evt
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --check
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --batch 1,8 --context 1024 --peer
    run.py --artifact qwen3-8b.evt --model bench/step/models/qwen3-8b --prefill 2048 --mixed 512,16,1024 --peer

Weights are random, N(0, 0.02), and resident on the GPU in the artifact's layout. --check compares logits with transformers on the
same weights: prompts are taken in chunks of many tokens and then token by token, alone and in batches, and in chunks beside new
tokens of other requests, under every schedule.
The largest error against float32 must be at most 1.5 times that of transformers in bf16, the bits must be the same under all
schedules and in any batch of up to 8 tokens. A time is that of one launch, the median of --repeats, queued one behind
another as decoding does. The bound is the bytes of weights and of the cache's keys and values over --limit TB/s. --sampling says
how tokens are chosen. --peer times PyTorch's own kernels in a CUDA graph. --prefill times a step of one prompt, of which the last
token's logits are wanted; --mixed a step with a chunk of a prompt and a batch of new tokens, and both by themselves. Needs PyTorch
and, for --check, transformers.
"""

import argparse
import json
import math
import pathlib
import statistics
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "run"))

import launcher

WARM_UP = 10  # launches
SLOTS = 64    # positions of a page, as `evt compile` has it by default
PARTS, POSITIONS = 32, 64  # the most parts of a request's attention, the fewest positions of one: models/config/Splits.h


def split(positions, pairs):
    """How many tasks attend to a request for a token and a head, and how many parts each has."""
    parts = min(PARTS, -(-positions // POSITIONS))
    tasks = max(1, min(parts, torch.cuda.get_device_properties(0).multi_processor_count // pairs))
    share = -(-parts // tasks)
    return {"splits": -(-parts // share), "share": share}

# How tokens are chosen: temperature, top_p, min_p, repetition, presence and frequency penalty, top_k, log-probabilities.
SAMPLING = {"greedy": (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 0), "logprobs": (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 1),
            "temperature": (0.8, 1.0, 0.0, 1.0, 0.0, 0.0, 0, 0), "top_k": (0.8, 1.0, 0.0, 1.0, 0.0, 0.0, 50, 0),
            "top_p": (0.8, 0.9, 0.0, 1.0, 0.0, 0.0, 0, 0), "both": (0.8, 0.9, 0.0, 1.0, 0.0, 0.0, 50, 0),
            "min_p": (0.8, 1.0, 0.05, 1.0, 0.0, 0.0, 0, 0),
            "penalties": (0.0, 1.0, 0.0, 1.1, 0.5, 0.5, 0, 0), "all": (0.8, 0.9, 0.05, 1.1, 0.5, 0.5, 50, 1)}


def swizzled(tiles):
    """Of tiles of 8 rows of 4 pieces: piece p of row r and piece p ^ (r / 2 % 4) change places."""
    row = torch.arange(8, device=tiles.device)[:, None]
    return tiles[..., row, torch.arange(4, device=tiles.device)[None, :] ^ (row // 2 % 4), :]


def pack(weights):
    """A matrix as tiles of 8 x 32, each a run of its own."""
    rows, columns = weights.shape
    tiles = weights.view(rows // 8, 8, columns // 32, 4, 8).transpose(1, 2)
    return swizzled(tiles).reshape(weights.shape)


def unpack(weights):
    rows, columns = weights.shape
    tiles = swizzled(weights.view(rows // 8, columns // 32, 8, 4, 8))
    return tiles.transpose(1, 2).reshape(weights.shape)


class Model:
    def __init__(self, folder, layers, program, seed=1):
        self.config = json.loads((folder / "config.json").read_text())
        c = self.config
        if layers:
            c["num_hidden_layers"] = layers
        self.layers, self.d, self.ff = c["num_hidden_layers"], c["hidden_size"], c["intermediate_size"]
        self.heads, self.kv = c["num_attention_heads"], c["num_key_value_heads"]
        self.head, self.vocabulary = c.get("head_dim") or self.d // self.heads, c["vocab_size"]
        self.normed = c["architectures"][0].startswith("Qwen3")
        torch.manual_seed(seed)
        l, d, ff, q = self.layers, self.d, self.ff, self.heads * self.head

        def matrix(*shape):
            w = torch.empty(shape, dtype=torch.bfloat16, device="cuda")
            for part in w if len(shape) == 3 else [w]:
                part.normal_(0, 0.02)
            return w

        def norms(*shape):
            return (1 + 0.1 * torch.randn(shape, device="cuda")).bfloat16().float()

        w = {"embedding": matrix(self.vocabulary, d), "qkv": matrix(l, q + 2 * self.kv * self.head, d), "o": matrix(l, d, q),
             "gate": matrix(l, ff, d), "up": matrix(l, ff, d), "down": matrix(l, d, ff),
             "attn_norm": norms(l + 1, d), "mlp_norm": norms(l, d)}
        if self.normed:
            w |= {"q_norm": norms(l, self.head), "k_norm": norms(l, self.head)}
        w["head"] = w["embedding"].clone() if c["tie_word_embeddings"] else matrix(self.vocabulary, d)
        w["frequencies"] = self.frequencies()
        self.packed = [a.name for a in program.arguments if a.packed]
        for name in self.packed:  # a layer at a time: there may be no room for a second copy
            for part in w[name] if w[name].dim() == 3 else [w[name]]:
                part.copy_(pack(part))
        self.weights = w
        self.weight_bytes = 2 * sum(w[n].numel() for n in ("qkv", "o", "gate", "up", "down", "head"))

    def frequencies(self):
        c, half = self.config, self.head // 2
        f = 1.0 / c["rope_theta"] ** (torch.arange(half, dtype=torch.float64) / half)
        scaling = c.get("rope_scaling")
        if scaling:
            wave, old = 2 * math.pi / f, scaling["original_max_position_embeddings"]
            low, high, factor = scaling["low_freq_factor"], scaling["high_freq_factor"], scaling["factor"]
            smooth = ((old / wave - low) / (high - low)).clamp(0, 1)
            f = f / factor * (1 - smooth) + f * smooth
        return f.float().cuda()

    def plain(self, name, layer=None):
        w = self.weights[name] if layer is None else self.weights[name][layer]
        return unpack(w) if name in self.packed else w

    def transformers(self, dtype):
        import transformers
        values = {k: v for k, v in self.config.items() if k != "architectures"}
        kind = self.config["architectures"][0]
        config = getattr(transformers, kind.replace("ForCausalLM", "Config"))(**values)
        config._attn_implementation = "eager"
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        with torch.device("cuda"), transformers.initialization.no_init_weights() if hasattr(transformers, "initialization") \
                else torch.no_grad():
            model = getattr(transformers, kind)(config)
        torch.set_default_dtype(before)
        model = model.eval()
        q, kv = self.heads * self.head, self.kv * self.head
        with torch.no_grad():
            model.model.embed_tokens.weight.copy_(self.plain("embedding"))
            model.lm_head.weight.copy_(self.plain("head"))
            model.model.norm.weight.copy_(self.weights["attn_norm"][-1])
            for l, layer in enumerate(model.model.layers):
                qkv, a, m = self.plain("qkv", l), layer.self_attn, layer.mlp
                for to, rows in ((a.q_proj, qkv[:q]), (a.k_proj, qkv[q:q + kv]), (a.v_proj, qkv[q + kv:]),
                                 (a.o_proj, self.plain("o", l)), (m.gate_proj, self.plain("gate", l)),
                                 (m.up_proj, self.plain("up", l)), (m.down_proj, self.plain("down", l)),
                                 (layer.input_layernorm, self.weights["attn_norm"][l]),
                                 (layer.post_attention_layernorm, self.weights["mlp_norm"][l])):
                    to.weight.copy_(rows)
                if self.normed:
                    a.q_norm.weight.copy_(self.weights["q_norm"][l])
                    a.k_norm.weight.copy_(self.weights["k_norm"][l])
        return model


class Steps:
    """The step program with a cache of pages, dealt in random order."""

    def __init__(self, model, program, pages):
        self.model, self.program, self.pages = model, program, pages
        shape = (model.layers, pages * SLOTS, model.kv)
        self.cache = {"keys": torch.full((*shape, model.head), float("nan"), dtype=torch.bfloat16, device="cuda"),
                      "values": torch.full((*shape, model.head), float("nan"), dtype=torch.bfloat16, device="cuda")}
        if model.normed:
            self.cache["key_squares"] = torch.full((*shape, model.head // 16), float("nan"), device="cuda")
        self.cache["history"] = torch.full((pages * SLOTS,), -1, dtype=torch.int32, device="cuda")
        self.how = "greedy"
        self.free = torch.randperm(pages).tolist()
        self.stream = torch.cuda.Stream()

    def arguments(self, batch):
        """`batch`: (tokens, position of the first, pages) of each request."""
        tokens, positions, requests, slots, last = [], [], [], [], []
        for r, (new, position, pages) in enumerate(batch):
            for i, token in enumerate(new):
                p = position + i
                tokens.append(token)
                positions.append(p)
                requests.append(r)
                slots.append(pages[p // SLOTS] * SLOTS + p % SLOTS)
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
                  "logprobs": torch.zeros(len(batch), device="cuda"), **self.sampling(positions, last)}
        return {**values, **self.cache, **self.model.weights}

    def sampling(self, positions, last):
        """The tables that say how tokens are chosen (docs/ops/evt.md, evt.draw)."""
        how = SAMPLING[self.how]
        rates = torch.tensor([how[:6] + (0, 0)], device="cuda").repeat(len(last), 1).contiguous()
        choices = [[how[6], 3, 0, positions[row] + 1, positions[row] // 2, r, how[7], 0] for r, row in enumerate(last)]
        return {"rates": rates, "choices": torch.tensor(choices, dtype=torch.int32, device="cuda")}

    def run(self, batch, schedule="static"):
        values = self.arguments(batch)
        torch.cuda.synchronize()
        self.program.enqueue(values, self.stream.cuda_stream, schedule)
        self.stream.synchronize()
        torch.cuda.synchronize()
        logits, chosen = values["logits"], values["next"]
        if not torch.equal(chosen.long(), logits.argmax(-1)):
            print("  FAILED: next is not the largest logit")
            Steps.failures += 1
        return logits

    failures = 0


def check(model, program, lengths, last, schedules):
    """Number of failures."""
    generator = torch.Generator().manual_seed(3)
    prompts = [torch.randint(0, model.vocabulary, (n,), generator=generator).tolist() for n in lengths]
    expected, errors = [], []
    with torch.no_grad():
        exact = model.transformers(torch.float32)
        for prompt in prompts:
            expected.append(exact(torch.tensor([prompt], device="cuda")).logits[0, -last:].float().clone())
        del exact
        half = model.transformers(torch.bfloat16)
        for prompt, want in zip(prompts, expected):
            errors.append((half(torch.tensor([prompt], device="cuda")).logits[0, -last:].float() - want).abs().amax(-1))
        del half
    torch.cuda.empty_cache()
    theirs = max(e.max().item() for e in errors)
    failures, bits = 0, {}

    def judge(name, found, r, i, key=None):
        """`found` are logits of request r, i positions after the first that is compared."""
        nonlocal failures
        want = expected[r][i]
        error = (found - want).abs().max().item()
        top = want.topk(2).values
        wrong = (top[0] - top[1]).item() > 2 * errors[r][i].item() and found.argmax() != want.argmax()
        other = key is not None and not torch.equal(bits.setdefault((r, i, key), found.clone()), found)
        if not error <= 1.5 * theirs or wrong or other:
            failures += 1
            print(f"  FAILED {name}: request of {lengths[r]}, position {i}: error {error:.4f} (bf16 {errors[r][i].item():.4f})"
                  f"{', another token' if wrong else ''}{', other bits' if other else ''}", flush=True)
        return error

    for schedule in schedules:
        steps, worst = Steps(model, program, 4 + 2 * sum(-(-n // SLOTS) for n in lengths)), {}
        pages = [[steps.free.pop() for _ in range(-(-n // SLOTS))] for n in lengths]
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
                way = "few" if len(group) <= 8 else "many"
                for row, r in enumerate(group):
                    error = judge(f"{schedule}, {len(group)} at once", found[row], r, i, way)
                    worst[way] = max(worst.get(way, 0), error)
            for r in live[:3]:
                judge(f"{schedule}, alone", steps.run([token(r)], schedule)[0], r, i, "few")
        # Chunks of the long prompts beside new tokens of the others: runs of any length from anywhere in a page.
        long = [r for r, p in enumerate(prompts) if len(p) >= 300]
        others = [r for r, p in enumerate(prompts) if r not in long and len(p) > last]
        sizes, done, i = [15, 150, 16, 7, 300, 1, 64, 33, 700], {r: 0 for r in long}, 0
        fresh = {r: [steps.free.pop() for _ in pages[r]] for r in long}
        while any(done[r] < len(prompts[r]) for r in long):
            batch, judged = [], []
            for r in long:
                # Up to the first position that is compared, then one by one.
                take = min(sizes[(i + r) % len(sizes)], max(starts[r] + 1 - done[r], 1), len(prompts[r]) - done[r])
                if take:
                    batch.append((prompts[r][done[r]:done[r] + take], done[r], fresh[r]))
                    done[r] += take
                    judged.append((r, done[r] - 1 - starts[r]))
            for n, r in enumerate(others):
                at = starts[r] + (i + n) % last
                batch.insert(n % (len(batch) + 1), ([prompts[r][at]], at, pages[r]))
                judged.insert(n % (len(judged) + 1), (r, at - starts[r]))
            found = steps.run(batch, schedule)
            for row, (r, at) in enumerate(judged):
                if at >= 0:
                    error = judge(f"{schedule}, chunks and new tokens, step {i}", found[row], r, at, f"mixed {i}")
                    worst["mixed"] = max(worst.get("mixed", 0), error)
            i += 1
        print(f"  {schedule}: largest error {', '.join(f'{e:.4f} ({w} tokens)' for w, e in worst.items())}, transformers in bf16 "
              f"{theirs:.4f}", flush=True)
    return failures + Steps.failures


def time_steps(model, program, batch, context, repeats, schedule, how):
    return time_requests(model, program, [(1, context)] * batch, repeats, schedule, how)


def time_requests(model, program, requests, repeats, schedule, how=None):
    """`requests`: how many new tokens each has, and how many positions with them."""
    pages = [-(-positions // SLOTS) for _, positions in requests]
    steps = Steps(model, program, sum(pages))
    steps.how = how or steps.how
    steps.cache["history"].random_(model.vocabulary)
    for name in steps.cache.keys() - {"history"}:
        for part in steps.cache[name]:
            part.uniform_(0.5, 1.5) if name == "key_squares" else part.normal_()
    values = steps.arguments([([(7 * r + 3 * i) % model.vocabulary for i in range(new)], positions - new,
                               [steps.free.pop() for _ in range(n)])
                              for r, ((new, positions), n) in enumerate(zip(requests, pages))])
    torch.cuda.synchronize()
    timers = []
    with torch.cuda.stream(steps.stream):
        for _ in range(repeats + WARM_UP):
            timers.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            timers[-1][0].record()
            program.enqueue(values, steps.stream.cuda_stream, schedule)
            timers[-1][1].record()
    steps.stream.synchronize()
    assert not values["logits"].isnan().any()
    return statistics.median([a.elapsed_time(b) for a, b in timers][WARM_UP:])


class Peer:
    """The step as PyTorch runs it: cuBLAS, its attention and element-wise kernels, captured in a CUDA graph."""

    def __init__(self, model):
        self.model = model
        self.layers = [(model.plain("qkv", l), model.plain("o", l), torch.cat((model.plain("gate", l), model.plain("up", l))),
                        model.plain("down", l)) for l in range(model.layers)]
        self.embedding, self.head = model.plain("embedding"), model.plain("head")
        self.norms = {n: model.weights[n].bfloat16() for n in ("attn_norm", "mlp_norm")}
        self.head_norms = {n: model.weights[n].bfloat16() for n in ("q_norm", "k_norm")} if model.normed else None

    def prefill(self, tokens, repeats):
        """One prompt, the logits of its last token."""
        m, F = self.model, torch.nn.functional
        numbers = torch.arange(tokens, device="cuda") % m.vocabulary
        angle = torch.arange(tokens, device="cuda").float()[:, None] * m.weights["frequencies"]
        cos, sin = (torch.cat((f(angle), f(angle)), -1).bfloat16()[:, None] for f in (torch.cos, torch.sin))
        keys = torch.empty(m.layers, tokens, m.kv, m.head, device="cuda", dtype=torch.bfloat16)
        values = torch.empty_like(keys)
        norm = lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6)

        def rope(x):
            low, high = x.chunk(2, -1)
            return x * cos + torch.cat((-high, low), -1) * sin

        def step():
            x = self.embedding[numbers]
            for l, (qkv, o, gate_up, down) in enumerate(self.layers):
                y = F.linear(norm(x, self.norms["attn_norm"][l]), qkv)
                q, k, v = (t.view(tokens, -1, m.head) for t in y.split((m.heads * m.head, m.kv * m.head, m.kv * m.head), -1))
                if self.head_norms:
                    q, k = norm(q, self.head_norms["q_norm"][l]), norm(k, self.head_norms["k_norm"][l])
                q, k = rope(q), rope(k)
                keys[l], values[l] = k, v
                heads = lambda t: t.transpose(0, 1)[None]
                a = F.scaled_dot_product_attention(heads(q), heads(k), heads(v), is_causal=True, enable_gqa=True)
                x = x + F.linear(a[0].transpose(0, 1).reshape(tokens, -1), o)
                gate, up = F.linear(norm(x, self.norms["mlp_norm"][l]), gate_up).chunk(2, -1)
                x = x + F.linear(F.silu(gate) * up, down)
            return F.linear(norm(x[-1:], self.norms["attn_norm"][-1]), self.head).argmax(-1)

        return self.replayed(step, repeats)

    def time(self, batch, context, repeats):
        m, F = self.model, torch.nn.functional
        room = context + 16
        keys = torch.randn(m.layers, batch, m.kv, room, m.head, device="cuda", dtype=torch.bfloat16)
        values = torch.randn_like(keys)
        tokens = torch.arange(batch, device="cuda")
        position = torch.full((batch,), context - 1, device="cuda")
        angle = torch.arange(room, device="cuda").float()[:, None] * m.weights["frequencies"]
        cos, sin = (torch.cat((f(angle), f(angle)), -1).bfloat16() for f in (torch.cos, torch.sin))
        rows, mask = torch.arange(batch, device="cuda"), (torch.arange(room, device="cuda") < context)[None, None, None, :]
        norm = lambda x, w: F.rms_norm(x, x.shape[-1:], w, 1e-6)

        def rope(x):
            low, high = x.chunk(2, -1)
            return x * cos[position][:, None] + torch.cat((-high, low), -1) * sin[position][:, None]

        def step():
            x = self.embedding[tokens]
            for l, (qkv, o, gate_up, down) in enumerate(self.layers):
                y = F.linear(norm(x, self.norms["attn_norm"][l]), qkv)
                q, k, v = (t.view(batch, -1, m.head) for t in y.split((m.heads * m.head, m.kv * m.head, m.kv * m.head), -1))
                if self.head_norms:
                    q, k = norm(q, self.head_norms["q_norm"][l]), norm(k, self.head_norms["k_norm"][l])
                q, k = rope(q), rope(k)
                keys[l][rows, :, position], values[l][rows, :, position] = k, v
                a = F.scaled_dot_product_attention(q[:, :, None], keys[l], values[l], attn_mask=mask, enable_gqa=True)
                x = x + F.linear(a.reshape(batch, -1), o)
                gate, up = F.linear(norm(x, self.norms["mlp_norm"][l]), gate_up).chunk(2, -1)
                x = x + F.linear(F.silu(gate) * up, down)
            return F.linear(norm(x, self.norms["attn_norm"][-1]), self.head).argmax(-1)

        return self.replayed(step, repeats)

    @staticmethod
    def replayed(step, repeats):
        """The time of a step, captured in a CUDA graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream), torch.no_grad():
            step()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph), torch.no_grad():
            step()
        timers = []
        for _ in range(repeats + WARM_UP):
            timers.append((torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)))
            timers[-1][0].record()
            graph.replay()
            timers[-1][1].record()
        torch.cuda.synchronize()
        return statistics.median([a.elapsed_time(b) for a, b in timers][WARM_UP:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifact", required=True)
    parser.add_argument("--model", required=True, type=pathlib.Path, help="a folder with a config.json")
    parser.add_argument("--library", default=str(ROOT / "build" / "lib" / "libevt_runtime.so"))
    parser.add_argument("--layers", type=int, help="fewer than the model has")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--lengths", default="1,2,9,63,64,65,130,300,17,1100", help="of the prompts of --check")
    parser.add_argument("--last", type=int, default=3, help="positions of each that --check compares")
    parser.add_argument("--batch", default="")
    parser.add_argument("--context", default="1024")
    parser.add_argument("--sampling", default="greedy", help=f"of {', '.join(SAMPLING)}")
    parser.add_argument("--prefill", default="", help="tokens of a prompt that is one step")
    parser.add_argument("--mixed", default="", help="CHUNK,BATCH,CONTEXT: a chunk of a prompt beside a batch of new tokens")
    parser.add_argument("--schedules", default="static,ticket,dynamic")
    parser.add_argument("--repeats", type=int, default=21)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--limit", type=float, default=4.71, help="the memory limit, TB/s")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    numbers = lambda text: [int(n) for n in text.split(",") if n]
    program = launcher.Library(options.library).load(options.artifact)
    model = Model(options.model, options.layers, program)
    print(f"{options.model.name}: {model.layers} layers, weights {model.weight_bytes / 1e9:.3f} GB", flush=True)
    failures = check(model, program, numbers(options.lengths), options.last, options.schedules.split(",")) if options.check else 0
    for batch in numbers(options.batch):
        for context in numbers(options.context):
            cache = 4 * batch * context * model.kv * model.head * model.layers
            bound = (model.weight_bytes + cache) / options.limit / 1e9
            for schedule in options.schedules.split(","):
                for how in options.sampling.split(","):
                    ms = time_steps(model, program, batch, context, options.repeats, schedule, how)
                    print(f"  batch {batch:3} context {context:5} {schedule:8} {how:8} {ms:8.4f} ms  {100 * bound / ms:5.1f} % of the "
                          f"bound {bound:.4f}", flush=True)
            if options.peer:
                torch.cuda.empty_cache()
                print(f"  batch {batch:3} context {context:5} PyTorch  {Peer(model).time(batch, context, options.repeats):8.4f} ms", flush=True)
    peer = Peer(model) if options.peer and options.prefill else None
    for tokens in numbers(options.prefill):
        for schedule in options.schedules.split(","):
            ms = time_requests(model, program, [(tokens, tokens)], options.repeats, schedule)
            print(f"  prefill {tokens:5} {schedule:8} {ms:8.3f} ms  {2 * tokens * (model.weight_bytes / 2 - model.vocabulary * model.d) / ms / 1e9:6.1f} "
                  f"TFLOP/s in products", flush=True)
        if peer:
            print(f"  prefill {tokens:5} PyTorch  {peer.prefill(tokens, options.repeats):8.3f} ms", flush=True)
    if options.mixed:
        chunk, batch, context = numbers(options.mixed)
        for schedule in options.schedules.split(","):
            kinds = {"both": [(chunk, chunk)] + [(1, context)] * batch, "chunk": [(chunk, chunk)], "batch": [(1, context)] * batch}
            ms = {kind: time_requests(model, program, r, options.repeats, schedule) for kind, r in kinds.items()}
            print(f"  {chunk} tokens of a prompt and {batch} new ones, context {context}, {schedule:8} {ms['both']:8.3f} ms; by themselves "
                  f"{ms['chunk']:.3f} and {ms['batch']:.3f}", flush=True)
    if options.check:
        print(f"{'1 passed, 0' if not failures else '0 passed, 1'} failed")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
