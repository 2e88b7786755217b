#!/usr/bin/python3
"""A dense decoder of Llama 3 or Qwen3 in NumPy: what a checkpoint's logits are, one operation after another.

    decoder = Decoder(folder)                    # config.json and safetensors, as `evt weights` writes them
    decoder.logits([5, 6, 7])                    # float64 [positions, vocabulary]
    decoder.logits([5, 6, 7], bfloat16)          # weights and every result rounded, as in a framework that computes in bf16

It knows nothing of evt but the format of checkpoints. Run as a program it compares itself with what transformers computed,
the expected results under test/models/golden:

    reference.py [--evt build/bin/evt]
"""

import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent / "golden"


def exact(values):
    return values


def bfloat16(values):
    """The nearest value of 8 bits of significand, ties to even, in the type that it came in."""
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32).astype(np.asarray(values).dtype)


def read_tensors(path):
    """Tensors of a safetensors file by name, as float64."""
    data = path.read_bytes()
    header = json.loads(data[8:8 + int.from_bytes(data[:8], "little")])
    start, tensors = 8 + int.from_bytes(data[:8], "little"), {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[start + begin:start + end]
        if entry["dtype"] == "BF16":
            values = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            values = np.frombuffer(raw, {"F16": np.float16, "F32": np.float32}[entry["dtype"]])
        tensors[name] = values.astype(np.float64).reshape(entry["shape"])
    return tensors


class Decoder:
    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.tensors = {}
        for path in sorted(folder.glob("*.safetensors")):
            self.tensors |= read_tensors(path)
        self.heads = self.config["num_attention_heads"]
        self.groups = self.config.get("num_key_value_heads") or self.heads
        self.head = self.config.get("head_dim") or self.config["hidden_size"] // self.heads
        self.rounded = {}

    def tensor(self, name, to):
        """Weights as a framework has them that computes with such results."""
        if (name, to) not in self.rounded:
            self.rounded[name, to] = to(self.tensors[name])
        return self.rounded[name, to]

    def frequencies(self):
        """Of the rotation of columns i and i + head / 2, in radians a position."""
        c = self.config
        rope = c.get("rope_parameters") or {"rope_theta": c["rope_theta"], **(c.get("rope_scaling") or {})}
        plain = rope["rope_theta"] ** (-np.arange(0, self.head, 2) / self.head)
        if rope.get("rope_type", "default") == "default":
            return plain
        # Llama 3.1: long waves as if positions were closer together, short ones as they are, a ramp between them.
        factor, low, high = rope["factor"], rope["low_freq_factor"], rope["high_freq_factor"]
        ramp = (rope["original_max_position_embeddings"] * plain / (2 * math.pi) - low) / (high - low)
        ramp = np.clip(ramp, 0, 1)
        return plain * ((1 - ramp) / factor + ramp)

    def norm(self, x, name, to):
        root = np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + self.config["rms_norm_eps"])
        return to(self.tensor(name + ".weight", to) * to(x / root))

    def attention(self, x, layer, to):
        name, count, heads, groups = f"model.layers.{layer}.self_attn", len(x), self.heads, self.groups

        def projected(part, n):
            return to(x @ self.tensor(f"{name}.{part}_proj.weight", to).T).reshape(count, n, self.head)

        angles = np.arange(count)[:, None, None] * self.frequencies()
        cosines, sines = (to(np.concatenate([f(angles)] * 2, axis=-1)) for f in (np.cos, np.sin))

        def rotated(t):
            low, high = np.split(t, 2, axis=-1)
            return to(to(t * cosines) + to(np.concatenate([-high, low], axis=-1) * sines))

        q, k, v = projected("q", heads), projected("k", groups), projected("v", groups)
        if f"{name}.q_norm.weight" in self.tensors:
            q, k = self.norm(q, f"{name}.q_norm", to), self.norm(k, f"{name}.k_norm", to)
        q, k = rotated(q), rotated(k)
        k, v = (np.repeat(t, heads // groups, axis=1) for t in (k, v))
        scores = to(to(np.einsum("qhd,khd->hqk", q, k)) / math.sqrt(self.head))
        scores = np.where(np.tril(np.ones((count, count), bool)), scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights = to(weights / weights.sum(axis=-1, keepdims=True))
        mixed = to(np.einsum("hqk,khd->qhd", weights, v)).reshape(count, heads * self.head)
        return to(mixed @ self.tensor(f"{name}.o_proj.weight", to).T)

    def logits(self, tokens, to=exact):
        x = self.tensor("model.embed_tokens.weight", to)[np.asarray(tokens)]
        for layer in range(self.config["num_hidden_layers"]):
            name = f"model.layers.{layer}"
            x = to(x + self.attention(self.norm(x, f"{name}.input_layernorm", to), layer, to))
            normed = self.norm(x, f"{name}.post_attention_layernorm", to)
            gate, up = (to(normed @ self.tensor(f"{name}.mlp.{part}_proj.weight", to).T) for part in ("gate", "up"))
            active = to(to(gate / (1 + np.exp(-gate))) * up)
            x = to(x + to(active @ self.tensor(f"{name}.mlp.down_proj.weight", to).T))
        tied = "lm_head.weight" not in self.tensors
        head = self.tensor("model.embed_tokens.weight" if tied else "lm_head.weight", to)
        return to(self.norm(x, "model.norm", to) @ head.T)


def compare(family, evt, folder):
    """(passed, failed): logits of the golden prompts, and that rounding them is as far off as transformers' bf16."""
    expected = json.loads((GOLDEN / family / "expected.json").read_text())
    (folder / "config.json").write_bytes((GOLDEN / family / "config.json").read_bytes())
    subprocess.run([evt, "weights", folder, "--random", str(expected["seed"])], check=True, stdout=subprocess.DEVNULL)
    decoder, passed, failed, errors = Decoder(folder), 0, 0, []
    for request in expected["requests"]:
        found, rounded = decoder.logits(request["prompt"]), decoder.logits(request["prompt"], bfloat16)
        worst = max(np.abs(found[p] - l).max() for p, l in zip(request["positions"], request["logits"]))
        errors.append((np.abs(rounded - found).max(), max(request["bf16_error"])))
        good = worst < 2e-4  # theirs are of float32, to 6 digits
        passed, failed = passed + good, failed + (not good)
        if not good:
            print(f"{family}: a prompt of {len(request['prompt'])} tokens is {worst:.2g} off")
    ours, theirs = (sum(e) / len(e) for e in zip(*errors))
    alike = 0.6 < ours / theirs < 1.6
    print(f"{family}: rounded to bf16, logits are {ours:.3f} off, those of transformers {theirs:.3f}")
    return passed + alike, failed + (not alike)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--evt", type=pathlib.Path, default=GOLDEN.parents[2] / "build" / "bin" / "evt", help="the tool")
    options = parser.parse_args()
    counts = []
    for family in ("llama", "qwen3"):
        with tempfile.TemporaryDirectory() as scratch:
            counts.append(compare(family, options.evt, pathlib.Path(scratch)))
    passed, failed = map(sum, zip(*counts))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
