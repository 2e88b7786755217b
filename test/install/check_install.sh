#!/bin/sh
# Installs a build of evt's runtime into an empty prefix, builds the consumer project against that prefix alone, and
# runs its C and its C++ program on an artifact of the row-sum graph written by hand and, where the build has the compiler, on
# the one that `evt compile` makes of examples/row_sum.
#
# usage: check_install.sh BUILD_DIRECTORY ARTIFACT SCRATCH_DIRECTORY
set -eu
if [ $# -ne 3 ]; then
  sed -n '2,6p' "$0" >&2
  exit 2
fi
build=$1 artifact=$2 scratch=$3
consumer=$(cd "$(dirname "$0")" && pwd)/consumer

rm -rf "$scratch/prefix" "$scratch/build"
mkdir -p "$scratch"
cmake --install "$build" --component runtime --prefix "$scratch/prefix" >"$scratch/install.log"
cmake -G Ninja -S "$consumer" -B "$scratch/build" -DCMAKE_PREFIX_PATH="$scratch/prefix" -DCMAKE_BUILD_TYPE=Release \
  >"$scratch/configure.log"
cmake --build "$scratch/build" >"$scratch/build.log" || { cat "$scratch/build.log" >&2; exit 1; }
run() {
  "$scratch/build/row_sum_c" "$1"
  "$scratch/build/row_sum_cpp" "$1"
}
run "$artifact"
if [ -x "$build/bin/evt-opt" ]; then
  rm -rf "$scratch/row_sum.evt"
  "$build/bin/evt" compile "$consumer/../../../examples/row_sum/row_sum.mlir" -o "$scratch/row_sum.evt"
  run "$scratch/row_sum.evt"
fi
