#!/usr/bin/python3
"""Runs every check of the project and sums what passed and failed.

Prints a line for each group, what the failing ones printed, and as the last line exactly `N passed, N failed`. Exits
with 0 only if nothing failed. Groups: lit, unit, examples, models, simulated, sanitizers, browser, scripts, format,
borders, docs.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
import xml.etree.ElementTree

import source_tree

ROOT = source_tree.ROOT
LLVM = pathlib.Path("/usr/lib/llvm-19")
SUM = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


class Tally:
    """What a group counted. A group that finds nothing to check has failed: nobody would notice a lost test."""

    def __init__(self, passed=0, failed=0, skipped=0, report=""):
        self.passed, self.failed, self.skipped, self.report = passed, failed, skipped, report


def run(command, **options):
    return subprocess.run(
        [str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", **options,
    )


def nothing(what):
    return Tally(failed=1, report=f"no {what} found\n")


def from_exit_code(done):
    """One check for a command that counts nothing itself; its own sum where it ends with one."""
    sums = SUM.findall(done.stdout)
    if sums:
        passed, failed = map(int, sums[-1])
        return Tally(passed, max(failed, done.returncode != 0), report=done.stdout if failed or done.returncode else "")
    if done.returncode:
        return Tally(failed=1, report=done.stdout)
    return Tally(passed=1)


def from_junit(path, done, what, output=None):
    """The cases of a JUnit file, which lit and ctest both write. What failed is said by output, or by the command's."""
    if not path.exists():
        return Tally(failed=1, report=done.stdout)
    tally = Tally()
    for case in xml.etree.ElementTree.parse(path).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            tally.failed += 1
        elif case.find("skipped") is not None:
            tally.skipped += 1
        else:
            tally.passed += 1
    if not tally.passed + tally.failed:
        return nothing(what)
    if done.returncode and not tally.failed:
        tally.failed = 1
    if tally.failed:
        tally.report = output or done.stdout
    return tally


def lit(build):
    """The text tests under test/."""
    report = build / "lit.xml"
    report.unlink(missing_ok=True)
    config = build / "test" / "lit.site.cfg.py"
    if not config.exists():
        return nothing("lit configuration")
    done = run(["/usr/bin/python3", LLVM / "build/utils/lit/lit.py", "-q", "-v", "--xunit-xml-output", report,
                config.parent])
    return from_junit(report, done, "text test")


def unit(build):
    """What ctest knows: the GoogleTest binaries that sit beside the code, and the programs under test/. The browser test
    is a group of its own, since it counts its checks itself."""
    report = build / "unit.xml"
    report.unlink(missing_ok=True)
    done = run(["ctest", "--test-dir", build, "-j", os.cpu_count(), "--timeout", 600, "--output-on-failure",
                "--exclude-regex", "^browser$", "--output-junit", report])
    failures = [line for line in done.stdout.splitlines() if not re.search(r"^ +Start +\d+: | Passed +[\d.]+ sec", line)]
    return from_junit(report, done, "unit test", "\n".join(failures) + "\n")


def examples(build):
    """Every example, shape, schedule and number of workers, against the example's reference."""
    if not any((ROOT / "examples").glob("*/reference.py")):
        return nothing("example")
    return from_exit_code(run(["/usr/bin/python3", ROOT / "test/run/run_examples.py", "--build", build], timeout=3600))


def models(build):
    """Steps of models of drawn dimensions against a decoder in NumPy, which is itself against transformers."""
    tally = Tally()
    for test in ("reference.py", "drawn.py"):
        one = from_exit_code(run(["/usr/bin/python3", ROOT / "test" / "models" / test, "--evt", build / "bin" / "evt"], timeout=3600))
        tally = Tally(tally.passed + one.passed, tally.failed + one.failed, report=tally.report + one.report)
    return tally


def simulated(build):
    """CUDA kernels of the examples and of tiny models, on a simulated GPU; protocols that are broken must be noticed."""
    return from_exit_code(run([ROOT / "test" / "simulated" / "run", "--build", build], timeout=3600))


def sanitizers(build):
    """The examples under ThreadSanitizer and Address- and UndefinedBehaviorSanitizer, one shape each."""
    script = ROOT / "test" / "sanitize" / "run_sanitizers.py"
    return from_exit_code(run(["/usr/bin/python3", script, "--build", build, "--shapes", 1], timeout=3600))


def browser(build):
    """The trace and graph pages, in a browser."""
    script = ROOT / "test" / "browser" / "run"
    return from_exit_code(run([script, build / "bin" / "evt_observe_pages"], timeout=600))


def scripts(build):
    """The tests of the checks themselves."""
    tally = Tally()
    for test in sorted((ROOT / "scripts").glob("*_test.py")):
        done = run(["/usr/bin/python3", test])
        ran = re.search(r"^Ran (\d+) tests? in", done.stdout, re.MULTILINE)
        wrong = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", done.stdout))) or (done.returncode != 0)
        tally.passed += (int(ran.group(1)) if ran else 0) - (wrong if ran else 0)
        tally.failed += wrong
        tally.report += done.stdout if done.returncode else ""
    return tally if tally.passed + tally.failed else nothing("test of a script")


def clang_format(build):
    """Every C++ file is as clang-format 14 writes it."""
    files = source_tree.files(suffixes=source_tree.CPP)
    if not files:
        return nothing("C++ file")
    done = run(["clang-format-14", "--dry-run", "-Werror", *files])
    if done.returncode == 0:
        return Tally(passed=1)
    wrong = sorted(set(re.findall(r"^([^:\s]+):\d+:\d+: error:", done.stdout, re.MULTILINE)))
    return Tally(failed=1, report=f"not formatted (./evt format does it): {', '.join(wrong) or done.stdout}\n")


def borders(build):
    """Folders include only what they may; names and lengths of files."""
    return from_exit_code(run(["/usr/bin/python3", ROOT / "scripts/check_borders.py"]))


def docs(build):
    """Links lead somewhere, and documented commands print what is documented."""
    return from_exit_code(run(["/usr/bin/python3", ROOT / "scripts/check_docs.py", "--build", build]))


GROUPS = {"lit": lit, "unit": unit, "examples": examples, "models": models, "simulated": simulated, "sanitizers": sanitizers, "browser": browser,
          "scripts": scripts, "format": clang_format, "borders": borders, "docs": docs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help=f"of {', '.join(GROUPS)}; all when none is named")
    options = parser.parse_args()
    unknown = [name for name in options.groups if name not in GROUPS]
    if unknown:
        parser.error(f"no group of checks is called '{unknown[0]}': there are {', '.join(GROUPS)}")
    passed = failed = 0
    for name in options.groups or GROUPS:
        start = time.monotonic()
        tally = GROUPS[name](options.build.resolve())
        if tally.report:
            print(tally.report.rstrip())
        skipped = f", {tally.skipped} skipped" if tally.skipped else ""
        print(f"{name + ':':10} {tally.passed} passed, {tally.failed} failed{skipped}"
              f"  ({time.monotonic() - start:.1f} s)", flush=True)
        passed, failed = passed + tally.passed, failed + tally.failed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
