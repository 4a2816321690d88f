#!/usr/bin/env bash
# Runs the benchmarks of a release build: build/bench_*.
set -euo pipefail
cd "$(dirname "$0")/.."
programs=()
for program in build/bench_*; do
    if [ -f "$program" ] && [ -x "$program" ]; then programs+=("$program"); fi
done
if [ ${#programs[@]} -eq 0 ]; then
    echo "bench: this version has no benchmarks" >&2
    exit 1
fi
for program in "${programs[@]}"; do
    echo "== $program"
    "$program"
done
echo "== bench/python_step.py"
OMP_NUM_THREADS=1 tools/python.sh numpy bench/python_step.py || [ $? -eq 77 ]
