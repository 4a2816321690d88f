#!/bin/sh
# Tests what the program does to files: nothing is overwritten by accident, runs go on where they
# were killed, and what files hold does not steer terminals.
#   test/cli_files_test.sh PATH/TO/hooke
set -u
hooke=$(realpath "${1:?which program?}")
. "$(dirname "$(realpath "$0")")/cli_checks.sh"

sed 's/"output": .*$/"output": {}/' bar.json >plain.json

mode() { stat -c %a "$1"; }
frames_of() { grep -c '<DataSet' "$1"; }

# Outputs that are links, devices, pipes or protected.
# (A program that replaces pipes leaves the readers of this test waiting.)
special_files() {
    mkdir special && cd special || exit 1
    echo old >target.json
    ln -s target.json link.json
    status 0 "$hooke" run ../plain.json --set output.stats=link.json
    [ -L link.json ] || fail "a link was replaced"
    holds target.json '"history"'
    ln -s fresh.json dangling.json
    status 0 "$hooke" run ../plain.json --set output.stats=dangling.json
    [ -L dangling.json ] || fail "a dangling link was replaced"
    holds fresh.json '"history"'
    chmod 640 target.json
    status 0 "$hooke" run ../plain.json --set output.stats=link.json
    equal "$(mode target.json)" 640 "the mode of an output"
    chmod 444 target.json
    status 1 "$hooke" run ../plain.json --set output.stats=link.json
    holds err "link.json"
    holds err "read-only"
    chmod 644 target.json
    mkfifo pipe.json
    cat pipe.json >through &
    status 0 "$hooke" run ../plain.json --set output.stats=pipe.json
    wait $!
    [ -p pipe.json ] || fail "a pipe was replaced"
    holds through '"history"'
    "$hooke" mesh make box --size 1,1,1 --cells 1,1,1 -o box.obj -q
    mkfifo pipe.png
    cat pipe.png >picture &
    status 0 "$hooke" render box.obj -o pipe.png
    wait $!
    [ -p pipe.png ] || fail "a pipe was replaced by a picture"
    equal "$(head -c 4 picture | tail -c 3)" PNG "a picture through a pipe"
    echo precious >precious.txt
    ln -s precious.txt shot.png
    status 0 "$hooke" render box.obj -o shot.png
    [ -L shot.png ] || fail "a link was replaced by a picture"
    chmod 400 precious.txt
    status 1 "$hooke" render box.obj -o shot.png
    equal "$(find . -name '*.tmp' -o -name '*.part*' | wc -l)" 0 "files left behind"
    cd ..
}

# A link planted where a temporary file used to be must not be followed.
planted_links() {
    mkdir planted && cd planted || exit 1
    echo precious >precious.txt
    sh -c 'ln -s precious.txt stats.json.$$.tmp
        exec "$@"' sh "$hooke" run ../plain.json --quiet --set output.stats=stats.json
    equal "$(cat precious.txt)" precious "what a planted link points to"
    cd ..
}

# Neither the input nor another output is overwritten.
collisions() {
    mkdir collide && cd collide || exit 1
    status 0 "$hooke" mesh make box --size 1,0.2,0.2 --cells 4,1,1 -o m_0002.vtu
    cp m_0002.vtu kept.vtu
    sed 's/{"box": {"size".*}}/{"file": "m_0002.vtu"}/' ../plain.json >m.json
    status 1 "$hooke" run m.json --set output.vtu=m.pvd
    holds err "m_0002.vtu"
    holds err "mesh of the scene"
    cmp -s m_0002.vtu kept.vtu || fail "the input mesh was overwritten"
    # Beyond the last frame it is safe.
    mv m_0002.vtu m_0200.vtu
    sed 's/m_0002/m_0200/' m.json >far.json
    status 0 "$hooke" run far.json --set output.vtu=m.pvd
    cmp -s m_0200.vtu kept.vtu || fail "the input mesh was overwritten"
    status 1 "$hooke" run ../bar.json --points a.csv --set output.stats=./a.csv
    holds err "same file"
    mkdir sub
    status 1 "$hooke" run ../bar.json --points a.csv --set output.stats=sub/../a.csv
    ln -s . here
    status 1 "$hooke" run ../bar.json --points a.csv --set output.stats=here/a.csv
    missing a.csv
    status 1 "$hooke" run ../bar.json --points frames/bar_0003.csv
    holds err "frame"
    status 1 "$hooke" run ../bar.json --checkpoint stats.json
    # Frames of a skin, and the surface that a body was filled from.
    status 0 "$hooke" mesh make box --size 1,1,1 --cells 2,2,2 -o b_0001.obj
    cp b_0001.obj kept.obj
    sed 's/{"box": {"size".*}}/{"fill": {"file": "b_0001.obj", "cells": 4}}/' ../plain.json >f.json
    status 1 "$hooke" run f.json --set output.skin=b.obj
    holds err "b_0001.obj"
    status 1 "$hooke" rest f.json --set bodies.0.mesh.fill.skin=false --mesh b_0001.obj
    holds err "a mesh of the scene"
    status 0 "$hooke" run f.json --set output.skin=c.obj --set output.every=0 --set time.steps=2
    exists c_0000.obj c_0002.obj
    status 0 "$hooke" run f.json --set output.skin=c.obj --set output.every=0 --set time.steps=1
    holds err "earlier, longer run"
    status 0 "$hooke" pose f.json --set output.skin=c.obj
    holds err "c_pose_0000.obj"
    cmp -s b_0001.obj kept.obj || fail "the surface of a filling was overwritten"
    # Nor the input of a conversion or a filling, by whatever name.
    status 0 "$hooke" mesh make sphere --cells 4 -o s.vtu -q
    cp s.vtu kept.vtu
    ln -s s.vtu alias.vtu
    for name in s.vtu ./s.vtu alias.vtu; do
        status 1 "$hooke" mesh convert s.vtu $name --order 2
        holds err "is the mesh that is read"
        status 1 "$hooke" mesh fill s.vtu -o $name --cells 6
        holds err "is the surface that is read"
    done
    cmp -s s.vtu kept.vtu || fail "the input of a conversion was overwritten"
    # What a fit looks at.
    status 0 "$hooke" pose ../plain.json --set output.vtu=seen.pvd
    cp seen_0000.vtu kept.vtu
    status 1 "$hooke" fit ../plain.json --target seen_0000.vtu --set output.vtu=seen.pvd
    holds err "the target"
    cmp -s seen_0000.vtu kept.vtu || fail "the target of a fit was overwritten"
    cd ..
}

# A pose beside a run of the same name; a shorter run over a longer one.
series() {
    mkdir series && cd series || exit 1
    status 0 "$hooke" run ../bar.json
    equal "$(frames_of frames/bar.pvd)" 4 "frames of a run"
    cp frames/bar.pvd run.pvd
    cp frames/bar_0000.csv run.csv
    status 0 "$hooke" pose ../bar.json
    holds err "frames/bar_pose.pvd"
    cmp -s frames/bar.pvd run.pvd || fail "a pose changed the series of a run"
    cmp -s frames/bar_0000.csv run.csv || fail "a pose changed the points of a run"
    equal "$(frames_of frames/bar_pose.pvd)" 1 "frames of a pose"
    exists frames/bar_pose_0000.vtu frames/bar_pose_0000.csv
    status 0 "$hooke" run ../bar.json --set time.steps=2
    holds err "earlier, longer run"
    holds err "frames/bar_0002.vtu to frames/bar_0003.vtu"
    equal "$(frames_of frames/bar.pvd)" 2 "frames of a shorter run"
    # After every frame the collection is a whole file: it is added to in place.
    status 0 "$hooke" run ../bar.json --set output.every=0 --set time.steps=30
    equal "$(frames_of frames/bar.pvd)" 31 "frames of a longer run"
    equal "$(tail -n 1 frames/bar.pvd)" '</VTKFile>' "the end of a collection"
    equal "$(grep -c '</Collection>' frames/bar.pvd)" 1 "the ends of a collection"
    cd ..
}

# Values beside a mesh are kept or told of.
fields() {
    status 0 "$hooke" run plain.json --set output.every=0.0333 --set output.vtu=f/bar.pvd
    status 0 "$hooke" mesh convert f/bar_0003.vtu f/again.vtu
    holds f/again.vtu 'Name="von_mises"'
    holds f/again.vtu 'Name="displacement"'
    status 0 "$hooke" mesh convert f/bar_0003.vtu f/bar.msh
    holds f/bar.msh '"velocity"'
    empty err
    status 0 "$hooke" mesh convert f/bar_0003.vtu f/bar.stl
    holds err "left out 4 fields (displacement, velocity, von_mises, J)"
    printf '# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n10\nPOINT_DATA 4\nSCALARS heat float\nLOOKUP_TABLE default\n1 2 3 4\n' >heat.vtk
    status 0 "$hooke" mesh convert heat.vtk heat.msh
    holds err "left out"
}

# Killed without warning and resumed, a run ends as if nothing had happened. (Another process has its
# formulas elsewhere in memory.)
killed() {
    mkdir whole killed
    for method in newton descent xpbd; do
        set -- run bar.json --set time.steps=60 --set output.every=0.05 --set "solver.method=$method" --set output.stats="$method.json" \
            --set 'bodies.0.move=[{"name": "end", "select": {"box": [[0.99, -1, -1], [2, 1, 1]]}, "translate": [0, 0.02, 0], "factor": "sin(20*t)"}]' \
            --set output.reactions=reactions.csv --set output.probe_file=probes.csv \
            --set 'output.probes=[{"name": "a, \"b\"", "body": "bar", "at": [0.5, 0.1, 0.1]}]'
        rm -rf whole/* killed/*
        status 0 "$hooke" "$@" --out whole --points final.csv
        "$hooke" "$@" --out killed --checkpoint c.hks --every 0.05 --points final.csv --quiet &
        tries=0
        while [ ! -f killed/c.hks ] && [ $tries -lt 300 ]; do sleep 0.02; tries=$((tries + 1)); done
        kill -KILL $! 2>/dev/null
        wait $! 2>/dev/null
        exists killed/c.hks
        status 0 "$hooke" "$@" --out killed --resume killed/c.hks --points final.csv
        cmp -s whole/final.csv killed/final.csv || fail "$method: resumed, the end is another"
        cmp -s whole/frames/bar.pvd killed/frames/bar.pvd || fail "$method: resumed, the series is another"
        for f in whole/frames/*; do
            cmp -s "$f" "killed/frames/$(basename "$f")" || fail "$method: resumed, $f is another"
        done
        for f in reactions.csv probes.csv; do
            equal "$(wc -l <"whole/$f")" 62 "rows of $f"
            cmp -s "whole/$f" "killed/$f" || fail "$method: resumed, $f is another"
        done
        equal "$(head -n 1 whole/probes.csv | tr ',' '\n' | wc -l)" 23 "columns of a probe with a comma"
        equal "$(grep -c '"reason"' "killed/$method.json")" "$(grep -c '"reason"' "whole/$method.json")" "steps in the history of $method"
        equal "$(number "killed/$method.json" iterations)" "$(number "whole/$method.json" iterations)" "iterations of $method"
    done
    # A pose leaves the rows of a run alone.
    cp whole/probes.csv rows.csv
    status 0 "$hooke" pose bar.json --out whole --set output.probe_file=probes.csv --set 'output.probes=[{"name": "a", "body": "bar", "at": [0, 0, 0]}]'
    holds err "probes_pose.csv"
    cmp -s rows.csv whole/probes.csv || fail "a pose took the place of a run's probes"
    status 1 "$hooke" run bar.json --resume killed/c.hks --set bodies.0.material.young=2e6
    holds err "another model"
    head -c 5000 killed/c.hks >cut.hks
    status 1 "$hooke" run bar.json --resume cut.hks
    holds err "cut short"
    status 1 "$hooke" run bar.json --resume bar.json
    holds err "no state of Hooke"
    status 2 "$hooke" run bar.json --every 0.1
    status 2 "$hooke" run bar.json --checkpoint c.hks --every 0
}

# Sag first, then let go.
starts() {
    status 0 "$hooke" pose plain.json --points pose.csv --checkpoint sagged.hks
    # In equilibrium nothing moves.
    status 0 "$hooke" run plain.json --set 'bodies.0.initial={"pose": true}' --json
    true_that "$(number out kinetic) < 1e-12"
    status 0 "$hooke" run plain.json --set 'bodies.0.initial={"state": "sagged.hks"}' --json
    true_that "$(number out kinetic) < 1e-12"
    # Without what it was held by it falls.
    status 0 "$hooke" run plain.json --set 'bodies.0.initial={"state": "sagged.hks"}' --set 'bodies.0.fix=[]' --json
    true_that "$(number out kinetic) > 1"
    status 1 "$hooke" run plain.json --set 'bodies.0.initial={"pose": true}' --set 'bodies.0.fix=[]'
    holds err "no equilibrium to begin with"
    status 1 "$hooke" run plain.json --set 'bodies.0.initial={"pose": true, "state": "sagged.hks"}'
    status 1 "$hooke" run plain.json --set 'bodies.0.initial={"state": "missing.hks"}'
    holds err "missing.hks"
    status 1 "$hooke" run plain.json --set 'bodies.0.initial={"state": "sagged.hks"}' --set 'bodies.0.mesh.box.cells=[4,1,1]'
    holds err "another mesh"
}

# What comes from files is shown, not obeyed.
escapes() {
    esc=$(printf '\033')
    sed 's/"name": "bar"/"name": "b\\u001b[31mar\\u009b"/' bar.json >evil.json
    sed 's/"bodies": \[{/"bodies": [{"name": "o", "mesh": {"box": {"size": [1, 1, 1], "cells": [1, 1, 1]}}, "material": {"model": "arap", "young": 1e6, "poisson": 0, "density": 1}, "fix": [{"all": true}]}, {/' evil.json >two.json
    status 0 "$hooke" run two.json --set time.steps=1
    lacks out "$esc"
    holds out '\u001b[31mar\u009b'
    status 0 "$hooke" run two.json --set time.steps=1 --json
    lacks out "$esc"
    lacks err "$esc"
    status 1 "$hooke" run "no${esc}[31mfile.json"
    lacks err "$esc"
    holds err '\u001b[31m'
    status 2 "$hooke" run bar.json "--x${esc}c"
    lacks err "$esc"
    # Nor what turns the direction of the text after it; other characters of three bytes stay.
    sed 's/"name": "bar"/"name": "b\\u202ear\\u2066…\\u2029é€"/' bar.json >turned.json
    status 0 "$hooke" run turned.json --set time.steps=1
    holds out 'b\u202ear\u2066…\u2029é€'
    # A name with a line break in it stays on its line.
    status 0 "$hooke" run bar.json --set time.steps=1 --set "output.stats=a
b.json"
    holds out 'wrote       a\u000ab.json'
}

# Clear answers to what is too much or nothing.
limits() {
    status 1 "$hooke" pose bar.json --set bodies.0.material.young=1e308
    holds err "too large to compute with"
    lacks err nan
    status 1 "$hooke" run bar.json --set 'bodies.0.fix=[{"vertices": []}]'
    holds err "must have at least 1 item"
    { printf '{"bodies": ['; head -c 40000000 /dev/zero | tr '\0' ' '; printf ']}'; } >long.json
    status 1 "$hooke" run long.json
    holds err "too long for a scene"
    # What does not end is not read to its end.
    most=2000000 # sanitizers take addresses without end for themselves
    if grep -q __asan_init "$hooke"; then most=unlimited; fi
    (ulimit -v $most && timeout 60 "$hooke" run /dev/zero >out 2>err)
    equal "$?" 1 "a scene that does not end"
    holds err "too long for a scene"
    # A method that measures no residual has none to tell.
    status 0 "$hooke" run bar.json --set time.steps=2 --set solver.method=xpbd --set solver.iterations=1
    lacks err "relative residual 0.0e+00"
    status 0 "$hooke" pose bar.json --set bodies.0.material.model=fixed_corotated --set bodies.0.material.poisson=-0.3
    equal "$(grep -c "no lower bound" err)" 1 "warnings of a law"
    status 0 "$hooke" pose bar.json --set bodies.0.material.model=stvk --set bodies.0.material.poisson=-0.3
    lacks err "no lower bound"
    # Sanitizers map terabytes of addresses.
    if grep -q __asan_init "$hooke"; then return; fi
    (ulimit -v 200000 && timeout 60 "$hooke" --version >out 2>err)
    equal "$?" 0 "--version with 200 MB of addresses"
    equal "$(cat out)" "hooke 0.1.0" "--version with 200 MB of addresses"
}

special_files
planted_links
collisions
series
fields
killed
starts
escapes
limits
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
