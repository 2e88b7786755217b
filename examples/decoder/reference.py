"""One decoding step of the transformer of decoder.mlir, request by request."""

import numpy as np

from example import BFloat16, float64, uniform

TOLERANCE = 1e-5
HIDDEN, HEADS, KV_HEADS, SIZE, FFN, VOCABULARY = 256, 4, 2, 64, 704, 1000
UNWRITTEN = 50.0  # what the cache holds past a request's position: finite, and far too large to go unnoticed


def weights(rng, *shape):
    return BFloat16.rounded(uniform(rng, *shape) * np.sqrt(3 / shape[-1]))


def inputs(shape, rng):
    layers, batch, context = shape["layers"], shape["batch"], shape["context"]
    pos = {"zero": np.zeros(batch), "last": np.full(batch, context - 1),
           "ragged": rng.integers(0, context, batch)}[shape["pos"]].astype(np.int32)
    angle = np.arange(context)[:, None] / 10000.0 ** (np.arange(SIZE // 2) / (SIZE // 2))
    keys = uniform(rng, layers, batch, context, KV_HEADS, SIZE)
    values = uniform(rng, layers, batch, context, KV_HEADS, SIZE)
    for r in range(batch):
        keys[:, r, pos[r]:] = values[:, r, pos[r]:] = UNWRITTEN
    return {
        "tokens": rng.integers(0, VOCABULARY, batch).astype(np.int32),
        "pos": pos,
        "embedding": weights(rng, VOCABULARY, HIDDEN),
        "cos": np.cos(angle).astype(np.float32),
        "sin": np.sin(angle).astype(np.float32),
        "w_norm1": 1 + uniform(rng, layers, HIDDEN) / 4,
        "w_qkv": weights(rng, layers, (HEADS + 2 * KV_HEADS) * SIZE, HIDDEN),
        "w_out": weights(rng, layers, HIDDEN, HEADS * SIZE),
        "w_norm2": 1 + uniform(rng, layers, HIDDEN) / 4,
        "w_gate": weights(rng, layers, FFN, HIDDEN),
        "w_up": weights(rng, layers, FFN, HIDDEN),
        "w_down": weights(rng, layers, HIDDEN, FFN),
        "w_norm3": 1 + uniform(rng, 1, HIDDEN) / 4,
        "w_head": weights(rng, VOCABULARY, HIDDEN),
        "keys": keys,
        "values": values,
    }


def norm(x, w):
    return x / np.sqrt((x * x).mean() + 1e-5) * w


def rotate(heads, cos, sin):
    lo, hi = heads[:, : SIZE // 2], heads[:, SIZE // 2:]
    return np.concatenate([lo * cos - hi * sin, hi * cos + lo * sin], axis=1)


def attention(q, keys, values):
    """q: HEADS x SIZE; keys, values: positions x KV_HEADS x SIZE."""
    out = []
    for head in range(HEADS):
        kv = head * KV_HEADS // HEADS
        scores = keys[:, kv] @ q[head] / np.sqrt(SIZE)
        weight = np.exp(scores - scores.max())
        out.append(weight @ values[:, kv] / weight.sum())
    return np.concatenate(out)


def expected(shape, inputs):
    w = {name: float64(value) for name, value in inputs.items()}
    keys, values = w["keys"], w["values"]
    logits = np.zeros((shape["batch"], VOCABULARY))
    for r, (token, p) in enumerate(zip(inputs["tokens"], inputs["pos"])):
        x = w["embedding"][token]
        cos, sin = w["cos"][p], w["sin"][p]
        for l in range(shape["layers"]):
            heads = (w["w_qkv"][l] @ norm(x, w["w_norm1"][l])).reshape(-1, SIZE)
            q = rotate(heads[:HEADS], cos, sin)
            keys[l, r, p] = rotate(heads[HEADS: HEADS + KV_HEADS], cos, sin)
            values[l, r, p] = heads[HEADS + KV_HEADS:]
            x = x + w["w_out"][l] @ attention(q, keys[l, r, : p + 1], values[l, r, : p + 1])
            a = norm(x, w["w_norm2"][l])
            gate = w["w_gate"][l] @ a
            x = x + w["w_down"][l] @ (gate / (1 + np.exp(-gate)) * (w["w_up"][l] @ a))
        logits[r] = w["w_head"] @ norm(x, w["w_norm3"][0])
    return {"keys": keys, "values": values, "logits": logits}
