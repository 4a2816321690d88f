#!/bin/sh
# Builds the fuzzers and runs each for a while on its seeds.
#   fuzz/run.sh SECONDS [NAME…]      NAME as in fuzz_NAME.c; all by default
# New inputs go to BUILD/corpus/NAME, crashes to BUILD/crash-NAME-*. BUILD is build-fuzz unless set.
# Exit status 1 if any fuzzer found something.
set -eu
seconds=${1:?usage: fuzz/run.sh SECONDS [NAME...]}
shift
here=$(cd "$(dirname "$0")" && pwd)
build=${BUILD:-$here/../build-fuzz}
cmake -S "$here/.." -B "$build" -DCMAKE_C_COMPILER="${CC:-clang}" -DHOOKE_FUZZ=ON -DHOOKE_SANITIZE=ON \
    -DHOOKE_TESTS=OFF -DHOOKE_BENCH=OFF >/dev/null
cmake --build "$build" --target fuzzers -j "${JOBS:-2}" >/dev/null
if [ $# -eq 0 ]; then
    for source in "$here"/fuzz_*.c; do
        name=$(basename "$source" .c)
        set -- "$@" "${name#fuzz_}"
    done
fi
status=0
for name in "$@"; do
    mkdir -p "$build/corpus/$name" "$here/corpus/$name"
    # A reader may take a small multiple of its input's size, and no second for 64 KiB.
    if "$build/fuzz_$name" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
        -rss_limit_mb=2048 -malloc_limit_mb=64 -print_final_stats=1 -verbosity=0 \
        -artifact_prefix="$build/crash-$name-" "$build/corpus/$name" "$here/corpus/$name" \
        >"$build/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
        echo "$name: $runs runs, nothing found"
    else
        echo "$name: FAILED, see $build/$name.log"
        tail -n 20 "$build/$name.log"
        status=1
    fi
done
exit $status
