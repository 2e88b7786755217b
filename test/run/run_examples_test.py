#!/usr/bin/python3
"""The driver of the examples must notice what is wrong: tested with programs that write what we tell them."""

import types
import unittest

import numpy as np

import launcher
import run_examples

example = run_examples.example


class Scripted:
    """A program of one input x and one output y that writes the next of the given arrays at each launch."""

    def __init__(self, *results):
        tensor = {"is_tensor": True, "is_bfloat16": False, "dtype": np.float32}
        self.arguments = [types.SimpleNamespace(name="x", is_written=False, **tensor),
                          types.SimpleNamespace(name="y", is_written=True, **tensor)]
        self.results = list(results)
        self.seen = []

    def launch(self, values, schedule, workers, perturb):
        self.seen.append(values["y"].copy())
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        if result is not None:
            values["y"][...] = result


DOUBLE = types.SimpleNamespace(TOLERANCE=1e-5, inputs=lambda shape, rng: {"x": np.array([3, 4], np.float32)},
                               expected=lambda shape, inputs: {"y": inputs["x"].astype(np.float64) * 2})


class CaseTest(unittest.TestCase):
    def problems(self, *results, reference=DOUBLE):
        program = Scripted(*results)
        case = run_examples.Case(reference, program, "n=2")
        return [case.problem(program, "static", 1) for _ in results], program

    def test_right_results_pass(self):
        problems, _ = self.problems([6, 8], [6, 8])
        self.assertEqual(problems, [None, None])

    def test_what_is_not_written_fails_since_outputs_start_as_nan(self):
        problems, program = self.problems(None)
        self.assertTrue(np.isnan(program.seen[0]).all())
        self.assertEqual(problems, ["'y' is off by inf, allowed is 1e-05"])

    def test_outputs_are_poisoned_before_every_run(self):
        problems, _ = self.problems([6, 8], None)
        self.assertEqual(problems, [None, "'y' is off by inf, allowed is 1e-05"])

    def test_error_is_relative_to_the_norm(self):
        problems, _ = self.problems([6, 8.00005], [6, 8.001])
        self.assertIsNone(problems[0])
        self.assertEqual(problems[1], "'y' is off by 1.00e-04, allowed is 1e-05")

    def test_other_bits_fail_even_within_the_tolerance(self):
        problems, _ = self.problems([6, 8], [6, np.nextafter(np.float32(8), np.float32(9))])
        self.assertEqual(problems, [None, "'y' has other bits than in the first run of this shape"])

    def test_a_launch_that_is_refused_fails_with_its_message(self):
        problems, _ = self.problems(launcher.LaunchError("argument 'x' has rank 1, required is 2"))
        self.assertEqual(problems, ["argument 'x' has rank 1, required is 2"])

    def test_an_output_without_reference_is_refused(self):
        silent = types.SimpleNamespace(TOLERANCE=1e-5, inputs=DOUBLE.inputs, expected=lambda shape, inputs: {})
        with self.assertRaisesRegex(ValueError, r"the graph writes \['y'\], the reference gives \[\]"):
            self.problems([6, 8], reference=silent)


class RelativeErrorTest(unittest.TestCase):
    def test_zero_must_be_zero(self):
        self.assertEqual(run_examples.relative_error(np.zeros(3), np.zeros(3)), 0)
        self.assertEqual(run_examples.relative_error(np.array([0, 1e-30, 0]), np.zeros(3)), np.inf)

    def test_nothing_is_right(self):
        self.assertEqual(run_examples.relative_error(np.zeros((0, 4)), np.zeros((0, 4))), 0)


class BFloat16Test(unittest.TestCase):
    def test_rounds_to_nearest_even(self):
        # 1 + 2^-7 is the next bf16 after 1; halfway goes to the even one.
        values = [1.0, 1 + 2**-7, 1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, -1 - 2**-8]
        bits = [0x3F80, 0x3F81, 0x3F80, 0x3F82, 0x3F81, 0xBF80]
        self.assertEqual(example.BFloat16.rounded(np.array(values, np.float32)).bits.tolist(), bits)

    def test_reads_back(self):
        self.assertEqual(example.BFloat16(np.array([0x3F80, 0xC040], np.uint16)).float64().tolist(), [1.0, -3.0])


class ShapesTest(unittest.TestCase):
    def test_every_example_has_at_least_thirty_different_shapes(self):
        for name in run_examples.names_of_examples():
            lines = example.read_shapes(run_examples.ROOT / "examples" / name)
            self.assertGreaterEqual(len(set(lines)), 30, name)
            self.assertEqual(len(set(lines)), len(lines), name)

    def test_a_line_is_a_dictionary(self):
        self.assertEqual(example.parse_shape("m=3 lens=zero k=0"), {"m": 3, "lens": "zero", "k": 0})


if __name__ == "__main__":
    unittest.main()
