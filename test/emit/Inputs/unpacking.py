"""Checks how an emitted kernel unpacks a launch: unpacking.py KERNEL.cu

Parts of `unpack` run side by side. So each may use what a launch says, and sizes, which are found before; the one that has the
calls adds up their tasks, and is the only one that reads what it has found. Every field of Program is found exactly once.
"""

import re
import sys

source = open(sys.argv[1]).read()
program = re.search(r"struct Program \{\n(.*?)\n +template <class Launch> EVT_DEVICE void unpack_sizes", source, re.S).group(1)
sizes = re.search(r"void unpack_sizes\(const Launch &launch\) \{\n(.*?)\n    \}\n", source, re.S).group(1)
parts = re.search(r"void unpack\(const Launch &launch, int part\) \{\n.*?switch \(part\) \{\n(.*?)\n      \}\n", source, re.S).group(1)

fields = set()
for line in program.splitlines():
    declared = line.split("//")[0].strip().rstrip(";")
    if declared:
        names = re.sub(r"^(int64_t|evt::Memory<[^>]*>|evt::Counter|evt::Places|evt::Control|evt::Slot)\s*", "", declared)
        fields |= {name.strip(" *") for name in names.split(",")}
assert fields and all(re.fullmatch(r"\w+", f) for f in fields), fields


def assigned(text):
    """(field, what it is found from) of each statement."""
    found = []
    for line in text.splitlines():
        statement = re.fullmatch(r"\s*([a-z]\w*)(\.place\[\d\])? (=|\+=) (.*);", line)
        if statement:
            found.append((statement[1] + (statement[2] or ""), statement[3], statement[4]))
        else:
            assert re.fullmatch(r"\s*(case \d+:|break;|\[\[maybe_unused\]\] const Program &P = \*this;)?", line), line
    return found


first = [name for name, _, _ in assigned(sizes)]
assert all(re.fullmatch(r"[sg]\d+", name) for name in first), first
*others, calls = re.split(r"case \d+:\n", parts)[1:]
later = []
for part in [*others, calls]:
    mine = [name for name, _, _ in assigned(part)]
    for name, how, value in assigned(part):
        used = set(re.findall(r"\bP\.(\w+)", value)) | {f for f in fields if re.search(rf"(?<![.\w]){f}\b", value)}
        allowed = set(first) | (set(mine) if part is calls else set())
        assert used <= allowed, f"{name} {how} {value}: {sorted(used - allowed)} are another part's"
    later += [name for name, how, _ in assigned(part) if how == "="]
found = first + later
assert len(found) == len(set(found)), sorted(f for f in found if found.count(f) > 1)
assert {f.split(".")[0] for f in found} == fields, {f.split(".")[0] for f in found} ^ fields
assert all(f"{f}.place[{i}]" in found for f in fields if f.startswith("y") for i in range(3))
