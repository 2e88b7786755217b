"""The decode chain in float64: products, norms, residuals and SwiGLU of each layer, then the head."""

import example
import numpy as np

TOLERANCE = 1e-2  # activations are rounded to bf16 between products
HIDDEN, QKV, FEED, VOCABULARY = 256, 512, 9472, 1000


def inputs(shape, rng):
    def weights(*dims):
        return example.BFloat16.rounded(rng.standard_normal(dims, np.float32) * np.float32(dims[-1] ** -0.5))

    layers = shape["layers"]
    return {"r": rng.standard_normal((shape["tokens"], HIDDEN), np.float32),
            "w_qkv": weights(layers, QKV, HIDDEN), "w_out": weights(layers, HIDDEN, HIDDEN),
            "w_gate": weights(layers, FEED, HIDDEN), "w_up": weights(layers, FEED, HIDDEN),
            "w_down": weights(layers, HIDDEN, FEED), "w_head": weights(VOCABULARY, HIDDEN)}


def norm(x):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def expected(shape, inputs):
    w = {name: example.float64(value) for name, value in inputs.items()}
    x = w["r"]
    for l in range(shape["layers"]):
        q = norm(x) @ w["w_qkv"][l].T
        x = x + q[:, :HIDDEN] @ w["w_out"][l].T
        a = norm(x)
        gate, up = a @ w["w_gate"][l].T, a @ w["w_up"][l].T
        x = x + (gate / (1 + np.exp(-gate)) * up) @ w["w_down"][l].T
    return {"r": x, "logits": norm(x) @ w["w_head"].T}

