#!/bin/sh
# Installs a build of evt's runtime into an empty prefix, builds the consumer project against that prefix alone, and
# runs its C and its C++ program on an artifact of the row-sum graph written by hand and, where the build has the compiler, on
# the one that an installed `evt compile` makes of the installed examples/row_sum. That tool is put elsewhere first, takes device
# headers from where it is, and needs no library but C's and C++'s.
#
# usage: check_install.sh BUILD_DIRECTORY ARTIFACT SCRATCH_DIRECTORY
set -eu
if [ $# -ne 3 ]; then
  sed -n '2,7p' "$0" >&2
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
[ -x "$build/bin/evt-opt" ] || exit 0
fail() {
  echo "$*" >&2
  exit 1
}
rm -rf "$scratch/row_sum.evt" "$scratch/installed" "$scratch/moved"
cmake --install "$build" --component tools --prefix "$scratch/installed" --strip >>"$scratch/install.log"
mv "$scratch/installed" "$scratch/moved"
evt=$scratch/moved/bin/evt source=$scratch/moved/share/evt/examples/row_sum/row_sum.mlir
readelf -d "$evt" >"$scratch/dynamic"
needed=$(<"$scratch/dynamic" sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux-.*)\.so' || true)
[ -z "$needed" ] || fail "an installed evt needs $needed"
"$evt" compile "$source" -o "$scratch/row_sum.evt"
run "$scratch/row_sum.evt"
echo '#error "the installed headers"' >>"$scratch/moved/share/evt/device/cpu/kernel.h"
if "$evt" compile "$source" -o "$scratch/row_sum.evt" 2>"$scratch/refused.log"; then
  fail "an installed evt takes device headers from elsewhere"
fi
grep -q 'the installed headers' "$scratch/refused.log" || fail "$(cat "$scratch/refused.log")"
