#!/usr/bin/env bash
# Builds and runs test suites and ends with what failed, what was skipped and why, and a line
# "N passed, M failed, K skipped". Every suite runs even if an earlier one failed; the exit status is
# that of all of them.
#
#   tools/test.sh SUITE...      suites: release asan fuzz aarch64 page install python
#
# A suite that does not build counts as one failure. FUZZ_SECONDS is the time for each fuzz target.
# A test that leaves something out prints a line "skipped: REASON" for each such thing.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
passed=0
failed=0
summary=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
touch "$logs/failures" "$logs/skips"

# record SUITE PASSED FAILED STATUS: a suite that fails without counting a failure has failed once.
record() {
    local suite=$1 good=$2 bad=$3 status=$4
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "$suite: it ended with status $status" >>"$logs/failures"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    summary+=("$(printf '%-8s %4d passed, %d failed, %d s' "$suite" "$good" "$bad" \
        $((SECONDS - started)))")
}

# The numbers of the line "SUITE: N passed, M failed" that ends a suite's log, or "0 0".
counts_of() {
    local counts
    counts=$(sed -n "s/^$1: \([0-9]*\) passed, \([0-9]*\) failed\$/\1 \2/p" "$logs/$1" | tail -n 1)
    echo "${counts:-0 0}"
}

build() {
    tools/configure.sh "$1" "$2" ${CMAKE_ARGS:-} && cmake --build "$2" --parallel "$jobs"
}

# ctest says "90% tests passed, 1 tests failed out of 10" and then lists "  3 - NAME (Failed)"; its
# log has what every program printed.
read_ctest() {
    local suite=$1 folder=$2 log=$3 status=$4 good=0 bad=0 counts
    counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' \
        "$log" | tail -n 1)
    if [ -n "$counts" ]; then
        bad=${counts% *}
        good=$((${counts#* } - bad - $(grep -c '^[[:space:]]*[0-9]* - .* (Skipped)$' "$log")))
    fi
    sed -n "s/^[[:space:]]*[0-9]* - \(.*\) (Skipped)$/$suite: \1: this build has no direct solver/p" \
        "$log" >>"$logs/skips"
    sed -n '/^The following tests FAILED:/,$s/^[[:space:]]*[0-9]* - \(.*\)/\1/p' "$log" |
        sed "s/^/$suite: /" >>"$logs/failures"
    [ ! -f "$folder/Testing/Temporary/LastTest.log" ] ||
        awk -v suite="$suite" '/^[0-9]+\/[0-9]+ Test(ing)?: / { name = $3 }
            /^skipped: / { print suite ": " name ": " substr($0, 10) }' \
            "$folder/Testing/Temporary/LastTest.log" | sort -u >>"$logs/skips"
    record "$suite" "$good" "$bad" "$status"
}

run_ctest() {
    local preset=$1 folder=$2 log=$logs/$1
    echo "== $preset: ctest in $folder"
    if ! build "$preset" "$folder"; then
        echo "$preset: it does not build" >>"$logs/failures"
        record "$preset" 0 1 1
        return
    fi
    tools/sanitized.sh ctest --preset "$preset" --parallel "$jobs" 2>&1 | tee "$log"
    read_ctest "$preset" "$folder" "$log" "${PIPESTATUS[0]}"
}

run_aarch64() {
    local log=$logs/aarch64 status
    echo "== aarch64: tools/aarch64.sh"
    rm -f build-aarch64/Testing/Temporary/LastTest.log
    tools/aarch64.sh 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    sed -n 's/^skipped: /aarch64: /p' "$log" >>"$logs/skips"
    read_ctest aarch64 build-aarch64 "$log" "$status"
}

# Suites that end with their own "SUITE: N passed, M failed".
run_script() {
    local suite=$1 status
    shift
    echo "== $suite: $*"
    "$@" 2>&1 | tee "$logs/$suite"
    status=${PIPESTATUS[0]}
    sed -n "s/^\([a-z_]*\): FAILED.*/$suite: \1/p; s/^FAILED: /$suite: /p" "$logs/$suite" >>"$logs/failures"
    sed -n "s/^skipped: /$suite: /p" "$logs/$suite" >>"$logs/skips"
    # shellcheck disable=SC2046
    record "$suite" $(counts_of "$suite") "$status"
}

for suite in "$@"; do
    started=$SECONDS
    case $suite in
    release) run_ctest release build ;;
    asan) run_ctest asan build-asan ;;
    aarch64) run_aarch64 ;;
    fuzz) run_script fuzz env FUZZ_SEED="${FUZZ_SEED:-1}" tools/fuzz.sh "${FUZZ_SECONDS:-4}" ;;
    python)
        if build release build; then
            run_script python test/python_test.sh
        else
            echo "python: it does not build" >>"$logs/failures"
            record python 0 1 1
        fi
        ;;
    install)
        if build release build; then
            run_script install test/install_test.sh build
        else
            echo "install: it does not build" >>"$logs/failures"
            record install 0 1 1
        fi
        ;;
    page) # of the release build, in a browser
        if build release build; then
            run_script page tools/studio_test.sh build
        else
            echo "page: it does not build" >>"$logs/failures"
            record page 0 1 1
        fi
        ;;
    *)
        echo "test: unknown suite \"$suite\"; there are: release asan fuzz aarch64 page install python" >&2
        exit 2
        ;;
    esac
done

echo
printf '%s\n' "${summary[@]}"
if [ -s "$logs/skips" ]; then
    echo
    echo "skipped:"
    sed 's/^/  /' "$logs/skips"
fi
if [ -s "$logs/failures" ]; then
    echo
    echo "FAILED:"
    sed 's/^/  /' "$logs/failures"
fi
echo
echo "$passed passed, $failed failed, $(wc -l <"$logs/skips") skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
