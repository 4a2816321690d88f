#!/bin/sh
# Tests pictures, animations and models of what was saved.
#   test/cli_render_test.sh PATH/TO/hooke
set -u
hooke=$(realpath "${1:?which program?}")
source=$(dirname "$(dirname "$(realpath "$0")")")
. "$source/test/cli_checks.sh"
small="--size 160x100"

# Fields of files by their names.
fields() {
    status 0 "$hooke" run bar.json -q
    for what in von_mises stress displacement velocity velocity.y J; do
        status 0 "$hooke" render frames/bar.pvd --color $what --json $small -o field.png
        holds out '"values"'
    done
    status 1 "$hooke" render frames/bar.pvd --color temperature $small -o none.png
    holds err 'has no field "temperature"; it has displacement, velocity, von_mises, J'
    missing none.png
    status 1 "$hooke" render frames/bar.pvd --color velocity.zz7 $small -o none.png
    status 2 "$hooke" render frames/bar.pvd --color J --color velocity $small -o none.png
    holds err "'--color' is there twice"
    missing none.png
    status 1 "$hooke" render frames/bar.pvd --color von_mises.y $small -o none.png
    holds err 'has 1 component'
}

# One state tells its displacement by itself; what does not is not drawn as 0.
rest_shapes() {
    status 0 "$hooke" render frames/bar_0003.vtu --color displacement $small -o one.png
    holds out 'field "displacement"'
    status 0 "$hooke" render frames/bar_0003.vtu --color displacement --json $small -o one.png
    holds out '"rest": "file"'
    status 0 "$hooke" mesh convert frames/bar_0003.vtu bare.msh
    status 1 "$hooke" render bare.msh --color displacement $small -o none.png
    holds err 'its rest shape is not known'
    status 1 "$hooke" render bare.msh --exaggerate 3 $small -o none.png
    status 0 "$hooke" mesh convert frames/bar_0000.vtu first.msh
    status 0 "$hooke" render first.msh bare.msh --color displacement $small -o two.png
    holds out 'since the first frame'
    status 0 "$hooke" render frames/bar_0003.vtu --exaggerate 20 $small -o large.png
    status 0 "$hooke" render frames/bar_0003.vtu $small -o plain.png
    checks=$((checks + 1))
    ! cmp -s large.png plain.png || fail "--exaggerate changes nothing"
}

# The look: cuts are closed, cameras aim, colours change.
looks() {
    status 0 "$hooke" mesh make box --size 1,1,1 --cells 4,4,4 -o cube.msh
    for plane in x=0.3 -x=0.3 y=0.5 1,1,1=1.4; do
        status 0 "$hooke" render cube.msh --clip $plane --json $small -o cut.png
        true_that "$(number out triangles) > 100"
    done
    status 1 "$hooke" render cube.msh --clip x=-7 $small -o none.png
    holds err 'leaves nothing to draw'
    status 2 "$hooke" render cube.msh --clip z $small -o none.png
    status 0 "$hooke" render cube.msh --look-at 0,0,0 --zoom 2 $small -o corner.png
    status 0 "$hooke" render cube.msh --from 5,3,4 --look-at 1,1,1 $small -o from.png
    status 1 "$hooke" render cube.msh --from 0.5,0.5,0.5 --look-at 0,0,0 $small -o none.png
    status 2 "$hooke" render cube.msh --from 5,3,4 --view top $small -o none.png
    for map in spectrum viridis magma coolwarm grey; do
        status 0 "$hooke" render frames/bar_0003.vtu --color von_mises --colormap $map $small -o $map.png
    done
    checks=$((checks + 1))
    ! cmp -s viridis.png magma.png || fail "colour maps look the same"
    status 2 "$hooke" render cube.msh --colormap puce $small -o none.png
    missing none.png
}

# Animations need no other program.
animations() {
    status 0 env PATH=/nonexistent "$hooke" render frames/bar.pvd --color stress $small -o bar.gif
    equal "$(head -c 6 bar.gif)" GIF89a "the first bytes of a GIF"
    status 0 "$hooke" render frames/bar.pvd -o bar.glb
    equal "$(head -c 4 bar.glb)" glTF "the first bytes of a glTF"
    holds bar.glb '"targets"'
    status 0 "$hooke" render frames/bar.pvd --color displacement -o colored.glb
    holds colored.glb '"STEP"'
    status 0 "$hooke" render bar.json --pose -o pose.glb
    # A surface that is drawn where the tets of its body are finer, in a scene with an obstacle.
    status 0 "$hooke" mesh make sphere --radius 0.5 --cells 4 -o ball.obj -q
    cat >ball.json <<'END'
{"gravity": [0, -9.81, 0], "time": {"step": 0.02, "steps": 6}, "contact": {},
 "obstacles": [{"box": {"min": [-2, -1.6, -2], "max": [2, -0.6, 2]}}],
 "bodies": [{"name": "ball", "mesh": {"fill": {"file": "ball.obj", "cells": 5}},
   "material": {"model": "neo_hookean", "young": 1e5, "poisson": 0.4, "density": 1000}}]}
END
    status 0 "$hooke" render ball.json --run --color none -o ball.glb
    status 0 "$hooke" render ball.json --run --color displacement -o ball_colored.glb
    status 0 "$hooke" mesh convert ball.obj plain.glb
    command -v python3 >/dev/null || { echo "skipped: no python3 to check models"; return; }
    for model in bar colored ball ball_colored; do
        status 0 python3 "$source/test/glb_check.py" $model.glb --animated
    done
    for model in pose plain; do status 0 python3 "$source/test/glb_check.py" $model.glb; done
    head -c 2000 bar.glb >cut.glb
    status 1 python3 "$source/test/glb_check.py" cut.glb
}

# Nothing that is drawn is overwritten, by whatever name.
inputs() {
    cp frames/bar_0003.vtu state.vtu
    ln state.vtu state.png
    sum=$(cksum <state.vtu)
    status 1 "$hooke" render state.vtu $small -o state.png
    holds err 'is what is drawn'
    ln -s ../bar.json frames/0002.png
    status 1 "$hooke" render bar.json --run $small -o frames/%04d.png
    holds err 'is the scene itself'
    holds bar.json '"neo_hookean"'
    equal "$(cksum <state.vtu)" "$sum" "an input"
    ln frames/bar_0001.vtu frame.gif
    status 1 "$hooke" render frames/bar.pvd $small -o frame.gif
    holds err 'is what is drawn'
}

fields
rest_shapes
looks
animations
inputs
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
