#!/usr/bin/python3
"""Runs clang-tidy, with the checks of .clang-tidy, over the C++ files that the build compiles.

    lint.py --build build [FILE…]      all of the project's files when none is named
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

import source_tree


def compiled_files(build):
    """The project's own files among the build's commands, each once."""
    commands = json.loads((build / "compile_commands.json").read_text())
    paths = {pathlib.Path(command["file"]).resolve() for command in commands}
    return sorted(
        path for path in paths if path.is_relative_to(source_tree.ROOT) and not path.is_relative_to(build.resolve()))


def lint(build, path):
    done = subprocess.run(
        ["clang-tidy-14", "--quiet", "-p", str(build), str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    return path, done.returncode, done.stdout or (done.stderr if done.returncode else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=source_tree.ROOT / "build")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    files = [path.resolve() for path in options.files] or compiled_files(options.build)
    clean = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(lambda path: lint(options.build, path), files):
            clean += code == 0
            if code:
                print(f"{path.relative_to(source_tree.ROOT)}:\n{output}", flush=True)
    print(f"{clean} files clean, {len(files) - clean} with findings")
    return 0 if clean == len(files) else 1


if __name__ == "__main__":
    sys.exit(main())
