"""y = softmax(x w) v, row by row."""

import numpy as np

TOLERANCE = 1e-5


def inputs(shape, rng):
    return {"x": rng.uniform(-1, 1, (shape["n"], 64)).astype(np.float32),
            "w": rng.uniform(-1, 1, (64, 256)).astype(np.float32),
            "v": rng.uniform(-1, 1, (256, 64)).astype(np.float32)}


def expected(shape, inputs):
    x, w, v = (inputs[name].astype(np.float64) for name in "xwv")
    e = np.exp(x @ w)
    return {"y": e / e.sum(axis=1, keepdims=True) @ v}
