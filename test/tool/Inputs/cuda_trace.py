"""The timeline of five row sums on three workers of a GPU: every task once, and a wait inside each total."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    events = json.load(file)["traceEvents"]
tasks = [e for e in events if e.get("cat") == "task"]
waits = [e for e in events if e.get("cat") == "wait"]
expected = {("partial", i, j) for i in range(5) for j in range(4)} | {("total", i, None) for i in range(5)}
assert {(e["name"], e["args"]["i"], e["args"].get("j")) for e in tasks} == expected and len(tasks) == 25, tasks
assert {e["tid"] for e in tasks} == {0, 1, 2}, tasks
assert {e["name"] for e in waits} == {f"wait done[{i}]" for i in range(5)} and len(waits) == 5, waits
for wait in waits:
    task = next(e for e in tasks if e["name"] == "total" and f"wait done[{e['args']['i']}]" == wait["name"])
    assert task["tid"] == wait["tid"], (task, wait)
    assert task["ts"] <= wait["ts"] and wait["ts"] + wait["dur"] <= task["ts"] + task["dur"] + 0.001, (task, wait)
