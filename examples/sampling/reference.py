"""The next token of each request, chosen as docs/ops/evt.md says, with sorted lists and float64.

Penalties and temperatures are single roundings to f32, as defined; everything behind them is float64. Where that cannot tell what f32
must give (two tokens whose noise differs by less than rounding may change, a set whose border is that close), the request gets
another seed or another limit, so that every token has to agree.
"""

import numpy as np

TOLERANCE = 2e-6  # of log-probabilities; a single wrong token is further off
PAGE, ROWS, COLUMNS = 4, 7, 30  # of the history: requests share rows of the page table
CLOSE = 1e-3


def philox(counter, seed):
    """Philox4x32-10 of counters [n, 4] and one key, both as uint64."""
    x, key = counter.copy(), np.array([seed & 0xFFFFFFFF, seed >> 32], np.uint64)
    low = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * x[:, 0], np.uint64(0xCD9E8D57) * x[:, 2]
        x = np.stack([(b >> np.uint64(32)) ^ x[:, 1] ^ key[0], b & low, (a >> np.uint64(32)) ^ x[:, 3] ^ key[1], a & low], 1)
        key = (key + np.array([0x9E3779B9, 0xBB67AE85], np.uint64)) & low
    return x


def noise(seed, position, tokens):
    """Of tokens 0 … tokens - 1."""
    groups = -(-tokens // 4)
    counter = np.zeros((groups, 4), np.uint64)
    counter[:, 0], counter[:, 1] = np.arange(groups), position
    return -np.log(-np.log1p(-(philox(counter, seed).ravel()[:tokens] + 0.5) / 2.0**32))


def past_of(inputs, choice):
    """The prompt and the output of a request."""
    _, _, _, position, prompt, row = choice[:6]
    tokens = [[], []]
    for p in range(position):
        page = inputs["pages"][row, p // PAGE] if 0 <= row < ROWS and p // PAGE < COLUMNS else -1
        slot = page * PAGE + p % PAGE
        if page >= 0 and slot < len(inputs["history"]):
            tokens[p >= prompt].append(inputs["history"][slot])
    return tokens


def score(x, rate, prompt, output):
    """Logits with penalties and temperature."""
    temperature, _, _, repetition, presence, frequency = rate[:6]
    z = np.where(np.isnan(x), np.float32(-np.inf), x)
    counts = np.bincount([t for t in output if 0 <= t < len(x)], minlength=len(x)).astype(np.float32)
    seen = counts > 0
    seen[[t for t in prompt if 0 <= t < len(x)]] = True
    if repetition not in (0, 1):
        z = np.where(seen, np.where(z > 0, z / repetition, z * repetition), z)
    z = np.where(counts > 0, z - frequency * counts - presence, z)
    return z / temperature if temperature > 0 else z


def kept(z, rate, choice):
    """(the set, how far its borders are from being another one's)."""
    top_p, min_p, top_k = rate[1], rate[2], choice[0]
    keep, sure = np.ones(len(z), bool), np.inf
    if not np.isfinite(z.max()):
        return z == z.max(), sure
    if 0 < top_k < len(z):
        keep = z >= np.sort(z)[-top_k]
    weights = np.exp(z.astype(np.float64) - z.max())
    if top_p < 1:
        order = np.argsort(-z, kind="stable")[: keep.sum()]  # the set so far, most likely first
        shares = weights[order] / weights[order].sum()
        first = np.searchsorted(-z[order], -z[order], "left")  # of those that equal it
        above = np.concatenate([[0], np.cumsum(shares)])[first]
        keep[order[(above >= top_p) & (above > 0)]] = False
        sure = np.abs(above[above > 0] - top_p).min(initial=np.inf)
    if min_p > 0:
        sure = min(sure, np.abs(weights / np.float64(min_p) - 1)[keep & (weights < 1)].min(initial=np.inf))
        keep &= weights >= min_p
    return keep, sure


def token_of(z, rate, choice):
    """(the token, whether f32 has to find the same)."""
    if not rate[0] > 0:
        best = np.sort(np.unique(z))[::-1][:2]
        return int(z.argmax()), len(best) < 2 or not best[0] - best[1] < 1e-5
    keep, sure = kept(z, rate, choice)
    seed = (int(choice[2]) & 0xFFFFFFFF) << 32 | int(choice[1]) & 0xFFFFFFFF
    drawn = np.where(keep, z.astype(np.float64) + noise(seed, int(choice[3]), len(z)), -np.inf)
    two = np.sort(drawn[drawn > -np.inf])[-2:]
    return int(drawn.argmax()), sure > 1e-6 and (len(two) < 2 or two[1] - two[0] >= CLOSE)


RATES = {  # temperature, top_p, min_p, repetition, presence, frequency; ranges
    "greedy": [(0, 0), (1, 1), (0, 0), (1, 1), (0, 0), (0, 0)],
    "temperature": [(0.3, 2), (1, 1), (0, 0), (1, 1), (0, 0), (0, 0)],
    "filters": [(0.5, 3), (0, 1.2), (0, 0.1), (0, 0), (0, 0), (0, 0)],
    "top_k": [(0.5, 3), (1, 1), (0, 0), (1, 1), (0, 0), (0, 0)],
    "top_p": [(0.5, 3), (0, 1), (0, 0), (1, 1), (0, 0), (0, 0)],
    "min_p": [(0.5, 3), (1, 1), (0, 0.5), (1, 1), (0, 0), (0, 0)],
    "penalties": [(0, 0), (1, 1), (0, 0), (0.5, 2), (-1, 2), (-1, 2)],
    "all": [(0.5, 3), (0, 1), (0, 0.1), (0.5, 2), (-1, 2), (-1, 2)],
}


def inputs(shape, rng):
    rows, vocabulary, how, values = shape["rows"], shape["vocabulary"], shape["how"], shape["logits"]
    logits = (4 * rng.standard_normal((rows, vocabulary))).astype(np.float32)
    if values == "ties":
        logits = np.round(logits * 2) / 2
    elif values == "equal":
        logits = np.broadcast_to(rng.integers(-3, 3, (rows, 1)), logits.shape).astype(np.float32)
    elif values == "flat":
        logits /= 1000
    elif values == "holes":  # nothing, or not a number
        logits[rng.random(logits.shape) < 0.9] = -np.inf
        logits[rng.random(logits.shape) < 0.1] = np.nan
        logits[::5] = -np.inf
    elif values == "same":
        logits = np.broadcast_to(logits[0], logits.shape)
    slots = 400
    given = {"logits": np.ascontiguousarray(logits, np.float32), "rates": np.zeros((rows, 8), np.float32),
             "choices": np.zeros((rows, 8), np.int32),
             "history": rng.integers(-1, min(vocabulary, 40) + 1, slots).astype(np.int32),
             "pages": rng.integers(-1, slots // PAGE + 2, (ROWS, COLUMNS)).astype(np.int32)}
    for row in range(rows):
        kind = how if how in RATES else list(RATES)[row % len(RATES)]
        for attempt in range(1000):
            draw = lambda low, high: low if low == high else rng.choice([rng.uniform(low, high), low, high], p=[0.8, 0.1, 0.1])
            given["rates"][row, :6] = [draw(*range) for range in RATES[kind]]
            top_k = int(rng.choice([1, 2, 5, 50, 1500, vocabulary, vocabulary + 7])) if kind in ("top_k", "filters", "all") else 0
            position = int(rng.integers(0, COLUMNS * PAGE + 3))
            given["choices"][row] = [top_k, *rng.integers(-2**31, 2**31, 2), position, rng.integers(0, position + 1),
                                     rng.integers(-1, ROWS + 1), rng.integers(0, 2), 77]
            if choose(given, row)[1]:
                break
        else:
            raise ValueError(f"row {row} of {shape} is never certain")
    return given


def choose(inputs, row):
    """(the token, whether it is certain)."""
    rate, choice = inputs["rates"][row], inputs["choices"][row].tolist()
    z = score(inputs["logits"][row], rate, *past_of(inputs, choice))
    return token_of(z, rate, choice)


def expected(shape, inputs):
    tokens, logprobs = [], []
    for row, x in enumerate(inputs["logits"].astype(np.float64)):
        tokens.append(choose(inputs, row)[0])
        x = np.where(np.isnan(x), -np.inf, x)
        x = x - x.max() if x.max() > -np.inf else np.zeros(len(x))
        logprobs.append((x[tokens[-1]] - np.log(np.exp(x).sum())) * (inputs["choices"][row, 6] != 0))
    return {"tokens": np.array(tokens, np.float64), "logprobs": np.array(logprobs)}
