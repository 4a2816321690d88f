#!/bin/sh
# Tests what commands say and take: comparisons, sweeps, standard input, versions, times.
#   test/cli_commands_test.sh PATH/TO/hooke
set -u
hooke=$(realpath "${1:?which program?}")
source=$(dirname "$(dirname "$(realpath "$0")")")
. "$source/test/cli_checks.sh"

# A bar of a law that is defined inside out, thrown against its wall.
cat >throw.json <<'END'
{"time": {"step": 0.033, "steps": 10}, "gravity": [0, -9.81, 0],
 "bodies": [{"name": "bar", "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [10, 2, 2]}},
  "material": {"model": "arap", "mu": 7e4, "density": 1000}, "initial": {"velocity": [-8, 0, 3]},
  "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}
END

compare_truth() {
    # Where nothing is moved, a solution that is inside out is not looked for again in parts.
    status 0 "$hooke" compare throw.json --methods newton --step 1 --out truth --repeat 1 --json
    equal "$(number out solves)" 1 "solves of a step"
    true_that "$(number out iterations) > 3"
    true_that "$(number out start_energy) - $(number out energy) > 1"
    # A solve that goes on in double precision is one solve, and all of its iterations count.
    status 0 "$hooke" compare bar.json --methods descent --iterations 3000 --out truth --repeat 1 --json
    equal "$(number out solves)" 1 "solves of descent"
    true_that "$(number out 1e-1) < $(number out 1e-3) && $(number out 1e-3) < 100"
    equal "$(number out reason)" '"converged"' "descent"
}

compare_all() {
    status 0 "$hooke" compare bar.json --pose --out all --iterations 5 --repeat 1
    holds err "note: projective is left out: "
    holds err "note: xpbd is left out: "
    holds out quasi_newton
    status 0 "$hooke" compare bar.json --step 2 --out all --iterations 5 --repeat 1 --json
    holds out '"left_out"'
    holds out '"method": "split"'
    lacks out '"status": "failed"'
    status 0 "$hooke" compare bar.json --frames 2 --step 2 --out all --iterations 5 --repeat 1 -q
    # Asked for by name it is an error.
    status 1 "$hooke" compare bar.json --step 2 --out all --iterations 5 --repeat 1 --methods newton,projective
}

sweep_grid() {
    status 0 "$hooke" sweep bar.json --vary bodies.0.material.young=1e6,1e7 --vary gravity.1=0:-10:3 \
        --out grid --json
    equal "$(head -n 1 grid/sweep.csv | cut -d , -f 1-3)" \
        "bodies.0.material.young,gravity.1,energy.elastic" "columns of a grid"
    equal "$(tail -n +2 grid/sweep.csv | cut -d , -f 1,2 | tr '\n' ' ')" \
        "1e6,0 1e6,-5 1e6,-10 1e7,0 1e7,-5 1e7,-10 " "places of a grid"
    equal "$(grep -c '"reason": "converged"' out)" 6 "poses of a grid"
    holds grid/sweep.svg "bodies.0.material.young = 1e7"
    # Arrays: listed, and as ends of a range.
    status 0 "$hooke" sweep bar.json --vary 'gravity=[0,0,0]:[0,-10,0]:3' --out grid --name range
    equal "$(awk -F '"' 'NR > 1 { printf "%s ", $2 }' grid/range.csv)" "[0,0,0] [0,-5,0] [0,-10,0] " \
        "a range of arrays"
    missing grid/range.svg
    status 0 "$hooke" sweep bar.json --vary 'gravity=[0,-1,0],[0, -2, 0]' --out grid --name list --json
    holds out '"csv": "grid/list.csv"'
    equal "$(awk -F '"' 'NR > 1 { printf "%s ", $2 }' grid/list.csv)" "[0,-1,0] [0, -2, 0] " "a list of arrays"
    for wrong in 'gravity=[0,1]:[0,-10,0]:3' 'gravity.1=1:2' 'gravity.1=1,,2' 'gravity=[0,0,1]:5:3' \
        'gravity=[0,a,0]:[0,1,0]:3' 'gravity.1=-1:1:3:log'; do
        status 2 "$hooke" sweep bar.json --vary "$wrong"
    done
    status 2 "$hooke" sweep bar.json --vary gravity.1=1,2 --vary gravity.1=3,4
    holds err "varied twice"
    status 2 "$hooke" sweep bar.json --vary gravity.1=1:2:1000 --vary gravity.2=1:2:1000
    # Where everything fails, results of before stay.
    cp grid/sweep.csv before.csv
    status 1 "$hooke" sweep bar.json --vary bodies.0.material.young=-1,-2 --out grid
    holds err "nothing is written"
    checks=$((checks + 1))
    cmp -s before.csv grid/sweep.csv || fail "results were overwritten by failures"
    status 1 "$hooke" compare bar.json --step 2 --out grid --name sweep --methods projective
    checks=$((checks + 1))
    cmp -s before.csv grid/sweep.csv || fail "results were overwritten by a failed comparison"
}

compare_truth
compare_all
sweep_grid

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
