#!/usr/bin/env bash
# The tests of the Python package (python/tests), by the first python3 that has numpy and pytest.
# Ends with "python: N passed, M failed"; what is left out is told as "skipped: REASON".
#   test/python_test.sh [ARGUMENTS of pytest]
set -u
cd "$(dirname "$(realpath "$0")")/.." || exit 1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
PYTHONDONTWRITEBYTECODE=1 tools/python.sh numpy,pytest -m pytest -p no:cacheprovider -rs python/tests "$@" 2>&1 |
    tee "$log"
status=${PIPESTATUS[0]}
if [ "$status" -eq 77 ]; then
    echo "python: 0 passed, 0 failed"
    exit 0
fi
sed -n 's/^SKIPPED \[[0-9]*\] \([^:]*\)[:0-9]*: /skipped: \1: /p' "$log"
sed -n 's/^FAILED /FAILED: /p; s/^ERROR \(python.*\)/FAILED: \1/p' "$log"
count() { sed -n -E "s/^(.*[^0-9])?([0-9]+) $1.* in [0-9.]+s.*/\2/p" "$log" | tail -n 1; }
passed=$(count passed) failed=$(count failed) errors=$(count error)
echo "python: ${passed:-0} passed, $((${failed:-0} + ${errors:-0})) failed"
[ "$status" -eq 0 ]
