"""A model with random weights on the GPU, in the layout that a step's artifact has them in."""

import gc
import json
import math

import torch


def free_memory():
    """Gives back to the GPU what nobody holds any more."""
    gc.collect()
    torch.cuda.empty_cache()


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
    """Weights are N(0, 0.02), those of norms N(1, 0.1)."""

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
        self.weight_bytes = 2 * sum(w[n].numel() for n in ("qkv", "o", "gate", "up", "down", "head"))  # that a step reads
        self.bytes = sum(t.numel() * t.element_size() for t in w.values())

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
        """A matrix as transformers has it."""
        w = self.weights[name] if layer is None else self.weights[name][layer]
        return unpack(w) if name in self.packed else w
