#!/usr/bin/python3
"""Checks who may see whom, file names and file lengths.

A folder includes only what ALLOWED lists for it. A file may always include from its own folder. Prints one line for
each violation, as file:line: what was found and what is allowed, and exits with 1 if there is one.
"""

import pathlib
import re
import sys

import source_tree

ABI = "device/common/abi.h"

# Folder -> the folders and files its files may include besides its own. Of two folders, the longer name decides. A
# folder that is not listed is an error, so that a new one cannot slip past the borders.
ALLOWED = {
    "include": [],
    "system": [],
    "device/common": [],
    "device/cpu": ["device/common"],
    "device/cuda": ["device/common"],
    "runtime": ["include", ABI],
    "runtime/cuda": ["runtime", "include", ABI, "device/cuda/abi.h"],
    "runtime/cuda/fake": ["runtime", "include", "device/common", "device/cuda/abi.h",
                          "device/cuda/simulated/tensor_map.h"],
    "compiler/ir": [],
    "compiler/layout": ["compiler/ir"],
    "compiler/analysis": ["compiler/ir", "compiler/layout"],
    "compiler/transforms": ["compiler/ir", "compiler/layout", "compiler/analysis"],
    "compiler/roles": ["compiler/ir", "compiler/layout"],
    "compiler/emit": ["compiler/ir", "compiler/layout", "compiler/analysis", "compiler/roles", ABI],
    "compiler/builder": ["compiler/ir", "include"],
    "compiler/pipeline": ["compiler", "include", "system"],
    "models": ["compiler/builder", "compiler/ir", "include"],
    "models/config": [],
    "models/weights": ["models/config", "system"],
    "models/serve": ["models/config", "models/weights", "include"],
    "tools": ["compiler", "runtime", "models", "include", "system", ABI],
    "examples": ["include", "compiler/builder", "models"],
    "bench": ["compiler", "runtime", "models", "include", "device"],
    "test": ["compiler", "runtime", "models", "tools", "include", "device"],
}

# Code that a target owns lies in a folder of the target's name; nothing outside such a folder includes from it.
TARGETS = {"cpu", "cuda"}
# The folders that choose among targets.
CHOOSES_TARGET = ("tools", "bench", "test")

# Folders whose files may include MLIR and LLVM.
SEES_MLIR = ("compiler", "models", "tools", "test", "bench")
# Folders inside those whose files may not: what they read is needed where there is no compiler.
WITHOUT_MLIR = ("models/config", "models/weights", "models/serve")

FORBIDDEN_WORDS = {"util", "utils", "utility", "utilities", "helper", "helpers", "manager"}
MAX_LINES = 1000
INCLUDING = {".h", ".hpp", ".cpp", ".cc", ".c", ".cu", ".cuh", ".td", ".inc"}
COUNTED = INCLUDING | {".py", ".js", ".html", ".cmake", ".txt", ".mlir"}
INCLUDE = re.compile(r'^\s*#?\s*include\s+["<]([^">]+)[">]')


def folder_of(path):
    """The longest listed folder that holds path, or None."""
    text = path.as_posix()
    holders = [folder for folder in ALLOWED if text.startswith(folder + "/")]
    return max(holders, key=len, default=None)


def resolve(root, including, name, tree):
    """The project file that an include names, relative to root; None if it is not the project's.

    An include may also be found through a folder that some library adds to the include path: then the only file of
    the tree whose path ends in the name is meant.
    """
    for base in (root / including.parent, root, root / "include"):
        candidate = (base / name).resolve()
        if candidate.is_file() and candidate.is_relative_to(root):
            return candidate.relative_to(root)
    ending = [path for path in tree if path.as_posix().endswith("/" + name)]
    return ending[0] if len(ending) == 1 else None


def words_of(stem):
    """ThreadPoolUtils, thread_pool_utils -> thread pool utils."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", stem)}


def check_include(root, path, folder, name, tree):
    """What is wrong with this include, or None."""
    if name.split("/")[0] in ("mlir", "llvm", "mlir-c", "llvm-c"):
        if path.parts[0] not in SEES_MLIR:
            return f"includes {name}; only {', '.join(SEES_MLIR)} may see MLIR"
        if folder in WITHOUT_MLIR:
            return f"includes {name}; {folder} may not see MLIR"
    included = resolve(root, path, name, tree)
    if included is None or included.parent == path.parent:
        return None
    allowed = [folder] + ALLOWED[folder]
    text = included.as_posix()
    if not any(text == entry or text.startswith(entry + "/") for entry in allowed):
        return f"includes {text}; {folder} may include only {', '.join(allowed)}"
    targets = TARGETS.intersection(included.parts[:-1])
    if targets - set(path.parts) and path.parts[0] not in CHOOSES_TARGET:
        return f"includes {text}; only files in a {targets.pop()}/ folder may include from one"
    return None


def violations(root):
    """Yields (path, line, text)."""
    root = root.resolve()
    tree = source_tree.files(root)
    for path in tree:
        forbidden = words_of(path.stem) & FORBIDDEN_WORDS
        if forbidden:
            yield path, 1, f"is named after no concept: '{sorted(forbidden)[0]}'"
        if path.suffix not in COUNTED:
            continue
        lines = (root / path).read_text(encoding="utf-8").splitlines()
        if len(lines) > MAX_LINES:
            yield path, MAX_LINES + 1, f"has {len(lines)} lines; at most {MAX_LINES} are allowed"
        if path.suffix not in INCLUDING:
            continue
        folder = folder_of(path)
        if folder is None:
            yield path, 1, "lies in a folder that scripts/check_borders.py does not list"
            continue
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            problem = match and check_include(root, path, folder, match.group(1), tree)
            if problem:
                yield path, number, problem


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else source_tree.ROOT
    found = 0
    for path, line, text in violations(root):
        print(f"{path}:{line}: {text}")
        found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
