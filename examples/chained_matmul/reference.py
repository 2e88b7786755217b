"""d = (a b) c."""

import numpy as np

from example import uniform

MEAN = 0.25  # of the operands: sums of signed terms may nearly cancel, and their relative error would say nothing
TOLERANCE = 1e-5


def inputs(shape, rng):
    m, k, n, p = (shape[name] for name in "mknp")
    return {"a": uniform(rng, m, k) + MEAN, "b": uniform(rng, k, n) + MEAN, "c": uniform(rng, n, p) + MEAN}


def expected(shape, inputs):
    a, b, c = (inputs[name].astype(np.float64) for name in "abc")
    return {"d": a @ b @ c}
