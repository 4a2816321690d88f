#!/bin/sh
# Tests the program: arguments, exit statuses, outputs, interrupts.
#   test/cli_test.sh PATH/TO/hooke [PATH/TO/libold_blas.so]
set -u
hooke=$(realpath "${1:?which program?}")
old_blas=${2:+$(realpath "$2")}
. "$(dirname "$(realpath "$0")")/cli_checks.sh"

usage() {
    status 0 "$hooke" --version
    equal "$(cat out)" "hooke 0.1.0" "--version"
    status 2 "$hooke"
    holds err "hooke --help"
    status 2 "$hooke" rnu
    holds err "did you mean 'run'?"
    status 2 "$hooke" nothing
    lacks err 'did you mean'
    status 2 "$hooke" run
    holds err "SCENE.json"
    status 2 "$hooke" run bar.json other.json
    status 2 "$hooke" run bar.json --quite
    holds err "did you mean '--quiet'?"
    status 2 "$hooke" run bar.json --threads
    status 2 "$hooke" run bar.json --threads=many
    status 2 "$hooke" run bar.json --threads=-1
    status 2 "$hooke" run bar.json --json=yes
    status 2 "$hooke" run bar.json --set solver.method
    status 2 "$hooke" run bar.json --out=
    status 2 "$hooke" run --json --nonsense bar.json
    holds out '"status": "failed"'
    missing frames stats.json
}

help() {
    for words in "--help" "-h" "help" "help run" "help pose" "help rest" "help fit" "help compare" "help sweep" "help certify" "help studio" "help tune" "help mesh" "help mesh make" \
        "help help" "help materials" "help methods" "help scene" "help machine" "run --help" "pose -h" \
        "mesh --help" "mesh make --help" "mesh convert --help" "mesh check --help" "mesh fill --help" "mesh sdf --help"; do
        # shellcheck disable=SC2086  # the words are to be split
        status 0 "$hooke" $words
        empty err
        checks=$((checks + 1))
        [ -s out ] || fail "hooke $words prints nothing"
    done
    status 0 "$hooke" help materials
    holds out neo_hookean
    status 0 "$hooke" help methods
    holds out newton
    status 0 "$hooke" help newton
    lacks out gradient_descent
    status 2 "$hooke" help newtn
    holds err "did you mean 'newton'?"
}

pose() {
    status 0 "$hooke" pose --json bar.json --points final.csv --out posed --threads 2
    holds out '"status": "converged"'
    holds out '"method": "newton"'
    holds out '"backend": "cpu"'
    equal "$(number out threads)" 2 "threads"
    equal "$(number out vertices)" 99 "vertices"
    true_that "$(number out iterations) > 0"
    true_that "$(number out elastic) > 0"
    true_that "$(number out kinetic) == 0"
    lacks out nan
    exists posed/final.csv posed/stats.json posed/frames/bar.pvd posed/frames/bar_0000.vtu
    missing posed/frames/bar_0001.vtu frames final.csv
    equal "$(head -n 1 posed/final.csv)" "vertex,x,y,z" "header of the points"
    equal "$(wc -l <posed/final.csv | tr -d ' ')" 100 "rows of the points"
    holds posed/stats.json '"history"'
    # Two threads and one give the same bits.
    status 0 "$hooke" pose bar.json --points one.csv --out posed --threads 1 --quiet
    empty out
    empty err
    checks=$((checks + 1))
    cmp -s posed/final.csv posed/one.csv || fail "the pose depends on the number of threads"
    # A GPU that is not there is no reason to fail, unless it was asked for.
    status 0 "$hooke" pose bar.json --points auto.csv --out posed --backend auto
    holds err 'backend auto: '
    checks=$((checks + 1))
    cmp -s posed/final.csv posed/auto.csv || fail "the pose depends on how the backend was chosen"
    status 1 "$hooke" pose bar.json --out posed --backend cuda --json
    holds err 'backend "cuda": '
    holds out 'use \"cpu\" or \"auto\"'
    status 2 "$hooke" pose bar.json --backend gpu
    holds err "'--backend gpu': expected cpu, cuda or auto"
    # A stiffer bar sags less.
    status 0 "$hooke" pose bar.json --set bodies.0.material.young=1e7 --out stiff --json
    true_that "$(number out elastic) < 0.5 * $(number posed/stats.json elastic)"
    # Methods that take few iterations in a time step take as many as a pose needs.
    for method in descent admm vbd; do
        status 0 "$hooke" pose bar.json -q --out methods --set "solver={\"method\": \"$method\"}"
    done
    for method in projective split; do
        status 0 "$hooke" pose bar.json -q --out methods --set "solver={\"method\": \"$method\"}" \
            --set bodies.0.material='{"model": "arap", "young": 1e6, "poisson": 0.4}'
    done
    # Readable without --json, the JSON alone on standard output with it.
    status 0 "$hooke" pose -- bar.json
    holds out "converged"
    exists frames/bar.pvd
    rm -rf frames stats.json
    status 1 "$hooke" pose bar.json --set bodies.0.fix=[] --json
    holds out '"status": "failed"'
    holds err "error"
    status 1 "$hooke" pose bar.json --set solver.iterations=1 --set bodies.0.material.young=1e4 --json
    rm -rf frames stats.json
}

rest() {
    status 0 "$hooke" rest bar.json --json --out rested --points rest.csv --stl print.stl --mesh rest.msh \
        --set output.vtu=rested.pvd --set output.stats=stats.json
    holds out '"status": "converged"'
    holds out '"method": "auto"'
    true_that "$(number out load_reached) == 1 && $(number out least_j) > 0 && $(number out least_j) < 1"
    true_that "$(number out greatest_stretch) > 1 && $(number out sag) > 0 && $(number out elastic) > 0"
    true_that "$(number out relative_residual) <= 1e-8 && $(number out steps) == 1"
    sag=$(number out sag)
    exists rested/rest.csv rested/print.stl rested/rest.msh rested/rested.pvd rested/rested_0000.vtu rested/stats.json
    equal "$(head -n 1 rested/rest.csv)" "vertex,x,y,z" "header of the points"
    holds rested/stats.json '"history"'
    # There and back: its pose is the mesh of the scene.
    status 0 "$hooke" pose bar.json --out rested --set bodies.0.mesh='{"file": "rested/rest.msh"}' --points back.csv \
        --set solver.tolerance=1e-11
    status 0 "$hooke" run bar.json --out rested --set time.steps=0 --points start.csv
    checks=$((checks + 1))
    paste -d, rested/back.csv rested/start.csv | awk -F, 'NR > 1 { for (i = 2; i < 5; i++) { d = $i - $(i + 4)
        if (d > 1e-8 || d < -1e-8) exit 1 } }' || fail "the pose of the rest shape is not the shape"
    # What is printed is closed, and in millimetres.
    status 0 "$hooke" mesh check rested/print.stl
    lacks out 'open'
    status 0 "$hooke" mesh check rested/rest.msh
    metres=$(sed -n 's/.*to (\([^,]*\),.*/\1/p' out)
    status 0 "$hooke" mesh check rested/print.stl
    millimetres=$(sed -n 's/.*to (\([^,]*\),.*/\1/p' out)
    true_that "$millimetres / $metres > 999.9 && $millimetres / $metres < 1000.1"
    # One thread, another method: the same shape.
    status 0 "$hooke" rest bar.json --out rested --points one.csv --threads 1 -q
    empty out
    cmp -s rested/rest.csv rested/one.csv || fail "the rest shape depends on the number of threads"
    status 0 "$hooke" rest bar.json --out rested --json --method newton_gmres
    holds out '"method": "newton_gmres"'
    true_that "$(number out sag) - $sag < 1e-8 && $sag - $(number out sag) < 1e-8"
    status 0 "$hooke" rest bar.json --out rested
    holds out 'sag         at most'
    holds out 'least J'
    lacks out 'overlaps'
    empty err
    # A soft bar under a stiff one has to be made where the other is.
    cat >shelf.json <<'END'
{
  "time": {"step": 0.01, "steps": 1},
  "gravity": [0, -9.81, 0],
  "bodies": [
    {"name": "soft", "mesh": {"box": {"size": [1, 0.1, 0.1], "cells": [10, 1, 1]}},
     "material": {"model": "neo_hookean", "young": 2e6, "poisson": 0.4, "density": 1000},
     "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]},
    {"name": "stiff", "mesh": {"box": {"size": [1, 0.1, 0.1], "cells": [10, 1, 1]}},
     "transform": {"translate": [0, 0.12, 0.01]},
     "material": {"model": "neo_hookean", "young": 1e9, "poisson": 0.4, "density": 1000},
     "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}],
  "output": {"vtu": "shelf/shelf.pvd"}
}
END
    status 0 "$hooke" rest shelf.json --json
    holds err 'warning: the rest shape overlaps itself and cannot be made like that'
    holds err 'of body 0 (soft) and face'
    holds out '"overlaps": {'
    true_that "$(number out count) > 0"
    holds out '"soft"'
    status 0 "$hooke" rest shelf.json
    holds out 'overlaps    '
    # The file of it has bodies with names, and the same to say.
    status 1 "$hooke" certify shelf/shelf.pvd
    holds out 'frame 0 (shelf/shelf_0000.vtu, t = 0 s): '
    holds out 'of body 0 (soft) and face'
    holds out 'of body 1 (stiff) near ('
    status 0 "$hooke" run shelf.json --set time.steps=2
    status 0 "$hooke" certify shelf/shelf.pvd
    holds out 'free of intersections: 3 frames, 168 triangles'
    # What has no answer says so, and prints nothing that would be wrong.
    status 1 "$hooke" rest bar.json --out weak --set bodies.0.material.young=1e3 --stl weak.stl --json
    holds out '"status": "failed"'
    holds err 'of the load'
    true_that "$(number out load_reached) < 1"
    missing weak/weak.stl
    status 1 "$hooke" rest bar.json --out weak --set bodies.0.fix=[] --json
    holds err 'fix at least three vertices'
    status 0 "$hooke" rest bar.json --out weak --set gravity=[0,0,0] --json
    true_that "$(number out sag) == 0"
    status 2 "$hooke" rest bar.json --out weak --stl print.obj
    holds err 'ends in .stl'
    status 2 "$hooke" rest bar.json --out weak --method magic
    holds err 'expected auto, fixed_point'
    status 1 "$hooke" rest bar.json --out weak --mesh ../bar.json
    holds err 'is the scene itself'
}

fit() {
    status 0 "$hooke" pose bar.json --out fitted --points seen.csv -q --set solver.tolerance=1e-11
    wrong="--set bodies.0.material.young=3e7 --set bodies.0.material.poisson=0.3"
    status 0 "$hooke" fit bar.json $wrong --target fitted/seen.csv --vary young,poisson --json --out fitted \
        --points fit.csv --set output.vtu=fit.pvd --set output.stats=stats.json
    holds out '"status": "converged"'
    holds out '"method": "levenberg_marquardt"'
    holds out '"outliers": []'
    value=$(sed -n '/"young": {/,/}/s/.*"value": \([^,]*\),.*/\1/p' out)
    deviation=$(sed -n '/"young": {/,/}/s/.*"deviation": \([^,]*\),.*/\1/p' out)
    true_that "$value > 999999 && $value < 1000001 && $deviation > 0 && $deviation < 10"
    value=$(sed -n '/"poisson": {/,/}/s/.*"value": \([^,]*\),.*/\1/p' out)
    true_that "$value > 0.39999 && $value < 0.40001"
    true_that "$(number out misfit) < 1e-8 && $(number out relative_gradient) <= 1e-6 && $(number out sag) > 0.1"
    true_that "$(number out missing) == 0 && $(number out held) == 9 && $(number out observed) == 90"
    exists fitted/fit.csv fitted/fit.pvd fitted/fit_0000.vtu fitted/stats.json
    checks=$((checks + 1))
    paste -d, fitted/fit.csv fitted/seen.csv | awk -F, 'NR > 1 { for (i = 2; i < 5; i++) { d = $i - $(i + 4)
        if (d > 1e-7 || d < -1e-7) exit 1 } }' || fail "the fitted pose is not the target"
    # The line that it prints leads back to the pose; a mesh does as a target.
    status 0 "$hooke" fit bar.json $wrong --set bodies.0.material.poisson=0.4 --target fitted/fit_0000.vtu --out fitted
    holds out 'young  1e+06'
    holds out 'from 3e+07'
    set=$(sed -n 's/.*--set \(bodies[^ ]*\)$/\1/p' out)
    status 0 "$hooke" pose bar.json $wrong --set bodies.0.material.poisson=0.4 --set "$set" --out fitted --points back.csv -q
    checks=$((checks + 1))
    paste -d, fitted/back.csv fitted/seen.csv | awk -F, 'NR > 1 { for (i = 2; i < 5; i++) { d = $i - $(i + 4)
        if (d > 1e-5 || d < -1e-5) exit 1 } }' || fail "--set does not lead back to the target"
    # Gross errors are named; missing rows do no harm.
    awk -F, 'NR == 1 || NR % 4 { if (NR == 50) $3 += 0.1; print $1 "," $2 "," $3 "," $4 }' fitted/seen.csv >fitted/some.csv
    status 0 "$hooke" fit bar.json $wrong --set bodies.0.material.poisson=0.4 --target fitted/some.csv --json --out fitted
    holds out '"vertex": 48'
    holds err '1 of 67 points do not fit and was left out'
    true_that "$(number out missing) == 23"
    status 0 "$hooke" fit bar.json --target fitted/some.csv --out fitted
    holds out 'left out    1 point: vertex 48 (0.1 m off)'
    # What cannot be told is said.
    status 1 "$hooke" fit bar.json --target fitted/seen.csv --vary young,density --json --out fitted
    holds out '"reason": "undetermined"'
    holds out '"deviation": null'
    holds err 'young and density cannot be told apart'
    status 1 "$hooke" fit bar.json --target fitted/seen.csv --set gravity=[0,0,0] --json --out fitted
    holds err 'needs gravity'
    status 1 "$hooke" fit bar.json --target fitted/seen.csv --set bodies.0.fix=[] --json --out fitted
    holds out '"status": "failed"'
    holds err 'nothing holds'
    # Wrong words and wrong files.
    status 2 "$hooke" fit bar.json
    holds err '--target FILE'
    status 1 "$hooke" fit bar.json --target fitted/seen.csv --vary yuong --out fitted
    holds err 'no "yuong" to vary'
    printf 'vertex,x,y,z\n5,0,0,0\n50,0,nan,0\n' >fitted/bad.csv
    status 1 "$hooke" fit bar.json --target fitted/bad.csv --out fitted
    holds err 'fitted/bad.csv:3: '
    status 0 "$hooke" mesh make box --cells 2,2,2 -o fitted/other.msh
    status 1 "$hooke" fit bar.json --target fitted/other.msh --out fitted
    holds err 'the mesh has 27 vertices, the scene has 99'
    status 1 "$hooke" fit bar.json --target fitted/seen.csv --points seen.csv --out fitted
    holds err 'is the target'
}

skins() {
    # A fine skin around the coarse bar: it is what is printed, and it comes back.
    fine='bodies.0.skin={"box": {"size": [1, 0.2, 0.2], "cells": [20, 4, 4]}}'
    status 0 "$hooke" run bar.json --out skinned --set "$fine" --set time.steps=0 --skin drawn.obj
    status 0 "$hooke" rest bar.json --json --out skinned --set "$fine" --stl print.stl --mesh rest.msh --skin rest.obj
    holds out '"watertight": true'
    equal "$(number out triangles)" 704 "triangles of the skin"
    status 0 "$hooke" mesh check skinned/print.stl
    lacks out 'open'
    holds out '704'
    status 0 "$hooke" pose bar.json --out skinned --set bodies.0.mesh.file=skinned/rest.msh \
        --set bodies.0.skin.file=skinned/rest.obj --set solver.tolerance=1e-11 --skin back.obj
    checks=$((checks + 1))
    grep '^v ' skinned/drawn.obj >drawn
    grep '^v ' skinned/back.obj | paste -d ' ' drawn - | awk '{ for (i = 2; i < 5; i++) { d = $i - $(i + 4)
        if (d > 2e-8 || d < -2e-8) exit 1 } }' || fail "the skin does not come back"
    for ending in stl ply glb vtu; do
        status 0 "$hooke" pose bar.json -q --out skinned --set "$fine" --skin skin.$ending
        exists skinned/skin.$ending
    done
    status 0 "$hooke" rest bar.json --out skinned --set "$fine" --stl print.stl
    holds out 'mm, 704 triangles, watertight'
    status 0 "$hooke" render bar.json --json --pose --set "$fine" --out skinned -o skin.png --size 64x48
    equal "$(number out triangles)" 704 "triangles that are drawn"
    status 0 "$hooke" render bar.json --json --pose --set "$fine" --out skinned -o tets.png --size 64x48 --tets
    equal "$(number out triangles)" 176 "triangles of the tets"
    # An open one is told, and so is one that lies elsewhere.
    status 0 "$hooke" rest bar.json --out skinned --stl open.stl \
        --set 'bodies.0.skin={"sheet": {"size": [1, 0.2], "cells": [10, 2]}}'
    holds err 'is not watertight'
    status 0 "$hooke" rest bar.json --out skinned \
        --set 'bodies.0.skin={"box": {"size": [1000, 200, 200], "cells": [2, 2, 2]}}'
    holds err 'is the skin in the place and in the units of the mesh?'
    # What cannot be.
    status 1 "$hooke" pose bar.json --out skinned --skin none.obj
    holds err 'no body has a skin'
    status 2 "$hooke" pose bar.json --out skinned --set "$fine" --skin none.txt
    holds err 'expected a name that ends in'
    status 1 "$hooke" pose bar.json --out skinned --set bodies.0.skin.file=skinned/rest.obj --skin rest.obj
    holds err 'is a mesh of the scene'
    status 1 "$hooke" rest bar.json --out skinned --set "$fine" --set bodies.0.material.young=1e3 --skin weak.obj
    missing skinned/weak.obj skinned/none.obj
}

sag_free() {
    cat >curtain.json <<'END'
{
  "time": {"step": 0.01, "steps": 20},
  "bodies": [{
    "name": "curtain",
    "mesh": {"sheet": {"size": [1, 1], "cells": [8, 8]}},
    "transform": {"rotate": {"axis": [1, 0, 0], "degrees": 90}},
    "material": {"model": "mass_spring", "stretch": 300, "bending": 1e-4, "density": 0.2},
    "fix": [{"box": [[-1, -1e-6, -1], [2, 1, 1]]}],
    "initial": {"rest": "solve"}
  }]
}
END
    status 0 "$hooke" run curtain.json --json
    true_that "$(number out kinetic) < 1e-12"
    lacks err 'sags'
    status 0 "$hooke" rest curtain.json --json
    holds out '"pushing_springs": 0'
    true_that "$(number out relative_residual) < 1e-8"
    status 0 "$hooke" rest curtain.json
    holds out 'sheets      rest lengths'
    lacks out 'nan'
    # A level sheet carries nothing across itself.
    status 0 "$hooke" run curtain.json --set bodies.0.transform='{}' --set bodies.0.fix.0.box='[[-1, -1, -1], [0, 1, 2]]'
    holds err 'a start that sags: body 0 (curtain): no rest lengths balance 100 % of its load'
    status 1 "$hooke" rest curtain.json --set bodies.0.transform='{}' --set bodies.0.fix.0.box='[[-1, -1, -1], [0, 1, 2]]'
    holds err 'draw a shape that hangs'
    status 1 "$hooke" rest curtain.json --stl sheet.stl
    holds err 'no body of tets to print'
}

march() {
    status 0 "$hooke" run bar.json --json --out ran --points final.csv --threads 1
    equal "$(number out steps)" 10 "steps"
    holds out '"median"'
    exists ran/frames/bar.pvd ran/final.csv ran/stats.json
    # t = 0, 0.04, 0.07, 0.1 with steps of 0.01 and a frame every 0.0333.
    exists ran/frames/bar_0000.vtu ran/frames/bar_0003.vtu ran/frames/bar_0003.csv
    missing ran/frames/bar_0004.vtu ran/frames/bar_0004.csv
    holds ran/frames/bar.pvd bar_0003.vtu
    lacks ran/frames/bar.pvd frames/
    cmp -s ran/final.csv ran/frames/bar_0003.csv || fail "the last frame is not the final state"
    equal "$(grep -c '"phases"' ran/stats.json)" 10 "records of the history"
    status 0 "$hooke" run bar.json --out short --set time.steps=4 --set output.every=0 -q --threads=1
    empty out
    empty err
    exists short/frames/bar_0004.vtu
    missing short/frames/bar_0005.vtu
    # One pass of split is a fixed amount of work: no residual, and no complaint.
    set -- --set bodies.0.material.model=corotated --set solver='{"method": "split", "refinement": true}'
    status 0 "$hooke" run bar.json --out fixed --json "$@"
    holds out '"status": "stopped"'
    holds out '"reason": "fixed work"'
    holds out '"residual": null'
    holds fixed/stats.json '"reason": "fixed work"'
    status 0 "$hooke" run bar.json --out fixed "$@"
    holds out 'bar.json: done'
    lacks err 'iteration limit'
    # A tolerance below what rounding allows: its own reason, with numbers, and no failure of a run.
    set -- --set solver.tolerance=1e-15
    status 0 "$hooke" run bar.json --out limit --json "$@"
    holds out '"status": "stopped"'
    holds out '"reason": "precision limit"'
    holds limit/stats.json '"reason": "precision limit"'
    true_that "$(number out rounding) > 0 && $(number out relative_residual) > 1e-15"
    true_that "$(number out relative_residual) < 1e-10"
    status 0 "$hooke" run bar.json --out limit "$@"
    holds err 'ended at the limit of precision'
    holds out '; the limit of precision)'
    status 1 "$hooke" pose bar.json --out limit "$@" --points reached.csv
    holds err 'the pose did not converge (precision limit)'
    exists limit/reached.csv
    # A pose whose iterations are spent keeps what it reached, and says so.
    status 1 "$hooke" pose bar.json --out limit --set solver='{"method": "quasi_newton", "iterations": 30}' \
        --points spent.csv
    holds err 'iterations left a relative residual of'
    exists limit/spent.csv
}

failing() {
    status 1 "$hooke" run nowhere.json --json
    holds out '"error"'
    holds err nowhere.json
    status 1 "$hooke" run bar.json --set solver.method=magic
    holds err magic
    echo '{"bodies": [' >broken.json
    status 1 "$hooke" pose broken.json
    holds err broken.json:
    echo file >blocked
    status 1 "$hooke" run bar.json --out blocked
    status 1 "$hooke" run bar.json --points . --out ran
    # Results never replace the scene.
    status 1 "$hooke" pose bar.json --set output.stats=./bar.json
    holds err 'is the scene itself'
    "$hooke" mesh make box -o own.msh >/dev/null
    status 1 "$hooke" pose bar.json --set bodies.0.mesh.file=own.msh --points own.msh
    holds err 'is a mesh of the scene'
    status 1 "$hooke" pose bar.json --points twice.csv --set output.stats=twice.csv
    holds err 'two outputs are the same file, twice.csv'
    missing twice.csv
    if [ -w /dev/full ]; then
        checks=$((checks + 1))
        "$hooke" help >/dev/full 2>err && fail "a full disk went unseen"
    fi
}

interrupted() {
    "$hooke" run bar.json --json --out cut --threads 1 --set time.steps=1000000 >out 2>err &
    process=$!
    tries=0
    while [ ! -f cut/frames/bar_0002.vtu ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    terminate $process
    equal $ended 1 "status of an interrupted run"
    holds out '"status": "stopped"'
    holds cut/stats.json '"status": "stopped"'
    # Every frame that the collection names is there.
    frames=$(sed -n 's/.*file="\([^"]*\)".*/\1/p' cut/frames/bar.pvd)
    checks=$((checks + 1))
    [ -n "$frames" ] || fail "an interrupted run left no frames"
    for frame in $frames; do exists "cut/frames/$frame"; done
    rest=$(find cut -name '*tmp*')
    equal "$rest" "" "temporary files are left"
}

meshes() {
    status 0 "$hooke" mesh make box --size 1,0.2,0.2 --cells 20,4,4 -o bar.msh
    holds out "525 vertices"
    status 0 "$hooke" mesh check bar.msh
    holds out 525
    status 0 "$hooke" mesh check --json bar.msh
    holds out '"simulable": true'
    true_that "($(number out volume) - 0.04) ^ 2 < 1e-18"
    for shape in "cylinder --radius 0.1 --length 1 --cells 8,20" "sphere --radius=0.5 --cells=6" \
        "helix --radius 0.3 --pitch 0.2 --turns 1 --thickness 0.08 --strands 2 --cells 4" \
        "figure --height 1.8 --cells 12"; do
        # shellcheck disable=SC2086
        status 0 "$hooke" mesh make $shape --output shape.vtu --quiet
        empty out
        status 0 "$hooke" mesh check shape.vtu
    done
    status 0 "$hooke" mesh make sheet --size 1,1 --cells 4,4 -o sheet.obj
    status 0 "$hooke" mesh check sheet.obj
    holds out 'as a sheet'
    status 0 "$hooke" mesh convert bar.msh bar.vtu
    status 0 "$hooke" mesh convert bar.vtu bar.stl
    exists bar.vtu bar.stl
    status 2 "$hooke" mesh make box --radius 1 -o no.msh
    status 2 "$hooke" mesh make box --size 1,1 -o no.msh
    status 2 "$hooke" mesh make box --size 1,a,1 -o no.msh
    status 2 "$hooke" mesh make boks -o no.msh
    holds err "did you mean 'box'?"
    status 2 "$hooke" mesh make box
    status 1 "$hooke" mesh make box --cells 0,1,1 -o no.msh
    status 1 "$hooke" mesh make box -o no.xyz
    status 1 "$hooke" mesh check none.msh --json
    holds out '"error"'
    missing no.msh no.xyz
    # A tet wound the other way is turned, counted and told.
    printf '4 3 0 0\n0 0 0 0\n1 1 0 0\n2 0 1 0\n3 0 0 1\n' >turned.node
    printf '1 4 0\n0 0 2 1 3\n' >turned.ele
    status 0 "$hooke" mesh check turned.ele --json
    holds out '1 tet turned'
    status 0 "$hooke" mesh convert turned.ele turned.msh
    holds err '1 tet turned'
    # So is what the written format cannot hold.
    cat >faces.msh <<'END'
$MeshFormat
2.2 0 8
$EndMeshFormat
$PhysicalNames
1
2 1 "left"
$EndPhysicalNames
$Nodes
4
1 0 0 0
2 1 0 0
3 0 1 0
4 0 0 1
$EndNodes
$Elements
2
1 2 2 1 1 1 2 3
2 4 2 0 1 1 2 3 4
$EndElements
END
    status 0 "$hooke" mesh convert faces.msh faces.vtu
    holds err 'left out 1 triangle'
    status 0 "$hooke" mesh convert faces.msh again.msh
    empty err
    # Signed distances: of tets, of a sheet, and what is assumed.
    status 0 "$hooke" mesh sdf bar.msh -o bar.vti --size 0.05
    holds out 'closed'
    holds out 'distance'
    empty err
    exists bar.vti
    status 0 "$hooke" mesh sdf sheet.obj -o sheet.vti --cells 20 --json
    holds out '"openness"'
    holds err 'the surface is open'
    holds err 'nothing is inside'
    true_that "$(number out rim) == 4"
    status 2 "$hooke" mesh sdf bar.msh
    status 2 "$hooke" mesh sdf bar.msh -o no.vtu
    status 2 "$hooke" mesh sdf bar.msh -o no.vti --size 0.1 --cells 3
    status 2 "$hooke" mesh sdf bar.msh -o no.vti --band 0
    status 1 "$hooke" mesh sdf bar.msh -o no.vti --size 1e-6
    holds err 'larger cells'
    status 1 "$hooke" mesh sdf none.obj -o no.vti
    missing no.vti no.vtu
    # Surfaces are filled: a closed one, an open one that encloses nothing, and a shell of it.
    status 0 "$hooke" mesh convert bar.msh bar.stl
    status 0 "$hooke" mesh fill bar.stl -o filled.msh --cells 20
    holds out 'filled.msh'
    holds out 'angles'
    status 0 "$hooke" mesh check filled.msh
    holds out 'ready to simulate'
    status 0 "$hooke" mesh fill bar.stl -o filled.msh --size 0.05 --grade 0 --json
    holds out '"least_plain"'
    true_that "$(number out tets) > 1000"
    status 1 "$hooke" mesh fill sheet.obj -o no.msh
    holds err 'thickness'
    status 0 "$hooke" mesh fill sheet.obj -o shell.msh --thickness 0.1 --size 0.05
    exists shell.msh
    status 2 "$hooke" mesh fill bar.stl
    status 2 "$hooke" mesh fill bar.stl -o no.obj
    holds err 'no tets'
    status 2 "$hooke" mesh fill bar.stl -o no.msh --size 0.1 --cells 3
    status 2 "$hooke" mesh fill bar.stl -o no.msh --grade 2
    status 1 "$hooke" mesh fill none.obj -o no.msh
    missing no.msh no.obj
    # A write that fails is told and leaves nothing behind.
    status 1 sh -c 'ulimit -f 8; exec "$@"' sh "$hooke" mesh make box -o cut-off/box.msh
    holds err 'cannot write cut-off/box.msh'
    equal "$(ls -A cut-off)" "" "a failed write leaves no file"
}

sheets() {
    cat >cloth.json <<'END'
{"time": {"step": 0.02, "steps": 5},
 "bodies": [{"name": "cloth", "mesh": {"sheet": {"size": [1, 1], "cells": [4, 4]}},
             "material": {"model": "mass_spring", "stretch": 100, "bending": 1e-3, "density": 0.2},
             "fix": [{"vertices": [0, 4]}],
             "attach": [{"select": {"vertices": [24]}, "stiffness": 1, "translate": [0, 0.2, 0]}]},
            {"name": "bar", "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [3, 1, 1]}},
             "transform": {"translate": [0, 1, 0]},
             "material": {"young": 1e6, "poisson": 0.4},
             "fix": [{"box": [[0, -9, -9], [0, 9, 9]]}]}],
 "output": {"vtu": "cloth.pvd"}}
END
    status 0 "$hooke" run cloth.json --json --points cloth.csv
    holds out '"status": "converged"'
    equal "$(number out triangles)" 32 "triangles of the sheet"
    equal "$(number out springs)" 56 "springs of the sheet"
    equal "$(wc -l <cloth.csv)" 42 "a line a vertex, and the header"
    exists cloth.pvd
    status 0 "$hooke" pose cloth.json
    holds out '32 triangles with 56 springs'
    status 0 "$hooke" render cloth.json --pose -o cloth.png --size 320x200
    status 0 "$hooke" render cloth.pvd -o series.png --size 320x200
    exists cloth.png series.png
    status 1 "$hooke" run cloth.json --set bodies.0.material='{"young": 1, "poisson": 0}'
    holds err 'body 0 (cloth): its mesh has no tetrahedra'
    status 1 "$hooke" run cloth.json \
        --set bodies.1.material='{"model": "mass_spring", "stretch": 1, "density": 1}'
    holds err 'body 1 (bar): the material mass_spring is for sheets'
    status 0 "$hooke" help mass_spring
    holds out 'stretch bending'
}

# column FILE METHOD NUMBER: the values of one method in a CSV of a comparison
column() { awk -F, -v method="$2" -v column="$3" '$1 == method { print $column }' "$1"; }

comparing() {
    status 0 "$hooke" compare bar.json --out compared --threads 1 --step 3 --iterations 60 \
        --methods newton,lbfgs+jacobi,quasi_newton:window=0 --methods lbfgs+none:iterations=5
    empty err
    holds out "step 3, from t = 0.02 s to 0.03 s"
    holds out "quasi_newton:window=0"
    holds out "× newton"
    holds out "wrote       compared/compare.csv"
    holds out "wrote       compared/compare.svg"
    exists compared/compare.csv compared/compare.svg
    equal "$(head -n 1 compared/compare.csv)" \
        "method,iteration,ms,energy,relative_error,residual,relative_residual" \
        "header of the comparison"
    equal "$(awk -F, 'NF != 7' compared/compare.csv)" "" "rows of seven columns"
    # The table of residuals: Newton comes to 1e-4 in the iteration that the CSV has, five
    # iterations of lbfgs+none do not.
    holds out "ms to a relative residual of      iterations to it"
    sed -n '/relative residual of/,$p' out >residuals
    equal "$(awk '$1 == "newton" { print $7 }' residuals)" \
        "$(awk -F, '$1 == "newton" && $7 != "" && $7 <= 1e-4 { print $2; exit }' compared/compare.csv)" \
        "iterations of Newton to a residual of 1e-4"
    equal "$(awk '$1 == "lbfgs+none:iterations=5" { print $4, $7 }' residuals)" "– –" \
        "a residual that is not reached"
    checks=$((checks + 1))
    awk '$1 == "newton" || $1 == "lbfgs+jacobi" {
             if (!($2 <= $3 && $3 <= $4 && $5 <= $6 && $6 <= $7 && $8 <= 1e-4)) exit 1; n++ }
         END { exit n != 2 }' residuals || fail "smaller residuals come earlier"
    # All begin at the same state, with error 1 at 0 ms; no error rises while energies fall.
    equal "$(column compared/compare.csv newton 2 | head -n 1)" 0 "first iteration"
    equal "$(column compared/compare.csv newton 3 | head -n 1)" 0 "first time"
    equal "$(awk -F, '$2 == 0 { print $4 }' compared/compare.csv | sort -u | wc -l | tr -d ' ')" 1 \
        "energies of the start"
    equal "$(awk -F, '$2 == 0 { print $5 }' compared/compare.csv | sort -u)" 1 "errors of the start"
    equal "$(column compared/compare.csv lbfgs+none:iterations=5 2 | tail -n 1)" 5 "a budget of its own"
    checks=$((checks + 1))
    awk -F, '$1 == "newton" { if (n++ && ($5 > last || $3 <= clock)) exit 1
                              last = $5; clock = $3 }
             END { exit !(n > 1 && last < 1e-9) }' compared/compare.csv ||
        fail "Newton's error does not fall to 0 with time"
    true_that "$(column compared/compare.csv lbfgs+jacobi 5 | tail -n 1) < 1e-3"
    holds compared/compare.svg "</svg>"
    holds compared/compare.svg "lbfgs+none:iterations=5"
    lacks compared/compare.svg nan
    lacks compared/compare.svg inf
    # What the step starts from depends neither on the methods nor on the threads.
    status 0 "$hooke" compare bar.json --out compared --name again --threads 2 --step 3 -q \
        -m lbfgs+none:iterations=5 --log-x --repeat 1
    empty out
    empty err
    equal "$(column compared/again.csv lbfgs+none:iterations=5 4)" \
        "$(column compared/compare.csv lbfgs+none:iterations=5 4)" "energies of two comparisons"
    status 0 "$hooke" compare bar.json --json --pose --out compared --name posed --iterations 300 \
        -m newton,quasi_newton --set output={}
    holds out '"status": "converged"'
    holds out '"step": null'
    holds out '"spec": "quasi_newton"'
    holds out '"1e-6": '
    holds out '"iterations_to_residual": '
    holds out '"ms_to_residual": '
    holds out '"csv": "compared/posed.csv"'
    lacks out nan
    exists compared/posed.svg
    if command -v python3 >/dev/null; then
        mv out whole.json
        status 0 python3 -m json.tool whole.json
    fi
    missing frames stats.json compare.csv
}

comparing_frames() {
    status 0 "$hooke" compare bar.json --json --out framed --frames 4 --step 2 --iterations 5 \
        -m 'newton,ten steps=lbfgs:iterations=10,lbfgs'
    holds out '"status": "converged"'
    holds out '"frames": 4'
    holds out '"spec": "ten steps"'
    holds out '"quantile90": '
    holds err "steps 2 to 5"
    holds err "least in"
    equal "$(head -n 1 framed/compare.csv)" "frame,method,error" "columns of the errors"
    equal "$(wc -l <framed/compare.csv | tr -d ' ')" 13 "rows of three methods in four steps"
    equal "$(awk -F, '$2 == "lbfgs" { print $1 }' framed/compare.csv | tr '\n' ' ')" "2 3 4 5 " \
        "steps compared"
    # More iterations never do worse, and Newton's few are all it takes.
    checks=$((checks + 1))
    awk -F, '$2 == "lbfgs" { short[$1] = $3 } $2 == "ten steps" { long[$1] = $3 }
             $2 == "newton" && !($3 < 1e-6) { bad = 1 }
             END { for (k in short) if (!(long[k] <= short[k] && short[k] < 1)) bad = 1
                   exit bad }' framed/compare.csv || fail "errors of the steps make no sense"
    holds framed/compare.svg "ten steps"
    lacks framed/compare.svg nan
    # The first of many steps is the one that is compared alone.
    status 0 "$hooke" compare bar.json -q --out framed --name alone --step 2 --iterations 5 \
        --march newton:tolerance=1e-12 -m lbfgs --repeat 1
    status 0 "$hooke" compare bar.json -q --out framed --name first --step 2 --iterations 5 \
        --march newton:tolerance=1e-12 -m lbfgs --frames 1
    equal "$(awk -F, 'NR > 1 { e = $5 } END { print e }' framed/alone.csv)" \
        "$(awk -F, 'NR == 2 { print $3 }' framed/first.csv)" "error of one step in two ways"
    status 2 "$hooke" compare bar.json --out wrong --frames 0
    status 2 "$hooke" compare bar.json --out wrong --frames 3 --pose
    status 2 "$hooke" compare bar.json --out wrong -m '=newton'
    holds err "a label is missing"
    status 2 "$hooke" compare bar.json --out wrong -m 'one=newton,one=lbfgs'
    holds err "listed twice"
    status 2 "$hooke" compare bar.json --out wrong -m 'one=newtn'
    holds err "did you mean 'newton'?"
    status 1 "$hooke" compare bar.json --out wrong --frames 2 --set bodies.0.material.young=-1
    missing wrong/compare.csv
}

comparing_wrongly() {
    for bad in "newtn:did you mean 'newton'?" "newton,,lbfgs:there are newton" \
        "newton+jacobi:no option of newton has the word 'jacobi'" \
        "newton+auto:start=auto or :projection=auto" "lbfgs,lbfgs:listed twice" \
        "lbfgs+none+jacobi:given twice" "newton+:no option of newton"; do
        status 2 "$hooke" compare bar.json --out wrong --methods "${bad%%:*}"
        holds err "${bad#*:}"
    done
    status 2 "$hooke" compare bar.json --out wrong --methods lbfgs:windw=3
    holds err "it has iterations, tolerance"
    status 2 "$hooke" compare bar.json --out wrong --methods lbfgs:window=many
    holds err "expected a number"
    status 2 "$hooke" compare bar.json --out wrong --methods lbfgs:window=-1
    status 2 "$hooke" compare bar.json --out wrong --methods newton:start=soon
    holds err "velocity"
    status 2 "$hooke" compare bar.json --out wrong --methods newton:iterations=0
    status 2 "$hooke" compare bar.json --out wrong --methods newton:tolerance=1
    status 2 "$hooke" compare bar.json --out wrong --methods newton:window
    status 2 "$hooke" compare bar.json --out wrong --march magic
    status 2 "$hooke" compare bar.json --out wrong --start magic
    status 2 "$hooke" compare bar.json --out wrong --pose --step 3
    status 2 "$hooke" compare bar.json --out wrong --pose --start velocity
    status 2 "$hooke" compare bar.json --out wrong --step 0
    status 2 "$hooke" compare bar.json --out wrong --name sub/name
    status 2 "$hooke" compare bar.json --out wrong --json --tolerance 0
    holds out '"status": "failed"'
    status 2 "$hooke" compare
    status 1 "$hooke" compare nowhere.json --out wrong
    # At rest there is nothing to gain.
    status 1 "$hooke" compare bar.json --out wrong --set 'gravity=[0,0,0]'
    holds err "nothing to compare"
    status 1 "$hooke" compare bar.json --out wrong --pose --set bodies.0.fix=[]
    holds err "finds no solution"
    missing wrong/compare.csv wrong/compare.svg wrong/name.csv
    cp bar.json own.csv
    status 1 "$hooke" compare own.csv --name own
    holds err "is the scene itself"
    # Interrupted, it ends with what is done.
    "$hooke" compare bar.json --json --out halted --threads 1 --step 1 \
        --set 'bodies.0.mesh.box.cells=[30,6,6]' --set time.step=10 \
        --methods newton,gradient_descent+none:iterations=2000000000 >out 2>err &
    process=$!
    sleep 1
    terminate $process
    equal $ended 1 "status of an interrupted comparison"
    holds out '"status": '
    equal "$(find halted -name '*tmp*')" "" "temporary files are left"
}

sweeping() {
    status 0 "$hooke" sweep bar.json --vary bodies.0.material.young=1e5:1e7:5:log --out swept \
        --record y.min,energy.elastic --threads 1
    empty err
    holds out "5 of 5 values"
    holds out "wrote       swept/sweep.svg"
    equal "$(cut -d, -f1 swept/sweep.csv | tr '\n' ' ')" "value 100000 316227.766 1000000 3162277.66 1e+07 " \
        "values of a sweep"
    holds swept/sweep.svg "</svg>"
    # The stiffer, the less it sags: y.min is column 10.
    checks=$((checks + 1))
    awk -F, 'NR > 2 && $10 <= last { exit 1 } { last = $10 } END { exit !(NR == 6) }' swept/sweep.csv ||
        fail "a stiffer bar sags more"
    # Each pose started from the one before; from the rest it is the same.
    status 0 "$hooke" sweep bar.json --vary bodies.0.material.young=1e5:1e7:5:log --out swept \
        --name fresh --fresh -q
    empty out
    checks=$((checks + 1))
    paste -d, swept/sweep.csv swept/fresh.csv |
        awk -F, 'NR > 1 && ($10 - $28) ^ 2 > 1e-12 { exit 1 }' || fail "a pose depends on its start"
    # Lists, of words too, and meshes that differ.
    status 0 "$hooke" sweep bar.json --vary solver.method=newton,lbfgs --command run --json \
        --set time.steps=2 --out swept --name methods
    holds out '"value": "lbfgs"'
    holds out '"energy.kinetic"'
    exists swept/methods.csv
    missing swept/methods.svg frames stats.json
    status 0 "$hooke" sweep bar.json --vary bodies.0.mesh.box.cells.0=4,8 --out swept --name cells
    status 1 "$hooke" sweep bar.json --vary bodies.0.material.poisson=0.25,0.6 --out swept --json
    holds out '"status": "failed"'
    holds out '"value": 0.25'
    holds err "1 of 2 values failed; bodies.0.material.poisson = 0.6"
    for bad in "" "=1:2:3" "young" "young=" "young=1:2" "young=1:2:1" "young=1:2:3:lin" \
        "young=-1:2:3:log" "young=1,,2" "young=a:b:3"; do
        status 2 "$hooke" sweep bar.json --out wrong --vary "$bad"
    done
    status 2 "$hooke" sweep bar.json --out wrong
    holds err "--vary PATH=FROM:TO:COUNT"
    status 2 "$hooke" sweep bar.json --out wrong --vary gravity.1=0:1:2 --record energy.elastik
    holds err "did you mean 'energy.elastic'?"
    status 2 "$hooke" sweep bar.json --out wrong --vary gravity.1=0:1:2 --command walk
    status 1 "$hooke" sweep nowhere.json --out wrong --vary gravity.1=0:1:2
    missing wrong/sweep.csv
}

tune() {
    # Formatting of all kinds, keys in escapes, a brace within a string.
    world='"time": {"step": 0.0333, "steps": 8}, "bodies": [{"name": "a \"}{ \u00e9\\",
    "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [5, 1, 1]}},
    "material": {"model": "neo_hookean", "young": 1e6, "poisson": 0.4, "density": 1000.0},
    "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]'
    mark='@PHASES@'
    for form in '"solver": {"method": "descent", "iterations": 32, "phases": @PHASES@},' \
        '"solver" :{"phases":@PHASES@  , "iterations":3.2e1,"method":"descent"} ,' \
        '"\u0073olver": {
       "method": "descent",
       "ph\u0061ses"
         : @PHASES@, "iterations": 32 },'; do
        printf '{ %s\n %s}\n\n' "$form" "$world" >form
        sed "s/$mark/[ [8, 5e-1],[24,0.900]\t]/" form >tune.json
        status 0 "$hooke" tune tune.json --samples 2 --phases 3 --json --threads 1
        holds out '"status": "converged"'
        holds out '"wrote": "tune.json"'
        sed -n '/"before": {/,/}/p' out >before
        sed -n '/"after": {/,/}/p' out >after
        true_that "$(number after error) < $(number before error)"
        phases=$(sed -n 's/^"phases": //p' err)
        sed "s/$mark/$phases/" form >expected
        checks=$((checks + 1))
        cmp -s expected tune.json || { fail "not only the phases changed"; diff expected tune.json >&2; }
    done
    # Again: as good or better. Nothing is left behind.
    first=$(number after error)
    status 0 "$hooke" tune tune.json --samples 2 --phases 3 --json --threads 2
    sed -n '/"before": {/,/}/p' out >before
    sed -n '/"after": {/,/}/p' out >after
    true_that "$(number before error) == $first && $(number after error) <= $first"
    status 0 "$hooke" run tune.json -q
    equal "$(find . -name '*.new.json*')" "" "temporary files are left"
    # A key that is missing is added the way the others stand; length1 and rho1 make room.
    for pair in '{"method": "descent"}|{"method": "descent", "phases": ' \
        '{"method":"descent","iterations":24}|{"method":"descent","iterations":24,"phases":' \
        '{"length1": 9, "method": "descent", "rho1": 0.5}|{"method": "descent", "phases": ' \
        '{ "iterations": 24, "method": "descent" , "rho2":0.3,"length2": 9 }|{ "iterations": 24, "method": "descent", "phases": '; do
        printf '{"solver": %s, %s}' "${pair%%|*}" "$world" >tune.json
        status 0 "$hooke" tune tune.json --phases 2 --samples 2 --steps 4 --threads 1
        holds out '"phases": [['
        holds out 'wrote       tune.json'
        holds tune.json "{\"solver\": ${pair#*|}[["
        lacks tune.json length
        lacks tune.json rho
        holds tune.json '"density": 1000.0'
        status 0 "$hooke" run tune.json -q
    done
    printf '{"solver": {\n    "method": "descent",\n    "iterations": 24\n  },\n%s}\n' "$world" >lines.json
    cp lines.json lines.old
    status 0 "$hooke" tune lines.json --samples 1 --dry-run --threads 1
    holds out 'tuned'
    lacks out 'wrote'
    status 0 "$hooke" tune lines.json --samples 1 --threads 1 -q --write new/lines.json --set solver.iterations=16
    empty out
    checks=$((checks + 1))
    cmp -s lines.json lines.old || fail "a dry run or --write changed the scene"
    grep -v '"phases"' new/lines.json | sed 's/"iterations": 24,/"iterations": 24/' >without
    checks=$((checks + 1))
    cmp -s lines.old without || fail "--write changed more than the phases"
    holds new/lines.json '    "phases": [['
    # What cannot be tuned, or not be written there.
    echo file >blocked
    status 1 "$hooke" tune lines.json --write blocked/lines.json
    "$hooke" mesh make box -o own.msh >/dev/null
    sed 's/{"box": {"size".*}},$/{"file": "own.msh"},/' lines.json >own.json
    status 1 "$hooke" tune own.json --write new/own.json
    holds err 'new/own.json would not be a valid scene'
    equal "$(ls new)" "lines.json" "files beside the one written"
    status 1 "$hooke" tune bar.json
    holds err 'only descent has phases'
    cp bar.json plain.json
    status 1 "$hooke" tune plain.json --set solver.method=descent
    holds err '"solver": {"method": "descent"}'
    printf '{%s}' "$world" >none.json
    status 1 "$hooke" tune none.json --set solver.method=descent
    status 0 "$hooke" tune none.json --set solver.method=descent --dry-run --samples 1 --steps 2 --time 0.2
    equal "$(cat none.json)" "{$world}" "a scene without solver"
    status 1 "$hooke" tune lines.json --set solver.acceleration=nesterov
    holds err 'chebyshev'
    status 1 "$hooke" tune lines.json --set 'gravity=[0,0,0]' --json
    holds err 'at rest'
    holds out '"error"'
    for option in --phases=0 --phases=9 --samples=0 --steps=0 --time=0; do
        status 2 "$hooke" tune lines.json $option
    done
    status 2 "$hooke" tune lines.json --dry-run --write x.json
    checks=$((checks + 1))
    cmp -s lines.json lines.old && cmp -s plain.json bar.json || fail "a failure changed the scene"
}

# hooke with an OpenBLAS that says it takes the processor for a Prescott (test/old_blas.c); `loads` has
# a line for every time that the program was loaded.
with_old_blas() {
    rm -f loads
    env ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" LD_PRELOAD="$old_blas" \
        OLD_BLAS_LOADS="$work/loads" "$@"
}
loads() { equal "$(wc -l <loads)" "$1" "times that the program was loaded: $2"; }

machine() {
    unset OPENBLAS_CORETYPE HOOKE_BLAS_TOOK_CPU_FOR HOOKE_STARTED_ANEW GOMP_SPINCOUNT OMP_WAIT_POLICY
    # Threads that wait for each other leave the cores to others, unless the user wants it otherwise.
    status 0 "$hooke" help machine
    holds out 'GOMP_SPINCOUNT=2000'
    status 0 env OMP_WAIT_POLICY=active "$hooke" help machine
    holds out 'OMP_WAIT_POLICY=active'
    lacks out GOMP_SPINCOUNT
    export GOMP_SPINCOUNT=1000
    status 0 "$hooke" help machine
    holds out 'GOMP_SPINCOUNT=1000'
    for fact in lanes 'single precision' threads 'direct solver' GPU; do holds out "$fact"; done
    grep -q 'BLAS  *OpenBLAS' out || return  # built without, or with another
    holds out ', core '
    lacks out Warning
    # What the user chose is kept.
    status 0 env OPENBLAS_CORETYPE=Prescott "$hooke" help machine
    holds out 'core Prescott (OPENBLAS_CORETYPE=Prescott)'
    if grep -qw fma /proc/cpuinfo; then holds out 'Warning: factorisations are slow'; fi
    # A processor that is as old as that needs no correction, and without the library there is no
    # way to see one.
    { grep -qw fma /proc/cpuinfo && [ -n "$old_blas" ]; } || return
    status 0 with_old_blas "$hooke" help machine
    holds out 'left alone, it takes this processor for Prescott'
    lacks out Warning
    loads 2 corrected
    status 0 with_old_blas env OPENBLAS_CORETYPE=Nehalem "$hooke" help machine
    loads 2 "kept (env, hooke)"
    holds out 'OPENBLAS_CORETYPE=Nehalem'
    lacks out 'left alone'
    # Arguments, outputs and the exit status are those of the program that was called.
    status 2 with_old_blas "$hooke" help 'a  "b$c' ''
    holds err "no help on 'a  \"b\$c'"
    loads 2 "wrong usage"
    # An OpenBLAS that does not heed its variable: one attempt, and it is told once.
    status 0 with_old_blas env OLD_BLAS_STUBBORN=1 "$hooke" pose bar.json --out old
    loads 3 "one attempt (env, hooke, hooke)"
    equal "$(grep -c 'factorisations are slow' err)" 1 "warnings"
    holds err 'does not heed OPENBLAS_CORETYPE='
}

contact() {
    cat >rest.json <<'END'
{
  "time": {"step": 0.01, "steps": 6},
  "contact": {"distance": 0.002, "certify": true},
  "obstacles": [{"name": "floor", "plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}],
  "bodies": [{"name": "cube", "mesh": {"box": {"size": [0.2, 0.2, 0.2], "cells": [2, 2, 2]}},
    "transform": {"translate": [0, 0.0015, 0]},
    "material": {"model": "neo_hookean", "young": 1e5, "poisson": 0.4, "density": 1000}}],
  "output": {"vtu": "rest/rest.pvd", "stats": "rest/rest.json"}
}
END
    status 0 "$hooke" run rest.json --json
    holds out '"certified": true'
    holds out '"name": "floor"'
    true_that "$(number out pairs) == 9 && $(number out least_gap) > 0 && $(number out least_gap) < 0.002"
    true_that "$(number out detections) > 0 && $(number out clamped) >= 0"
    holds rest/rest.json '"detection"'
    holds rest/rest.json '"torque"'
    holds rest/rest_0006.vtu '"contact_force"'
    status 0 "$hooke" certify rest/rest.pvd
    status 0 "$hooke" pose rest.json
    holds out 'contact     9 pairs, least gap '
    holds out '; certified'
    holds out 'obstacle    floor: force ('
    # Without contact nothing of it is told.
    status 0 "$hooke" run bar.json --json
    lacks out '"contact"'
    # What overlaps is refused with names, or pushed apart.
    status 1 "$hooke" run rest.json --set bodies.0.transform.translate.1=-0.05
    holds err 'body 0 (cube) and obstacle floor near ('
    status 0 "$hooke" run rest.json --set bodies.0.transform.translate.1=-0.05 \
        --set contact.overlap=recover --set time.steps=40
    holds out 'overlap     pushed apart in '
    holds out '; certified'
    status 0 "$hooke" render rest.json --color contact -o touch.png --size 200x150
    exists touch.png
    status 1 "$hooke" render bar.json --color contact -o no.png
    holds err 'has no contact'
    status 0 "$hooke" render rest/rest.pvd --color contact --frames 1 -o touched.png --size 64x48
}

certify() {
    printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0.2 0.2 -1\nv 0.2 0.2 1\nv 5 5 5\nf 1 2 3\nf 4 5 6\n' >crossing.obj
    printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0.2 0.2 0\nv 0.2 0.2 1\nv 5 5 5\nf 1 2 3\nf 4 5 6\n' >touching.obj
    printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0.2 0.2 1e-300\nv 0.2 0.2 1\nv 5 5 5\nf 1 2 3\nf 4 5 6\n' >apart.obj
    status 0 "$hooke" certify apart.obj
    equal "$(cat out)" "free of intersections: 1 frame, 2 triangles" "certificate"
    empty err
    status 0 "$hooke" certify apart.obj apart.obj --json --threads 2
    holds out '"status": "free"'
    holds out '"first": null'
    true_that "$(number out frames) == 2 && $(number out intersecting) == 0 && $(number out triangles) == 2"
    status 1 "$hooke" certify crossing.obj
    holds out 'frame 0 (crossing.obj): 1 pair of faces meets'
    holds out 'face (0, 1, 2) of body 0 and face (3, 4, 5) of body 1 near (0.5, 0.5, 0) m'
    holds out '1 of 1 frame is not free of intersections'
    status 1 "$hooke" certify apart.obj touching.obj crossing.obj --json
    holds out '"status": "intersecting"'
    holds out '"file": "touching.obj"'
    holds out '"time": null'
    true_that "$(number out frame) == 1 && $(number out intersecting) == 2 && $(number out count) == 1"
    status 1 "$hooke" certify crossing.obj -q
    empty out
    # One series with the times of its frames.
    printf '<VTKFile type="Collection"><Collection>%s%s</Collection></VTKFile>\n' \
        '<DataSet timestep="0.5" file="apart.obj"/>' '<DataSet timestep="0.75" file="crossing.obj"/>' >two.pvd
    status 1 "$hooke" certify two.pvd
    holds out 'frame 1 (crossing.obj, t = 0.75 s)'
    # A remark of a mesh, which can be simulated all the same.
    status 0 "$hooke" mesh check crossing.obj
    holds out 'remark      the surface intersects itself: 1 pair of faces meets'
    holds out 'can be simulated'
    status 0 "$hooke" mesh check touching.obj
    holds out '(it touches only)'
    status 0 "$hooke" mesh check apart.obj
    lacks out 'remark'
    status 0 "$hooke" mesh check crossing.obj --json
    holds out '"intersections"'
    holds out '"touching": 0'
    status 2 "$hooke" certify
    holds err 'SERIES.pvd|FILE'
    status 2 "$hooke" certify apart.obj --every 2
    status 1 "$hooke" certify nothing.pvd
    status 1 "$hooke" certify missing.vtu --json
    holds out '"status": "failed"'
    printf 'v 0 0 0\n' >empty.obj
    status 1 "$hooke" certify empty.obj
}

usage
help
machine
pose
rest
fit
skins
sag_free
march
sheets
comparing
comparing_frames
comparing_wrongly
sweeping
failing
interrupted
meshes
contact
certify
tune
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
