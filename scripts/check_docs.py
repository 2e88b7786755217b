#!/usr/bin/python3
"""Checks that the documentation is true.

- Relative links and images of every Markdown file lead to files that exist.
- docs/ops is what the operations' definitions say.
- Every ```mlir block that holds a whole program (an `evt.graph`, and no `…`) parses and verifies. Any other one without `…`
  parses, in a block that defines what it does not define itself, and verifies as far as that does not need the program around it.
- Every ```console block of README.md and docs/guide/ is run from the repository's root: lines after `$ ` are commands,
  the lines below are exactly what they print (stdout and stderr), where `…` stands for any text on its line, a line that
  holds only `…` for any number of lines, and a time (`0.2 s`, `31 ms`) for any time. A command whose exit code is not 0 is followed by a comment that
  says so: `$ ./evt verify wrong.mlir  # exit code 1`.

Prints one line for each problem, then `N passed, N failed`; exits with 1 if there is a problem.
"""

import argparse
import dataclasses
import pathlib
import re
import subprocess
import sys

import operation_docs
import source_tree

UNDECLARED = re.compile(r"^<stdin>:(\d+):(\d+): error: use of undeclared SSA value name", re.MULTILINE)
OTHER_TYPE = re.compile(r"error: use of value '(%[^']+)' expects different type than prior uses: '(.*?)' vs '")
NEEDS_SURROUNDINGS = re.compile(r"^<stdin>:\d+:\d+: error: .* op (expects parent op|must stand in the protocol of a call)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")
TIME = re.compile(r"\b\d+(?:\.\d+)? (?=(?:s|ms|us)\b)")
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")


@dataclasses.dataclass
class Example:
    path: pathlib.Path
    line: int
    command: str
    exit_code: int
    output: list


def outside_code(text):
    """(line number, line) of what is not inside a fenced block."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced:
            yield number, line


def broken_links(root, path):
    for number, line in outside_code((root / path).read_text(encoding="utf-8")):
        for match in LINK.finditer(line):
            target = match.group(1) or match.group(2)
            if re.match(r"[a-z]+:", target) or target.startswith("#"):
                continue
            if not (root / path.parent / target.split("#")[0]).exists():
                yield f"{path}:{number}: links to {target}, which does not exist"


def examples(path, text):
    """The commands of the console blocks, with what they are said to print."""
    inside = False
    current = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == "```console":
            inside, current = True, None
        elif line.startswith("```"):
            if inside and current:
                yield current
            inside, current = False, None
        elif inside and line.startswith("$ "):
            if current:
                yield current
            code = EXIT_CODE.search(line)
            command = EXIT_CODE.sub("", line[2:])
            current = Example(path, number, command, int(code.group(1)) if code else 0, [])
        elif inside and current:
            current.output.append(line.rstrip())


def mlir_blocks(text):
    """(line number, text) of the mlir blocks that leave nothing out."""
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() == "```mlir":
            start, lines = number, []
        elif line.startswith("```") and start:
            program = "\n".join(lines) + "\n"
            if "…" not in program:
                yield start, program
            start = None
        elif start:
            lines.append(line)


def parse(opt, program):
    """What is wrong with a program, or an empty text."""
    done = subprocess.run([opt, "-", "--allow-unregistered-dialect"], input=program, capture_output=True, text=True)
    return (done.stderr or "refused without a message") if done.returncode else ""


def parse_part(opt, part):
    """What is wrong with a part of a program. Values that it does not define become arguments, of the types that it uses."""
    types = {}
    while True:
        arguments = ", ".join(f"{name}: {type}" for name, type in types.items())
        program = f'"part"() ({{\n^bb0({arguments}):\n{part}"end"() : () -> ()\n}}) : () -> ()\n'
        problem = parse(opt, program)
        undeclared, other = UNDECLARED.search(problem), OTHER_TYPE.search(problem)
        if undeclared:
            line = program.splitlines()[int(undeclared[1]) - 1]
            types[re.compile(r"%[\w$.-]+").match(line, int(undeclared[2]) - 1)[0]] = "index"
        elif other and types.get(other[1]) == "index":
            types[other[1]] = other[2]
        else:
            return "" if NEEDS_SURROUNDINGS.match(problem) else problem


def refused_blocks(path, text, opt):
    for number, block in mlir_blocks(text):
        problem = parse(opt, block) if "evt.graph @" in block else parse_part(opt, block)
        if problem:
            yield f"{path}:{number}: the program is refused:\n{problem}"


def matches(expected, actual):
    """Whether the printed lines are the documented ones."""
    if not expected:
        return not actual
    if expected[0] == "…":
        return any(matches(expected[1:], actual[skipped:]) for skipped in range(len(actual) + 1))
    if not actual:
        return False
    pattern = ".*".join(map(re.escape, TIME.sub("<time> ", expected[0]).split("…")))
    return re.fullmatch(pattern, TIME.sub("<time> ", actual[0])) is not None and matches(expected[1:], actual[1:])


def run_example(root, example):
    """What is wrong with the example, or None."""
    done = subprocess.run(
        ["bash", "-c", example.command], cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=600,
    )
    where = f"{example.path}:{example.line}: `{example.command}`"
    actual = [line.rstrip() for line in done.stdout.splitlines()]
    if done.returncode != example.exit_code:
        shown = "\n".join("  " + line for line in actual)
        return f"{where} exits with {done.returncode}, documented is {example.exit_code}; it prints\n{shown}"
    if not matches(example.output, actual):
        shown = "\n".join("  " + line for line in actual)
        return f"{where} prints something else than documented:\n{shown}"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    parser.add_argument("--build", type=pathlib.Path, default=source_tree.ROOT / "build")
    parser.add_argument("--no-run", action="store_true", help="run nothing: check links and docs/ops only")
    options = parser.parse_args()
    passed = failed = 0

    def count(problem):
        nonlocal passed, failed
        if problem:
            print(problem)
        passed, failed = passed + (not problem), failed + bool(problem)

    count("\n".join(operation_docs.problems(options.root)))
    for path in source_tree.files(options.root, {".md"}):
        text = (options.root / path).read_text(encoding="utf-8")
        count("\n".join(broken_links(options.root, path)))
        if options.no_run:
            continue
        if any(mlir_blocks(text)):
            count("\n".join(refused_blocks(path, text, options.build / "bin/evt-opt")))
        if path == pathlib.Path("README.md") or path.is_relative_to("docs/guide"):
            for example in examples(path, text):
                count(run_example(options.root, example))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
