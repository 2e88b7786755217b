"""Tokens mixed with those of their own block of 128 and of the blocks before it, in float64."""

import example
import numpy as np

TOLERANCE = 1e-2  # v is rounded to bf16 between the products
TOKENS, HIDDEN, BLOCK = 456, 136, 128


def inputs(shape, rng):
    def drawn(*dims):
        return example.BFloat16.rounded(rng.standard_normal(dims, np.float32) * np.float32(dims[-1] ** -0.5))

    return {"x": drawn(shape["sequences"], TOKENS, HIDDEN), "w": drawn(shape["features"], HIDDEN),
            "m": drawn(TOKENS, TOKENS)}


def expected(shape, inputs):
    x, w, m = (example.float64(inputs[name]) for name in ("x", "w", "m"))
    block = np.arange(TOKENS) // BLOCK
    return {"y": np.where(block[:, None] >= block[None, :], m, 0) @ (x @ w.T)}
