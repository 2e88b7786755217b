"""Requests of random lengths, a line of JSON each: as many as the argument says."""

import json
import random
import sys

random.seed(4)
for i in range(int(sys.argv[1])):
    prompt = [random.randrange(4, 280) for _ in range(random.choice((1, 2, 5, 11, 30)))]
    print(json.dumps({"id": i, "tokens": prompt, "max_tokens": random.randrange(1, 30), "ignore_eos": i % 3 == 0}))
