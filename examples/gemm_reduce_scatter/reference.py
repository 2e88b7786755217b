"""y[o] = sum over ranks of x[rank, o] w[rank]."""

import numpy as np

from example import uniform

TOLERANCE = 1e-5


def inputs(shape, rng):
    r, m, k, n = (shape[name] for name in "rmkn")
    return {"x": uniform(rng, r, r, m, k), "w": uniform(rng, r, k, n)}


def expected(shape, inputs):
    return {"y": np.einsum("romk,rkn->omn", inputs["x"].astype(np.float64), inputs["w"].astype(np.float64))}
