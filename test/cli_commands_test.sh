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

compare_truth
compare_all

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
