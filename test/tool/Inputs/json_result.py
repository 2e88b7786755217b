"""Checks what `evt run --json` printed: json_result.py RESULT.json Y.npy"""

import json
import sys

import numpy


def fnv1a64(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


result = json.load(open(sys.argv[1]))
expected = numpy.load(sys.argv[2])
assert result["graph"] == "row_sum" and result["symbols"] == {"n": len(expected)}, result
assert result["tasks"] == 5 * len(expected) and result["schedule"] == "static", result
assert len(result["seconds"]) == 3 and result["median_seconds"] == sorted(result["seconds"])[1], result
output = result["outputs"]["y"]
assert output["fnv1a64"] == fnv1a64(expected.tobytes()), output
assert output["shape"] == [len(expected)] and output["type"] == "f32", output
assert output["expected"]["agrees"] and output["expected"]["relative_error"] == 0, output
assert result["ok"] and result["failures"] == [], result
