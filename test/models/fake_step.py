#!/usr/bin/python3
"""Writes how many memories, symbols and regions a step has, for the C++ that wraps its kernel.

usage: fake_step.py ARTIFACT HEADER
"""

import json
import pathlib
import sys

manifest = json.loads((pathlib.Path(sys.argv[1]) / "manifest.json").read_text())
counts = {name: len(manifest[name]) for name in ("memories", "symbols", "regions")}
pathlib.Path(sys.argv[2]).write_text("".join(f"#define STEP_{name.upper()} {count}\n" for name, count in counts.items()))
