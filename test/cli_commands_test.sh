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

outputs() {
    for name in x.glb x.txt out/x.obj; do
        status 1 "$hooke" run bar.json --set output.vtu="$name"
        holds err "output.vtu"
        holds err ".pvd"
    done
    for name in series/x.pvd series/x.vtu series/y series/v1.5; do
        status 0 "$hooke" pose bar.json -q --set output.vtu="$name"
    done
    exists series/x.pvd series/y_0000.vtu
    # Times without what rounding adds: 3 × 0.1 is not 0.30000000000000004.
    status 0 "$hooke" run bar.json -q --set time.step=0.1 --set time.steps=3 --set output.every=0 \
        --set output.vtu=series/t.pvd --set output.stats=series/t.json
    holds series/t.pvd 'timestep="0.3"'
    holds series/t.json '"t": 0.3,'
    lacks series/t.json '00000000000004'
    holds series/t.json '"version": "0.1.0"'
    # Reals stay as exact as they were, and reals.
    status 0 "$hooke" pose bar.json --json -q
    true_that "$(number out total) > 1 && length(\"$(number out total)\") > 12"
    holds out '"version": "0.1.0"'
}

standard_input() {
    status 0 sh -c '"$0" pose - --json -q <bar.json' "$hooke"
    holds out '"status": "converged"'
    status 0 sh -c '"$0" sweep - --vary gravity.1=-1,-2 --out from -q <bar.json' "$hooke"
    exists from/sweep.csv
    status 0 sh -c '"$0" compare - --methods newton --step 2 --out from -q <bar.json' "$hooke"
    # Errors have their line; files are relative to the current folder.
    status 1 sh -c 'echo "{\"bodies\": 3}" | "$0" pose -' "$hooke"
    holds err "standard input:1:12: bodies"
    status 1 sh -c '"$0" pose - </dev/null' "$hooke"
    holds err "standard input"
    mkdir -p from/here
    status 0 "$hooke" mesh make box --cells 2,2,2 -o from/here/box.msh -q
    status 0 sh -c 'cd from/here && sed "s|\"mesh\": {.*|\"mesh\": {\"file\": \"box.msh\"},|" ../../bar.json |
        "$0" pose - -q' "$hooke"
    status 1 "$hooke" tune -
    holds err "standard input"
}

mesh_json() {
    status 0 "$hooke" mesh make box --cells 2,1,1 -o made.msh --json
    equal "$(number out vertices)" 12 "vertices of a box"
    equal "$(number out tets)" 10 "tets of a box"
    holds out '"file": "made.msh"'
    holds out '"status": "written"'
    status 0 "$hooke" mesh convert made.msh made.stl --json
    holds out '"surface_only": true'
    equal "$(number out triangles)" 20 "triangles of its surface"
    status 1 "$hooke" mesh convert none.msh made.stl --json
    holds out '"status": "failed"'
}

versions() {
    status 0 "$hooke" pose bar.json -q --set version=1
    status 1 "$hooke" pose bar.json -q --set version=2
    holds err "newer than what Hooke"
    status 1 "$hooke" pose bar.json -q --set version=old
}

messages() {
    status 1 "$hooke" pose bar.json --set 'bodies.0.fix=[{"box": [[7, 7, 7], [8, 8, 8]]}]'
    holds err "selects no vertex; the body spans (0, 0, 0) to (1, 0.2, 0.2)"
    status 1 "$hooke" pose bar.json --set 'bodies.0.fix=[{"box": [[7, 7, 7], [8, 8, 8]]}]' \
        --set 'bodies.0.copies=[{}, {"translate": [0, 2, 0]}]'
    holds err "spans (0, 0, 0) to (1, 0.2, 0.2)"
    # A name with a new line is told in one line, on both streams.
    status 1 "$hooke" pose bar.json --set 'bodies.0.name="x\nhooke: error: not true"' \
        --set 'bodies.0.fix=[{"box": [[7, 7, 7], [8, 8, 8]]}]'
    equal "$(grep -c '^hooke: error' err)" 1 "lines of one message"
    holds err '\u000a'
    status 0 "$hooke" pose bar.json --set 'bodies.0.name="x\n  status  all is well"' \
        --set 'bodies.0.copies=[{}, {"translate": [0, 2, 0]}]'
    holds out '\u000a  status'
    equal "$(grep -c '^  status  all' out)" 0 "lines made up by a name"
}

# Every key that the schema has, which a test holds to the reader of scenes, is in the help.
help_of_scenes() {
    status 0 "$hooke" help scene
    awk '
        match($0, /^ */) { indent = RLENGTH }
        skip { if (indent == skip_at && /^ *\]/) skip = 0; next }
        /^ *"allOf": \[/ { skip = 1; skip_at = indent; next }
        while_in && indent == at && /^ *}/ { --depth; while_in = depth > 0; at = while_in ? stack[depth] : -1 }
        /^ *"properties": {/ { stack[++depth] = indent; at = indent; while_in = 1; next }
        while_in && indent == at + 2 && /^ *"/ {
            key = $0; sub(/^ *"/, "", key); sub(/".*/, "", key); print key
        }' "$source/docs/scene.schema.json" | sort -u >keys
    true_that "$(wc -l <keys) > 80"
    while read -r key; do
        checks=$((checks + 1))
        grep -qw -- "$key" out || fail "help scene does not name $key"
    done <keys
    status 0 "$hooke" help descent
    holds out "at most, a time step (default 96"
    holds out "tolerance"
    holds out "default 1e-06"
    status 0 "$hooke" help newton
    holds out "(default 100; of a pose 200)"
    holds "$source/docs/scene.schema.json" '"default": 96'
}

compare_truth
compare_all
sweep_grid
outputs
standard_input
mesh_json
versions
messages
help_of_scenes

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
