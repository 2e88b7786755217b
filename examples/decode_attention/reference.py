"""Softmax attention of 8 query heads over 2 key/value heads of a paged cache, request by request."""

import numpy as np

from example import uniform

TOLERANCE = 1e-5
PAGE = 16


def inputs(shape, rng):
    requests, max_pages = shape["requests"], shape["max_pages"]
    longest = max_pages * PAGE
    lens = {
        "zero": np.zeros(requests),
        "one": np.ones(requests),
        "full": np.full(requests, longest),
        # With several requests, one has nothing at all and one ends exactly with a page.
        "ragged": rng.integers(0, longest + 1, requests),
    }[shape["lens"]].astype(np.int32)
    if shape["lens"] == "ragged" and requests > 1:
        lens[rng.integers(requests)] = 0
        lens[rng.integers(requests)] = PAGE
    # Pages are handed out in random order; entries of the table past a request's end are never used. What is not
    # written, a page's slots past the end included, is NaN.
    used = -(-lens // PAGE)
    pool = int(used.sum()) + 3
    order = rng.permutation(pool).astype(np.int32)
    pages = np.full((requests, max_pages), -1, np.int32)
    keys = np.full((pool, PAGE, 2, 64), np.nan, np.float32)
    values = keys.copy()
    for r, count in enumerate(used):
        pages[r, :count], order = order[:count], order[count:]
        for b in range(count):
            live = min(PAGE, lens[r] - b * PAGE)
            keys[pages[r, b], :live] = uniform(rng, live, 2, 64) * 2
            values[pages[r, b], :live] = uniform(rng, live, 2, 64)
    return {"q": uniform(rng, requests, 8, 64) * 2, "keys": keys, "values": values, "pages": pages, "lens": lens}


def expected(shape, inputs):
    o = np.zeros((shape["requests"], 8, 64))
    for r, length in enumerate(inputs["lens"]):
        if length == 0:
            continue
        pages = inputs["pages"][r, : -(-length // PAGE)]
        keys = inputs["keys"][pages].reshape(-1, 2, 64)[:length].astype(np.float64)
        values = inputs["values"][pages].reshape(-1, 2, 64)[:length].astype(np.float64)
        for head in range(8):
            scores = keys[:, head // 4] @ inputs["q"][r, head].astype(np.float64) / 8
            weights = np.exp(scores - scores.max())
            o[r, head] = weights @ values[:, head // 4] / weights.sum()
    return {"o": o}
