"""d = (a b) c, from operands that are bf16; the product in between is not rounded here."""

from example import BFloat16, uniform

TOLERANCE = 1e-2


def inputs(shape, rng):
    m, k, n, p = (shape[name] for name in "mknp")
    sizes = {"a": (m, k), "b": (k, n), "c": (n, p)}
    return {name: BFloat16.rounded(uniform(rng, *size)) for name, size in sizes.items()}


def expected(shape, inputs):
    a, b, c = (inputs[name].float64() for name in "abc")
    return {"d": a @ b @ c}
