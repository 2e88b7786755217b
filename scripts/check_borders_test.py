#!/usr/bin/python3
"""Each rule of check_borders.py finds its violation, and says nothing about the allowed neighbour of it."""

import pathlib
import tempfile
import unittest

import check_borders


class Borders(unittest.TestCase):
    def check(self, files):
        """The violations of a tree with these files, as text."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, content in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(content)
            return [f"{path}:{line}: {text}" for path, line, text in check_borders.violations(root)]

    def test_compiler_and_runtime_do_not_see_each_other(self):
        tree = {"compiler/ir/A.h": "", "runtime/B.h": ""}
        self.assertEqual(
            self.check(tree | {"runtime/B.cpp": '#include "runtime/B.h"\n#include "compiler/ir/A.h"\n'}),
            ["runtime/B.cpp:2: includes compiler/ir/A.h; runtime may include only runtime, include, device/common/abi.h"],
        )
        self.assertEqual(
            self.check(tree | {"compiler/ir/A.cpp": '#include "A.h"\n\n#include "runtime/B.h"\n'}),
            ["compiler/ir/A.cpp:3: includes runtime/B.h; compiler/ir may include only compiler/ir"],
        )

    def test_runtime_sees_the_abi_and_no_other_device_header(self):
        tree = {"device/common/abi.h": "", "device/common/ring.h": ""}
        self.assertEqual(self.check(tree | {"runtime/B.cpp": '#include "device/common/abi.h"\n'}), [])
        self.assertEqual(
            self.check(tree | {"runtime/B.cpp": '#include "device/common/ring.h"\n'}),
            ["runtime/B.cpp:1: includes device/common/ring.h; runtime may include only runtime, include, "
             "device/common/abi.h"],
        )

    def test_device_sees_nothing_else(self):
        self.assertEqual(
            self.check({"include/evt/evt.h": "", "device/cpu/a.h": "#include <evt/evt.h>\n"}),
            ["device/cpu/a.h:1: includes include/evt/evt.h; device/cpu may include only device/cpu, device/common"],
        )

    def test_order_inside_the_compiler(self):
        tree = {"compiler/analysis/A.h": "", "compiler/transforms/T.h": "", "compiler/ir/I.h": ""}
        self.assertEqual(
            self.check(tree | {"compiler/transforms/T.cpp": '#include "compiler/analysis/A.h"\n',
                               "compiler/emit/E.cpp": '#include "compiler/ir/I.h"\n'}), [])
        self.assertEqual(
            self.check(tree | {"compiler/emit/E.cpp": '#include "../transforms/T.h"\n'}),
            ["compiler/emit/E.cpp:1: includes compiler/transforms/T.h; compiler/emit may include only compiler/emit, "
             "compiler/ir, compiler/layout, compiler/analysis, compiler/roles, device/common/abi.h"],
        )

    def test_short_spelling_hides_nothing(self):
        self.assertEqual(
            self.check({"compiler/transforms/T.h": "", "compiler/ir/I.cpp": '#include "T.h"\n'}),
            ["compiler/ir/I.cpp:1: includes compiler/transforms/T.h; compiler/ir may include only compiler/ir"],
        )

    def test_table_definitions_are_checked_too(self):
        self.assertEqual(
            self.check({"compiler/transforms/P.td": "", "compiler/ir/O.td": 'include "compiler/transforms/P.td"\n'}),
            ["compiler/ir/O.td:1: includes compiler/transforms/P.td; compiler/ir may include only compiler/ir"],
        )

    def test_generic_code_does_not_see_a_target(self):
        tree = {"compiler/emit/cuda/C.h": ""}
        self.assertEqual(self.check(tree | {"compiler/emit/cuda/C.cpp": '#include "compiler/emit/cuda/C.h"\n'}), [])
        self.assertEqual(
            self.check(tree | {"compiler/emit/E.cpp": '#include "compiler/emit/cuda/C.h"\n'}),
            ["compiler/emit/E.cpp:1: includes compiler/emit/cuda/C.h; only files in a cuda/ folder may include from one"],
        )

    def test_only_the_compiler_sees_mlir(self):
        source = '#include "mlir/IR/Builders.h"\n'
        self.assertEqual(self.check({"compiler/ir/A.cpp": source}), [])
        self.assertEqual(
            self.check({"runtime/A.cpp": source}),
            ["runtime/A.cpp:1: includes mlir/IR/Builders.h; only compiler, models, tools, test, bench may see MLIR"],
        )

    def test_weights_see_neither_compiler_nor_runtime(self):
        tree = {"compiler/builder/B.h": "", "runtime/R.h": "", "models/config/C.h": "", "models/weights/W.h": ""}
        self.assertEqual(
            self.check(tree | {"models/M.cpp": '#include "mlir/IR/Builders.h"\n#include "compiler/builder/B.h"\n'
                                               '#include "models/config/C.h"\n',
                               "models/weights/W.cpp": '#include "models/config/C.h"\n'}), [])
        self.assertEqual(
            self.check(tree | {"models/weights/W.cpp": '#include "runtime/R.h"\n#include "compiler/builder/B.h"\n',
                               "models/config/C.cpp": '#include "models/weights/W.h"\n#include "mlir/IR/Builders.h"\n'}),
            ["models/config/C.cpp:1: includes models/weights/W.h; models/config may include only models/config",
             "models/config/C.cpp:2: includes mlir/IR/Builders.h; models/config may not see MLIR",
             "models/weights/W.cpp:1: includes runtime/R.h; models/weights may include only models/weights, models/config, "
             "system",
             "models/weights/W.cpp:2: includes compiler/builder/B.h; models/weights may include only models/weights, "
             "models/config, system"],
        )

    def test_names_say_the_concept(self):
        for name, word in (("StringUtils.h", "utils"), ("queue_helper.cpp", "helper"), ("TaskManager.cpp", "manager")):
            self.assertEqual(
                self.check({f"runtime/{name}": ""}), [f"runtime/{name}:1: is named after no concept: '{word}'"])
        self.assertEqual(self.check({"runtime/Utilization.h": ""}), [])

    def test_length(self):
        self.assertEqual(self.check({"runtime/A.h": "\n" * 1000}), [])
        self.assertEqual(
            self.check({"runtime/A.h": "\n" * 1001}), ["runtime/A.h:1001: has 1001 lines; at most 1000 are allowed"])

    def test_unlisted_folder(self):
        self.assertEqual(
            self.check({"extras/a.cpp": ""}),
            ["extras/a.cpp:1: lies in a folder that scripts/check_borders.py does not list"],
        )


if __name__ == "__main__":
    unittest.main()
