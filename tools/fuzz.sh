#!/usr/bin/env bash
# Builds the libFuzzer targets (fuzz/fuzz_NAME.c) with clang and runs each for a while.
#
#   tools/fuzz.sh [SECONDS [NAME...]]
#
# The seeds in fuzz/corpus/NAME are read, never written: new inputs go to build-fuzz/corpus/NAME,
# which later runs start from. An input that crashes is kept in build-fuzz/crashes.
# FUZZ_SEED fixes the random numbers; by default every run tries something else.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
seconds=${1:-60}
shift || true
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
folder=build-fuzz
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for source in fuzz/fuzz_*.c; do
        [ -f "$source" ] || continue
        name=${source#fuzz/fuzz_}
        names+=("${name%.c}")
    done
fi
if [ ${#names[@]} -eq 0 ]; then
    echo "fuzz: there is no fuzz/fuzz_*.c" >&2
    exit 1
fi
tools/configure.sh fuzz "$folder" ${CMAKE_ARGS:-} || exit 1
cmake --build "$folder" --parallel "$jobs" --target "${names[@]/#/fuzz_}" || exit 1

# fuzz NAME: the log stays in $folder/NAME.log. A reader may take a small multiple of its input's
# size, and no second for 64 KiB.
fuzz() {
    local name=$1 options=(-max_total_time="$seconds" -max_len=65536 -timeout=10
        -rss_limit_mb=2048 -malloc_limit_mb=64 -artifact_prefix="$folder/crashes/$1-" -print_final_stats=1)
    local program=$folder/fuzz_$name
    [ -x "$program" ] || program=$folder/fuzz/fuzz_$name
    [ ! -f "fuzz/$name.dict" ] || options+=(-dict="fuzz/$name.dict")
    [ -z "${FUZZ_SEED:-}" ] || options+=(-seed="$FUZZ_SEED")
    mkdir -p "$folder/corpus/$name" "$folder/crashes"
    local seeds=()
    [ ! -d "fuzz/corpus/$name" ] || seeds=("fuzz/corpus/$name")
    # In place of this subshell, so that ending it ends the program.
    exec env OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 UBSAN_OPTIONS=print_stacktrace=1 \
        tools/sanitized.sh "$program" "${options[@]}" "$folder/corpus/$name" "${seeds[@]}" \
        >"$folder/$name.log" 2>&1
}

passed=0
failed=0
# As many targets at a time as there are cores.
running=()
started=()
trap '[ ${#running[@]} -eq 0 ] || kill "${running[@]}" 2>/dev/null' EXIT
trap 'exit 130' INT TERM
finish_oldest() {
    local name=${started[0]}
    if wait "${running[0]}"; then
        local runs
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/$name.log")
        echo "fuzz_$name: $seconds s, ${runs:-0} inputs, no finding"
        passed=$((passed + 1))
    else
        tail -n 60 "$folder/$name.log"
        echo "fuzz_$name: FAILED; see $folder/$name.log and $folder/crashes" >&2
        failed=$((failed + 1))
    fi
    running=("${running[@]:1}")
    started=("${started[@]:1}")
}
for name in "${names[@]}"; do
    fuzz "$name" &
    running+=($!)
    started+=("$name")
    [ ${#running[@]} -lt "$jobs" ] || finish_oldest
done
while [ ${#running[@]} -gt 0 ]; do finish_oldest; done
echo "fuzz: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
