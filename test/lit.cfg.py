# Text tests: a file of suffix .mlir or .test whose RUN lines are the test. Folders say what is looked at:
#
#   ir/          parsing, printing, verifying
#   transforms/  one file a pass
#   errors/      the exact text of diagnostics
#   emit/        the emitted source
#   run/         compiled and run
#
# Substitutions: %evt and %evt-opt are the built tools, %examples is the examples' folder, and lit's own %s and %t are
# the test's file and a temporary name. FileCheck, not and split-file are LLVM's.

import os

import lit.formats

config.name = "evt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["browser", "fuzz", "install", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.evt_build, "test")

# The longer name first: %evt is a prefix of %evt-opt.
config.substitutions.append(("%evt-opt", os.path.join(config.evt_build, "bin", "evt-opt")))
config.substitutions.append(("%evt", os.path.join(config.evt_build, "bin", "evt")))
config.substitutions.append(("%examples", os.path.join(config.evt_source, "examples")))
config.environment["PATH"] = os.pathsep.join([config.evt_llvm_bin, config.environment["PATH"]])
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=all"

if os.path.exists("/dev/nvidia0"):
    config.available_features.add("gpu")
