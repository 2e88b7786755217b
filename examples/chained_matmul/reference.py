"""d = (a b) c."""

import numpy as np

from example import uniform

TOLERANCE = 1e-5


def inputs(shape, rng):
    m, k, n, p = (shape[name] for name in "mknp")
    return {"a": uniform(rng, m, k), "b": uniform(rng, k, n), "c": uniform(rng, n, p)}


def expected(shape, inputs):
    a, b, c = (inputs[name].astype(np.float64) for name in "abc")
    return {"d": a @ b @ c}
