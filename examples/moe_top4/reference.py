"""out[t] = sum over the 4 best of 16 experts e of weight * ((silu(x Wg[e]) * (x Wu[e])) Wd[e]), token by token."""

import numpy as np

from example import BFloat16, float64, uniform

TOLERANCE = 1e-5
HIDDEN, FFN, EXPERTS, CHOICES = 128, 96, 16, 4


def inputs(shape, rng):
    tokens = shape["tokens"]
    x = uniform(rng, tokens, HIDDEN)
    if shape["experts"] == "same":
        x = (uniform(rng, 1, HIDDEN) + x * 0.005).astype(np.float32)
    return {
        "x": x,
        "router": uniform(rng, EXPERTS, HIDDEN) / 4,
        "w_gate": BFloat16.rounded(uniform(rng, EXPERTS, FFN, HIDDEN) / 8),
        "w_up": BFloat16.rounded(uniform(rng, EXPERTS, FFN, HIDDEN) / 8),
        "w_down": BFloat16.rounded(uniform(rng, EXPERTS, HIDDEN, FFN) / 8),
    }


def expected(shape, inputs):
    x, router, w_gate, w_up, w_down = (float64(inputs[name]) for name in ("x", "router", "w_gate", "w_up", "w_down"))
    out = np.zeros((shape["tokens"], HIDDEN))
    for t, scores in enumerate(x @ router.T):
        ranking = np.argsort(-scores, kind="stable")
        # The choice must not hang on the rounding of f32.
        assert scores[ranking[CHOICES - 1]] - scores[ranking[CHOICES]] > 1e-5, f"token {t}: two experts nearly tie"
        chosen = ranking[:CHOICES]
        weights = np.exp(scores[chosen] - scores[chosen].max())
        for weight, e in zip(weights / weights.sum(), chosen):
            gate = w_gate[e] @ x[t]
            hidden = gate / (1 + np.exp(-gate)) * (w_up[e] @ x[t])
            out[t] += weight * (w_down[e] @ hidden)
    return {"out": out}
