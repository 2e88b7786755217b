"""Keys and values of new tokens in a cache, in float64."""

import example
import numpy as np

TOLERANCE = 1e-2  # keys are stored as bf16
HIDDEN, HEADS, HEAD, LAYERS, POSITIONS = 512, 2, 128, 3, 50


def inputs(shape, rng):
    tokens, entries, slots = shape["tokens"], shape["entries"], shape["slots"]
    if shape["named"] == "different":
        named = rng.permutation(slots)[:entries]
    else:
        lowest, end = (-3, slots + 3) if shape["named"] == "outside" else (0, slots)
        named = rng.integers(lowest, end, entries)
    angles = np.arange(POSITIONS)[:, None] * 100.0 ** (-np.arange(HEAD // 2) / (HEAD // 2))
    # Some positions have no angle; the table may be longer than the tokens are many.
    positions = rng.integers(-2, POSITIONS + 2, tokens + 2)
    return {"x": example.BFloat16.rounded(example.uniform(rng, tokens, HIDDEN)),
            "w": example.BFloat16.rounded(example.uniform(rng, HEADS * HEAD, HIDDEN)), "positions": positions.astype(np.int64),
            "cos": np.cos(angles).astype(np.float32), "sin": np.sin(angles).astype(np.float32),
            "slots": named.astype(np.int32), "layer": shape["layer"],
            "keys": example.BFloat16.rounded(example.uniform(rng, LAYERS, slots, HEADS, HEAD)),
            "values": example.BFloat16.rounded(example.uniform(rng, LAYERS, slots, HIDDEN)),
            "squares": example.uniform(rng, LAYERS, slots, 16)}


def expected(shape, inputs):
    w, cos, sin = (example.float64(inputs[name]) for name in ("w", "cos", "sin"))
    keys, values, squares = (example.float64(inputs[name]) for name in ("keys", "values", "squares"))
    tokens, layer, slots, half = shape["tokens"], shape["layer"], keys.shape[1], HEAD // 2
    x = np.zeros((64, HIDDEN))  # the table may have slots for tokens that are not there
    x[:tokens] = example.float64(inputs["x"])
    named = [slot if 0 <= slot < slots and layer < LAYERS else None for slot in inputs["slots"]]
    named += [None] * (tokens - len(named))
    for token, slot in enumerate(named):
        if slot is None:
            continue
        values[layer, slot] = x[token]
        if tokens <= 8 <= token:
            continue
        position = inputs["positions"][token] if token < len(inputs["positions"]) else -1
        there = 0 <= position < POSITIONS
        c, s = (cos[position], sin[position]) if there else (np.zeros(half), np.zeros(half))
        a, b = (x[token] @ w.T).reshape(HEADS, 2, half).swapaxes(0, 1)
        keys[layer, slot] = rotated = np.concatenate([a * c - b * s, b * c + a * s], 1)
        parts = (rotated**2).reshape(HEADS, 2, 8, 8).sum((1, 3))
        if tokens <= 8:
            squares[layer, slot] = parts.ravel()
        else:
            squares[layer, slot, ::8] = parts.sum(1)
    y = np.zeros((tokens, HEADS, HEAD))
    for token, slot in enumerate(named[:tokens]):
        if slot is not None:
            y[token] = keys[layer, slot]
    return {"keys": keys, "values": values, "squares": squares, "y": y}
