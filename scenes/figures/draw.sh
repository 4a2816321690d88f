#!/usr/bin/env bash
# Draws the figures of docs/methods.md with the built program: everything goes to build/figures, the
# pictures also to docs/images/figures. With --quick on small meshes, and to build/figures-quick only.
#
#   scenes/figures/draw.sh [--quick] [FIGURE...]    such as descent-4; without names: all
set -euo pipefail
cd "$(dirname "$0")/../.."
hooke=$PWD/build/hooke scenes=$PWD/scenes/figures
out=$PWD/build/figures keep=$PWD/docs/images/figures
repeat=3 frames=100 helix=3,5,6,8,10 truth=3 helix_steps=60
figure=() cloth=() projective=()
if [ "${1:-}" = --quick ]; then
    shift
    out=$PWD/build/figures-quick keep='' repeat=1 frames=10 helix=2,3 truth=2 helix_steps=10
    figure=(--set bodies.0.mesh.figure.cells=12)
    projective=("${figure[@]}")
    cloth=(--set 'bodies.0.mesh.sheet.cells=[20,20]')
fi
all=(descent-2 descent-3 descent-4 descent-5 descent-6 descent-9 descent-10 descent-11 quasi-newton
    linear-solvers integrators)
wanted=("$@")
if [ $# -eq 0 ]; then wanted=("${all[@]}"); fi
for name in "${wanted[@]}"; do
    if [[ " ${all[*]} " != *" $name "* ]]; then
        echo "usage: scenes/figures/draw.sh [--quick] [FIGURE...]; figures: ${all[*]}" >&2
        exit 2
    fi
done
mkdir -p "$out"

begin() {
    if [[ " ${wanted[*]} " != *" $1 "* ]]; then return 1; fi
    echo "== $1"
}

# compare NAME SCENE METHODS [OPTIONS]: the tables go to NAME.txt.
compare() {
    local name=$1 scene=$2 methods=$3
    shift 3
    begin "$name" || return 0
    "$hooke" compare "$scenes/$scene.json" --methods "$methods" --name "$name" --out "$out" \
        --repeat "$repeat" "$@" | tee "$out/$name.txt"
}
march=(--march quasi_newton+updating_hessian:iterations=300:tolerance=1e-6)

# Wang & Yang 2016, Figures 2, 3 and 5: one step of a figure that is thrown while its feet are held.
compare descent-2 figure \
    newton,descent,descent+none,gradient_descent+none,gradient_descent+jacobi,nonlinear_cg+none,nonlinear_cg+jacobi,lbfgs+none,lbfgs+jacobi \
    --start acceleration --log-x "${march[@]}" "${figure[@]}"
compare descent-3 figure \
    "every iteration=descent:refresh=1,every 8th=descent:refresh=8,every 32nd=descent:refresh=32,every 64th=descent:refresh=64" \
    --start acceleration --iterations 96 "${march[@]}" "${figure[@]}"
compare descent-5 figure \
    "no acceleration=descent+none,Nesterov=descent+nesterov,1 phase=descent:length1=96:rho1=0.9995:length2=0,2 phases=descent,3 phases=descent:length1=6:rho1=0.9367:length2=7:rho2=0.99911:length3=83:rho3=0.999662" \
    --start acceleration --iterations 96 "${march[@]}" "${figure[@]}"

# Figure 4: cloth.
compare descent-4 cloth \
    "descent,projective jacobi=projective+chebyshev+double:rho=0.999",projective+direct,projective+gauss_seidel,projective+cg \
    --start position --iterations 96 --step 24 --march newton:tolerance=1e-6 "${cloth[@]}"

# Figure 6: four starts over many steps.
compare descent-6 starts \
    position=descent:start=position,velocity=descent:start=velocity,acceleration=descent:start=acceleration,optimised=descent:start=optimised \
    --start position --iterations 96 --step 1 --frames "$frames"

# Figure 9 and Table 1: a hanging helix at several resolutions.
if begin descent-9; then
    build/bench_scaling --scene "$scenes/helix.json" --cells "$helix" --truth "$truth" \
        --steps "$helix_steps" --out "$out" | tee "$out/descent-9.txt"
    mv "$out/scaling.svg" "$out/descent-9.svg"
    mv "$out/scaling-height.svg" "$out/descent-9-height.svg"
fi

# Figure 10: a box under three kinds of forces and four laws.
pictures=()
pose() {  # KIND LAW MATERIAL
    "$hooke" pose "$scenes/box_$1.json" --set "bodies.0.material=$3" --out "$out/box/$1" \
        --set "output.vtu=$2.pvd" -q
    mv "$out/box/$1/$2_0000.vtu" "$out/box/$1/$2.vtu"
    pictures+=("$1/$2.vtu")
}
if begin descent-10; then
    for kind in stretch compress twist; do
        pose $kind stvk '{"model": "stvk", "mu": 4e4, "lambda": 53333.333333333336}'
        pose $kind neo_hookean_wy '{"model": "neo_hookean_wy", "s0": 2e4, "s1": 4e4}'
        pose $kind mooney_rivlin '{"model": "mooney_rivlin", "s0": 2e4, "s1": 4e4, "s2": 1e4}'
        pose $kind fung '{"model": "fung", "s0": 2e4, "s1": 4e4, "s2": 1e4, "s3": 1}'
    done
    (cd "$out/box" && "$hooke" render "${pictures[@]}" --columns 4 --view 35,20 --no-ground \
        --edges --color none --size 1200x900 -o "$out/descent-10.png" -q)
fi

# Figure 11: force against stretch.
if begin descent-11; then
    build/bench_curves --out "$out" | tee "$out/descent-11.txt"
    mv "$out/curves.svg" "$out/descent-11.svg"
fi

# Liu, Bouaziz & Kavan 2017: what L-BFGS starts from, and how the global step is solved.
compare quasi-newton figure \
    "newton,window 5=quasi_newton,window 0=quasi_newton:window=0,rest_hessian=quasi_newton+rest_hessian,updating_hessian=quasi_newton+updating_hessian,scaled_identity=quasi_newton+scaled_identity" \
    --log-x "${march[@]}" "${figure[@]}"
compare linear-solvers projective \
    projective+direct,projective+chebyshev:rho=0.999,projective+gauss_seidel,projective+cg,newton \
    --start velocity --log-x --march projective+direct "${projective[@]}"

# The energy of a free vibration with every time integrator.
if begin integrators; then
    build/bench_integrators --scene "$scenes/vibration.json" --out "$out" | tee "$out/integrators.txt"
fi

if [ -n "$keep" ]; then
    mkdir -p "$keep"
    for name in "${wanted[@]}"; do cp "$out/$name"*.[sp]*g "$keep"; done
    echo "wrote $keep"
fi
