#!/usr/bin/env python3
"""Draws a part of a launch's timeline as a picture for a page.

    bench/step/trace.py MODEL.evt --batch 1 --context 1024 -o trace.json
    bench/step/timeline.py trace.json --layer 3 -o docs/step.svg
    bench/step/timeline.py trace.json --layer 3 --phases

A row is an SM, a bar a task, coloured by its call; the pale part of a bar is the wait for its events. --phases prints
a table instead: when the tasks of each call begin, have what they wait for, and end. The trace is the one of
`evt run --trace FILE.json`.
"""
import argparse
import collections
import html
import json
import pathlib
import statistics
import sys

COLOURS = ["#4e79a7", "#76b7b2", "#a0cbe8", "#f28e2b", "#e15759", "#59a14f", "#b07aa1", "#edc948", "#9c755f", "#bab0ac"]
LEFT, TOP, ROW, WIDTH = 44, 40, 7, 1000


def slices(trace, kind):
    return [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") == kind]


def layer_of(trace, layer):
    """Its tasks, when the layer before ended, and the wait that each task begins with."""
    tasks = [e for e in slices(trace, "task") if e["args"].get("layer") == layer]
    if not tasks:
        sys.exit(f"timeline.py: no task of layer {layer} in the trace")
    ends = [e["ts"] + e["dur"] for e in slices(trace, "task") if e["args"].get("layer") == layer - 1]
    waits = collections.defaultdict(float)
    for e in slices(trace, "wait"):
        waits[e["tid"], e["ts"]] = max(waits[e["tid"], e["ts"]], e["dur"])
    return tasks, max(ends) if ends else min(e["ts"] for e in tasks), waits


def phases(trace, layer):
    tasks, begin, waits = layer_of(trace, layer)
    calls = collections.defaultdict(list)
    for e in tasks:
        wait = min(waits.get((e["tid"], e["ts"]), 0), e["dur"])
        calls[e["name"]].append((e["ts"] - begin, e["ts"] + wait - begin, e["ts"] + e["dur"] - begin))
    lines = [f"{'us':20s} {'tasks':>6s}  {'begins':^20s} {'has waited':^20s} {'ends':^20s} {'runs':>6s}"]
    spread = lambda values: f"{min(values):6.1f} {statistics.median(values):6.1f} {max(values):6.1f}"
    for name, times in sorted(calls.items(), key=lambda c: max(end for _, _, end in c[1])):
        runs = statistics.median(end - ready for _, ready, end in times)
        lines.append(f"{name:20s} {len(times):6d}  " + " ".join(spread(column) for column in zip(*times)) + f" {runs:6.1f}")
    return "\n".join(lines)


def draw(trace, layer, every):
    tasks, begin, waits = layer_of(trace, layer)
    begin -= 2
    end = max(e["ts"] + e["dur"] for e in tasks)
    calls = list(dict.fromkeys(e["name"] for e in sorted(tasks, key=lambda e: e["ts"] + e["dur"])))
    rows = {tid: n for n, tid in enumerate(sorted({e["tid"] for e in tasks})[::every])}
    scale = WIDTH / (end - begin)
    height = TOP + ROW * len(rows) + 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 10}" height="{height}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    x = LEFT
    for n, call in enumerate(calls):
        out.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{COLOURS[n % len(COLOURS)]}"/>'
                   f'<text x="{x + 14}" y="21">{html.escape(call)}</text>')
        x += 30 + 7 * len(call)
    for tid, n in rows.items():
        if n % 8 == 0:
            out.append(f'<text x="2" y="{TOP + ROW * n + 6}" fill="#666">SM {tid}</text>')
    for e in sorted(tasks, key=lambda e: e["ts"]):
        if e["tid"] not in rows:
            continue
        y, colour = TOP + ROW * rows[e["tid"]], COLOURS[calls.index(e["name"]) % len(COLOURS)]
        wait = min(waits.get((e["tid"], e["ts"]), 0), e["dur"])
        for first, length, opacity in ((e["ts"], wait, .2), (e["ts"] + wait, e["dur"] - wait, .85)):
            left, right = max(first, begin), first + length
            if right > left:
                out.append(f'<rect x="{LEFT + (left - begin) * scale:.1f}" y="{y}" width="{(right - left) * scale:.1f}" '
                           f'height="{ROW - 1}" fill="{colour}" fill-opacity="{opacity}"/>')
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if (end - begin) / s <= 12 or s == 1000)
    for n in range(int((end - begin) / step) + 1):
        out.append(f'<text x="{LEFT + n * step * scale:.1f}" y="{height - 8}" fill="#666">{n * step} us</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=pathlib.Path)
    parser.add_argument("--layer", type=int, default=1, help="which iteration of the layers")
    parser.add_argument("--every", type=int, default=6, help="draw every so manieth SM")
    parser.add_argument("--phases", action="store_true", help="print when the tasks of each call run: least, median, most")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="the picture")
    options = parser.parse_args()
    if not options.phases and not options.output:
        parser.error("--phases or --output is needed")
    try:
        trace = json.loads(options.trace.read_text())
        if options.phases:
            print(phases(trace, options.layer))
        text = draw(trace, options.layer, max(options.every, 1))
    except (OSError, ValueError, KeyError) as error:
        sys.exit(f"timeline.py: {options.trace}: {error!r} (a trace of evt run --trace FILE.json is needed)")
    if options.output:
        options.output.write_text(text)


if __name__ == "__main__":
    main()
