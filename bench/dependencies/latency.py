#!/usr/bin/python3
"""From a notify to the start of the task that waited for it, read off traces of program.py's programs.

    evt run mirror.evt --size rows=513 --in v=zeros --schedule static --trace mirror-static.json
    latency.py mirror-static.json …

A record ends when the task's notifies are issued and starts when its waits are over, both by the GPU's clock of 32 ns. In
`mirror` a task waits for one other; in `all` for the last of the phase before.
"""

import argparse
import json
import pathlib
import statistics


def read(path):
    """(kind, {(phase, j): (taken, started, notified, worker)}) in microseconds"""
    events = json.loads(path.read_text())["traceEvents"]
    kind = next(e["args"]["name"] for e in events if e.get("name") == "process_name")
    tasks, last = {}, None
    for e in events:
        if e.get("cat") == "task":
            last = e["args"]["p"], e["args"]["j"]
            tasks[last] = [e["ts"], e["ts"], e["ts"] + e["dur"], e["tid"]]
        elif e.get("cat") == "wait":
            tasks[last][1] = e["ts"] + e["dur"]
    return kind, tasks


def latencies(kind, tasks):
    width = 1 + max(j for _, j in tasks)
    phases = 1 + max(p for p, _ in tasks)
    notified = [[tasks[p, j][2] for j in range(width)] for p in range(phases)]
    last = [max(phase) for phase in notified]
    for (p, j), (_, started, _, _) in tasks.items():
        if p:
            yield started - (notified[p - 1][width - 1 - j] if kind == "mirror" else last[p - 1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=pathlib.Path)
    for path in parser.parse_args().traces:
        kind, tasks = read(path)
        found = sorted(latencies(kind, tasks))
        tenth = len(found) // 10
        inside = statistics.median(end - start for _, start, end, _ in tasks.values())
        print(f"{path.stem}: from notify to start {statistics.median(found):.2f} us (a tenth below {found[tenth]:.2f}, a tenth "
              f"above {found[-1 - tenth]:.2f}); from start to notify {inside:.2f} us")


if __name__ == "__main__":
    main()
