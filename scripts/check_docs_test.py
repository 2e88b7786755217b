#!/usr/bin/python3
"""check_docs.py finds broken links and outdated console output, and accepts what is true."""

import pathlib
import tempfile
import unittest
import unittest.mock

import check_docs

DOCUMENT = """# Title
```console
$ echo one; echo two 2 s
one
two … s
$ false  # exit code 1
$ seq 5
1
…
5
```
"""


class Docs(unittest.TestCase):
    def run_document(self, text):
        root = pathlib.Path("/")
        return [check_docs.run_example(root, example) for example in check_docs.examples(pathlib.Path("x.md"), text)]

    def test_true_output_passes(self):
        self.assertEqual(self.run_document(DOCUMENT), [None, None, None])

    def test_other_output_is_found(self):
        problem = self.run_document(DOCUMENT.replace("one\ntwo", "one\nthree"))[0]
        self.assertEqual(
            problem, "x.md:3: `echo one; echo two 2 s` prints something else than documented:\n  one\n  two 2 s")

    def test_times_differ(self):
        self.assertEqual(self.run_document("```console\n$ echo 'took 0.31 s, 2 workers'\ntook 12 s, 2 workers\n```\n"), [None])
        self.assertIsNotNone(
            self.run_document("```console\n$ echo 'took 0.31 s, 2 workers'\ntook 12 s, 3 workers\n```\n")[0])

    def test_missing_and_additional_lines_are_found(self):
        self.assertIsNotNone(self.run_document("```console\n$ seq 2\n1\n```\n")[0])
        self.assertIsNotNone(self.run_document("```console\n$ seq 2\n1\n2\n3\n```\n")[0])

    def test_exit_code_is_compared(self):
        problem = self.run_document("```console\n$ echo a; exit 3\na\n```\n")[0]
        self.assertEqual(problem, "x.md:2: `echo a; exit 3` exits with 3, documented is 0; it prints\n  a")

    def test_programs(self):
        text = "```mlir\n%p = evt.alloc()\n```\n```mlir\nevt.graph @g() {\n}\n```\n```mlir\n…\n```\n"
        self.assertEqual(list(check_docs.mlir_blocks(text)), [(1, "%p = evt.alloc()\n"), (4, "evt.graph @g() {\n}\n")])
        self.assertEqual(list(check_docs.refused_blocks(pathlib.Path("x.md"), text, "/usr/bin/true")), [])
        self.assertEqual(
            list(check_docs.refused_blocks(pathlib.Path("x.md"), text, "/usr/bin/false")),
            [f"x.md:{line}: the program is refused:\nrefused without a message" for line in (1, 4)])

    def test_parts_of_programs(self):
        answers = []  # what the parser says to one text after the other
        programs = []

        def parse(_, program):
            programs.append(program)
            return answers[len(programs) - 1]

        undeclared = "<stdin>:{}: error: use of undeclared SSA value name\n"
        other = "<stdin>:3:5: error: use of value '{}' expects different type than prior uses: '{}' vs 'index'\n"
        with unittest.mock.patch.object(check_docs, "parse", parse):
            answers += [undeclared.format("3:6"), other.format("%n", "i32"), ""]
            self.assertEqual(check_docs.parse_part("opt", "use (%n)\n"), "")
            self.assertIn("^bb0(%n: i32):\nuse (%n)\n", programs[-1])
            # A name for values of two types is a mistake, and so is whatever else is wrong.
            programs.clear()
            answers[:] = [undeclared.format("3:6"), other.format("%n", "i32"), other.format("%n", "i64")]
            self.assertEqual(check_docs.parse_part("opt", "use (%n)\n"), answers[-1])
            programs.clear()
            answers[:] = ["<stdin>:3:1: error: 'evt.event' op expects parent op 'evt.graph'\n"]
            self.assertEqual(check_docs.parse_part("opt", "%e = evt.event() count(1) : !evt.event<>\n"), "")
            programs.clear()
            answers[:] = ["<stdin>:3:1: error: expected ':'\n"]
            self.assertEqual(check_docs.parse_part("opt", "%e = evt.event() count(1)\n"), answers[0])

    def test_links(self):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "there.md").write_text("")
            (root / "a.md").write_text(
                "[x](there.md#part) [y](https://example.org) [z](#here)\n```\n[code](no.md)\n```\n![p](gone.svg)\n")
            self.assertEqual(
                list(check_docs.broken_links(root, pathlib.Path("a.md"))),
                ["a.md:5: links to gone.svg, which does not exist"],
            )


if __name__ == "__main__":
    unittest.main()
