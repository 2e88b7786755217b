#!/usr/bin/python3
"""Formats every C++ file of the project in place."""

import subprocess
import sys

import source_tree

files = [str(source_tree.ROOT / path) for path in source_tree.files(suffixes=source_tree.CPP)]
sys.exit(subprocess.run(["clang-format-14", "-i", *files]).returncode)
