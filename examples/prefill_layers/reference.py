"""The feed-forward parts of a decoder's layers in float64."""

import example
import numpy as np

TOLERANCE = 1e-2  # activations are rounded to bf16 between products
HIDDEN, FEED = 200, 328


def inputs(shape, rng):
    def weights(*dims):
        return example.BFloat16.rounded(rng.standard_normal(dims, np.float32) * np.float32(dims[-1] ** -0.5))

    layers = shape["layers"]
    return {"r": rng.standard_normal((shape["tokens"], HIDDEN), np.float32), "w_gate": weights(layers, FEED, HIDDEN),
            "w_up": weights(layers, FEED, HIDDEN), "w_down": weights(layers, HIDDEN, FEED)}


def expected(shape, inputs):
    w = {name: example.float64(value) for name, value in inputs.items()}
    x = w["r"]
    for l in range(shape["layers"]):
        gate, up = x @ w["w_gate"][l].T, x @ w["w_up"][l].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w["w_down"][l].T
    return {"r": x}
