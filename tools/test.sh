#!/usr/bin/env bash
# Builds and runs test suites, adds up their counts and ends with a line "N passed, M failed".
# Every suite runs even if an earlier one failed; the exit status is that of all of them.
#
#   tools/test.sh SUITE...      suites: release asan fuzz install
#
# A suite that does not build counts as one failure. FUZZ_SECONDS is the time for each fuzz target.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
passed=0
failed=0
summary=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

# record SUITE PASSED FAILED STATUS: a suite that fails without counting a failure has failed once.
record() {
    local suite=$1 good=$2 bad=$3 status=$4
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then bad=1; fi
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

# ctest says "90% tests passed, 1 tests failed out of 10".
run_ctest() {
    local preset=$1 folder=$2 log=$logs/$1 status good=0 bad=0 counts
    echo "== $preset: ctest in $folder"
    if ! build "$preset" "$folder"; then
        record "$preset" 0 1 1
        return
    fi
    tools/sanitized.sh ctest --preset "$preset" --parallel "$jobs" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    counts=$(sed -n 's/^[0-9]*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' \
        "$log" | tail -n 1)
    if [ -n "$counts" ]; then
        bad=${counts% *}
        good=$((${counts#* } - bad))
    fi
    record "$preset" "$good" "$bad" "$status"
}

# Suites that end with their own "SUITE: N passed, M failed".
run_script() {
    local suite=$1 status
    shift
    echo "== $suite: $*"
    "$@" 2>&1 | tee "$logs/$suite"
    status=${PIPESTATUS[0]}
    # shellcheck disable=SC2046
    record "$suite" $(counts_of "$suite") "$status"
}

for suite in "$@"; do
    started=$SECONDS
    case $suite in
    release) run_ctest release build ;;
    asan) run_ctest asan build-asan ;;
    fuzz) run_script fuzz env FUZZ_SEED="${FUZZ_SEED:-1}" tools/fuzz.sh "${FUZZ_SECONDS:-4}" ;;
    install)
        if build release build; then
            run_script install test/install_test.sh build
        else
            record install 0 1 1
        fi
        ;;
    *)
        echo "test: unknown suite \"$suite\"; there are: release asan fuzz install" >&2
        exit 2
        ;;
    esac
done

echo
printf '%s\n' "${summary[@]}"
echo
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
