#!/usr/bin/python3
"""Steps of a tiny model under `evt run --check`: what orders their tasks, and what they promise to be settled in the cache.

    checked_steps.py EVT MODEL      EVT is the built tool, MODEL the name of a folder of test/models/golden

Prints, of each step, the exit code, the first broken promise if there is one, and what was checked. A batch is a list of
requests, each with its pieces: the position of the first new token and how many there are. A request's earlier positions are in
the cache, and pages are dealt out at random. The last two batches break the promise: tokens of one request are no neighbours.
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

PAGES = 512
PART = 64  # the fewest positions of a part of attention: models/config/Splits.h

BATCHES = {
    "one token": [[(70, 1)]],
    "few tokens": [[(0, 3)], [(131, 4)], [(17, 1)]],
    "many tokens": [[(9, 15)], [(130, 1)], [(0, 40)], [(64, 16)], [(33, 2)]],
    "more than 256 tokens": [[(3, 250)], [(100, 1)], [(8, 15)]],
    "more than 1024 tokens": [[(3, 1020)], [(100, 1)], [(8, 15)]],
    "few tokens, not neighbours": [[(5, 1), (70, 1)]],
    "many tokens, not neighbours": [[(5, 1), (70, 1)], [(0, 20)]],
}


def tables_of(batch, page_slots):
    pages = list(range(PAGES))
    random.Random(3).shuffle(pages)
    tables = {name: [] for name in ("tokens", "positions", "requests", "slots", "last")}
    rows = []
    for request, pieces in enumerate(batch):
        length = max(first + count for first, count in pieces)
        rows.append([pages.pop() for _ in range(-(-length // page_slots))])
        for first, count in pieces:
            for position in range(first, first + count):
                tables["tokens"].append(position * 7 % 300)
                tables["positions"].append(position)
                tables["requests"].append(request)
                tables["slots"].append(rows[-1][position // page_slots] * page_slots + position % page_slots)
        tables["last"].append(len(tables["tokens"]) - 1)
    tables["outputs"] = [-1] * len(tables["tokens"])
    for request, token in enumerate(tables["last"]):
        tables["outputs"][token] = request
    columns = max(map(len, rows))
    tables["pages"] = [row + [-1] * (columns - len(row)) for row in rows]
    return {name: np.array(values, np.int32) for name, values in tables.items()}


def checked(evt, artifact, batch, layers):
    """The exit code and the lines that say what was found."""
    manifest = json.loads((artifact / "manifest.json").read_text())
    page_slots = next(s["min"] for s in manifest["symbols"] if s["name"] == "page_size")
    tables = tables_of(batch, page_slots)
    parts = -(-int(tables["positions"].max() + 1) // PART)
    given = {"splits": parts, "share": 1, "page_size": page_slots}
    with tempfile.TemporaryDirectory() as folder:
        for name, values in tables.items():
            given[name] = f"{folder}/{name}.npy"
            np.save(given[name], values)
        for argument in manifest["arguments"]:
            if argument.get("access") in ("read", "readwrite"):
                given.setdefault(argument["name"], "zeros" if argument["name"] in ("rates", "choices") else "random")
        command = [evt, "run", artifact, "--workers", "2", "--check"]
        for size in (f"layers={layers}", f"norms={layers + 1}", f"cache_slots={PAGES * page_slots}"):
            command += ["--size", size]
        for name, value in given.items():
            command += ["--in", f"{name}={value}"]
        run = subprocess.run(command, capture_output=True, text=True)
    text = (run.stdout + run.stderr).splitlines()
    found = [line for line in text if "promised" in line][:1] + [line for line in text if line.startswith("checked")]
    return run.returncode, found or text


def main():
    evt, model = sys.argv[1:]
    artifact = pathlib.Path(evt).resolve().parents[1] / "test-artifacts" / f"step-{model}.evt"
    config = pathlib.Path(__file__).resolve().parents[1] / "models/golden" / model / "config.json"
    layers = json.loads(config.read_text())["num_hidden_layers"]
    for name, batch in BATCHES.items():
        code, lines = checked(evt, artifact, batch, layers)
        print(f"{name}: exit code {code}")
        for line in lines:
            print(f"  {line}")


if __name__ == "__main__":
    main()
