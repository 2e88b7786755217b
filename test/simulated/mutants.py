"""Device headers with one line broken, and the example that must notice.

A mutant is a copy of device/ with a text replaced, put before the true headers when a kernel is compiled. It is noticed
if, under one of a few seeds, a run gives other results than expected, is stuck, or is ended by the simulated GPU.
"""

import collections
import pathlib
import re
import shutil
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

Mutant = collections.namedtuple("Mutant", "name file old new example schedule", defaults=["static"])

ALL = [
    Mutant("stages are read before they have arrived", "common/rings.h",
           "    Sync::wait(full[at.slot], at.round);\n    const int slot = at.slot;", "    const int slot = at.slot;", "decode_chain"),
    Mutant("stages are filled before they are free", "common/rings.h",
           "    Sync::wait(empty[slot], at.round ^ 1);\n    announce", "    announce", "decode_chain"),
    Mutant("sums are taken before they are there", "common/rings.h",
           "EVT_INLINE void begin_take() { Sync::wait(full[at.slot], at.round); }", "EVT_INLINE void begin_take() {}", "decode_chain"),
    Mutant("sums are overwritten before they are taken", "common/rings.h",
           "EVT_INLINE void begin_put() { Sync::wait(empty[at.slot], at.round ^ 1); }", "EVT_INLINE void begin_put() {}",
           "decode_chain"),
    Mutant("rows of tiles are fetched before their events", "cuda/tile_ring.h",
           "    if (!waits(ahead))\n      task.skipped = 1;", "", "prefill_layers"),
    Mutant("operands that tasks write are fetched before their events", "cuda/tile_ring.h",
           "      goes_on = waits(ahead, passed, to);\n", "", "causal_mixing"),
    Mutant("columns are fetched before the last event they need", "cuda/tile_ring.h",
           "INT64_MAX : ceildiv(most(end, 1), columns);", "INT64_MAX : ceildiv(most(end, 1), columns) - 1;", "causal_mixing"),
    Mutant("the last columns are fetched before all events", "cuda/tile_ring.h",
           "is_last ? INT64_MAX : ceildiv(", "is_last ? passed : ceildiv(", "causal_mixing"),
    Mutant("stages of tiles are given back before their products are over", "cuda/tiled.h",
           "    ptx::wgmma_wait<is_large ? 1 : 0>();\n", "", "prefill_layers"),
    Mutant("weights of tiles are multiplied before they have arrived", "cuda/tile_ring.h",
           "    ptx::barrier_wait(weights[at.slot], at.round);\n", "", "decode_chain"),
    Mutant("nobody gives stages back for warps that skip them", "cuda/tiled.h",
           "      ring.release_twice();\n", "      ring.release();\n", "decode_chain"),
    Mutant("warps skip one stage too few", "cuda/tiled.h", "    ring.skip(count - seen);\n", "    ring.skip(count - seen - 1);\n",
           "decode_chain"),
    Mutant("what is found early is not handed over", "cuda/tiled.h", "      early[0][i] = of_early[i * group_threads];\n", "      early[0][i] = 0;\n",
           "decode_chain"),
    Mutant("tasks do not wait for events", "cuda/worker.h",
           "    if (has_seen(event, counters, element))\n      return true;\n    if (ptx::load_acquire",
           "    return true;\n    if (ptx::load_acquire", "stencil2d"),
    Mutant("a task's threads do not meet", "cuda/worker.h",
           "static void sync() { ptx::meet(compute_barrier, compute_threads); }", "static void sync() {}", "stencil2d"),
    Mutant("counters are not cleared for the next launch", "cuda/kernel.h",
           "      P.reset(Kernel::dynamic);\n", "      {}\n", "row_sum", "ticket"),
    Mutant("a ready task is pushed twice", "cuda/dynamic.h",
           "    if (pending.count)\n      publish(pending);", "    if (pending.count)\n      publish(pending), publish(pending);", "moe",
           "dynamic"),
]


def make(mutant, folder):
    """The mutant's headers, under folder/device."""
    shutil.copytree(ROOT / "device", folder / "device")
    path = folder / "device" / mutant.file
    text = path.read_text()
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file} has the text to be replaced {text.count(mutant.old)} times, required is once")
    path.write_text(text.replace(mutant.old, mutant.new))


def noticed(simulator, example, schedule, folder, seeds):
    """Whether a kernel compiled with the headers under folder fails under one of these seeds. Throws RuntimeError where it
    does not compile, or is not run."""
    artifact = folder / f"{example}.evt"
    code, text = simulator.compile(ROOT / "examples" / example / f"{example}.mlir", artifact, "--only-schedule", schedule,
                                   flags=f"-I{folder}")
    if code:
        raise RuntimeError(f"does not compile\n{text}")
    command = [sys.executable, ROOT / "test/run/run_examples.py", "--build", simulator.build, "--target", "cuda", "--quick", "--stop",
               "--schedules", schedule, "--artifacts", folder, example]
    wrong = re.compile(f"^{example}: .*, {schedule}: ", re.MULTILINE)  # what a run of a shape says
    for seed in seeds:
        code, text = simulator.run(command, timeout=120, EVT_SIMULATED_SEED=str(seed), EVT_SIMULATED_PATIENCE="2")
        if code < 0 or wrong.search(text):  # ended by the simulated GPU or by a time limit, or other results
            return True
        if code:
            raise RuntimeError(f"could not be tried\n{text}")
    return False


def problem_of(simulator, mutant, folder, seeds):
    """Why the mutant was not noticed, or None."""
    make(mutant, folder)
    if noticed(simulator, mutant.example, mutant.schedule, folder, range(1, seeds + 1)):
        return None
    return f"not noticed under {seeds} seeds by {mutant.example}"


def checks(simulator, seeds):
    """(name, what is wrong, in a folder): every mutant, and before them the examples and schedules that they are noticed by, which
    must not fail with the true headers."""

    def control(case):
        return f"no mutant, {' '.join(case)}", lambda folder: "fails" if noticed(simulator, *case, folder, [1]) else None

    def broken(mutant):
        return f"mutant '{mutant.name}'", lambda folder: problem_of(simulator, mutant, folder, seeds)

    return [*map(control, sorted({(mutant.example, mutant.schedule) for mutant in ALL})), *map(broken, ALL)]
