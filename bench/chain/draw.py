#!/usr/bin/python3
"""Draws dimensions of decode chains nobody has tuned for: one line of arguments for run.py each.

    draw.py --seed 1 [--count 4]

The hidden size is a multiple of 256 in 2048..8192, the feed-forward one of 256, query/key/value rows and the vocabulary ones of 8;
layers are as many as bring the weights near a size drawn from 4..20 GB.
"""

import argparse
import random


def draw(generator):
    hidden = 256 * generator.randint(8, 32)
    qkv = 8 * generator.randint(hidden // 8, hidden // 4)
    feed_forward = 256 * generator.randint(hidden // 256, hidden // 64)
    vocabulary = 8 * generator.randint(4000, 20000)
    head, layer = 2 * vocabulary * hidden, 2 * hidden * (qkv + hidden + 3 * feed_forward)
    layers = max(1, round((generator.uniform(4e9, 20e9) - head) / layer))
    return (hidden, qkv, feed_forward, vocabulary), layers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=4)
    options = parser.parse_args()
    generator = random.Random(options.seed)
    for _ in range(options.count):
        dims, layers = draw(generator)
        print(f"--dims {','.join(map(str, dims))} --layers {layers}")


if __name__ == "__main__":
    main()
