#!/usr/bin/python3
"""run_checks.py counts what commands and JUnit files report, and takes silence for failure."""

import pathlib
import subprocess
import tempfile
import unittest

import run_checks


def done(code, output):
    return subprocess.CompletedProcess([], code, stdout=output)


def counts(tally):
    return tally.passed, tally.failed, tally.skipped


class Counting(unittest.TestCase):
    def test_a_command_that_counts(self):
        self.assertEqual(counts(run_checks.from_exit_code(done(0, "a\n7 passed, 0 failed\n"))), (7, 0, 0))
        self.assertEqual(counts(run_checks.from_exit_code(done(1, "7 passed, 2 failed\n"))), (7, 2, 0))
        self.assertEqual(counts(run_checks.from_exit_code(done(1, "7 passed, 0 failed\n"))), (7, 1, 0))

    def test_a_command_that_does_not(self):
        self.assertEqual(counts(run_checks.from_exit_code(done(0, "fine\n"))), (1, 0, 0))
        failed = run_checks.from_exit_code(done(2, "why\n"))
        self.assertEqual((counts(failed), failed.report), ((0, 1, 0), "why\n"))

    def junit(self, text, code):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "r.xml"
            if text:
                path.write_text(text)
            return counts(run_checks.from_junit(path, done(code, "output"), "test"))

    def test_junit(self):
        cases = "<testcase name='a'/><testcase name='b'><skipped/></testcase>"
        wrong = "<testcase name='c'><failure/></testcase>"
        self.assertEqual(self.junit(f"<testsuites><testsuite>{cases}</testsuite></testsuites>", 0), (1, 0, 1))
        self.assertEqual(self.junit(f"<testsuite>{cases}{wrong}</testsuite>", 1), (1, 1, 1))

    def test_a_runner_that_fails_otherwise_has_failed(self):
        self.assertEqual(self.junit("<testsuite><testcase name='a'/></testsuite>", 8), (1, 1, 0))
        self.assertEqual(self.junit(None, 1), (0, 1, 0))

    def test_nothing_found_has_failed(self):
        self.assertEqual(self.junit("<testsuite/>", 0), (0, 1, 0))


if __name__ == "__main__":
    unittest.main()
