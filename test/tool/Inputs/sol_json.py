"""Checks `evt bench --sol --json` of the mixture of experts with 5 tokens: 8 tiles of rows at the bound, 3 of columns."""

import json
import sys

report = json.load(open(sys.argv[1]))
assert report["ok"] and report["failures"] == [] and report["outputs"]["out"]["shape"] == [5, 128], report
timing, = report["timings"]
sol = report["sol"]
assert sol["graph"]["bound_seconds"] > 0 and timing["share"] > 0, report
assert abs(timing["share"] * timing["median_seconds"] - sol["graph"]["bound_seconds"]) < 1e-9, report
call, = (c for c in sol["calls"] if c["name"] == "gate_up")
assert call["tasks"] == 24 and call["ops"] == 24 * (2 * 2 * 2 * 16 * 32 * 64 + 5 * 16 * 32), call
assert call["bytes"] == 5 * 512 + 128 * 4 + 9 * 4 + 2 * 8 * 96 * 128 * 4 + 128 * 96 * 4 + 8 * 4, call
assert "every task of the ragged bound is counted" in call["assumptions"], call
