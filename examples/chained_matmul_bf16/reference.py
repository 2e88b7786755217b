"""d = (a b) c, from operands that are bf16; the product in between is not rounded here."""

from example import BFloat16, uniform

MEAN = 0.25  # of the operands: sums of signed terms may nearly cancel, and their relative error would say nothing
TOLERANCE = 1e-2


def inputs(shape, rng):
    m, k, n, p = (shape[name] for name in "mknp")
    sizes = {"a": (m, k), "b": (k, n), "c": (n, p)}
    return {name: BFloat16.rounded(uniform(rng, *size) + MEAN) for name, size in sizes.items()}


def expected(shape, inputs):
    a, b, c = (inputs[name].float64() for name in "abc")
    return {"d": a @ b @ c}
