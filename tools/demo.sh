#!/usr/bin/env bash
# Lets a beam sag and another one swing, and draws both. Everything goes to out/demo. Where there is
# no build/hooke yet, a quick build of the program alone is made in build-demo.
set -euo pipefail
cd "$(dirname "$0")/.."
out=out/demo
hooke=build/hooke
if [ ! -x $hooke ]; then
    tools/configure.sh release build-demo -DHOOKE_CUDA=OFF -DHOOKE_TESTS=OFF -DHOOKE_BENCH=OFF \
        -DHOOKE_WIDE_LANES=OFF "-DCMAKE_C_FLAGS_RELEASE=-O1 -DNDEBUG" ${CMAKE_ARGS:-}
    cmake --build build-demo --parallel "${JOBS:-2}" --target hooke_cli
    hooke=build-demo/hooke
fi
rm -rf "$out"
mkdir -p "$out"

# The commands are shown as a user would type them.
show() {
    echo
    echo "\$ $*"
    "$@"
}

show $hooke pose scenes/beam.json --out "$out" --points beam.csv \
    --set output.vtu=beam.pvd --set output.stats=beam-stats.json
show $hooke render scenes/beam.json --pose --rest -o "$out/beam.png"
show $hooke run scenes/swing.json --out "$out" --set output.every=0.1 \
    --set output.vtu=swing/swing.pvd --set output.points=swing/swing --set output.stats=swing-stats.json
show $hooke render scenes/swing.json --run --frames 6 --columns 3 -o "$out/swing.png"

cat <<END

Look at
    $out/beam.png           the beam under its own weight, and its rest shape
    $out/swing.png          six moments of the swing
    $out/beam.pvd           the same beam, for ParaView
    $out/swing/swing.pvd    the swing as a series, for ParaView
    $out/beam.csv           where every vertex of the beam comes to rest
    $out/swing-stats.json   iterations, residuals, energies and times of every step
and change scenes/beam.json, or pass --set bodies.0.material.young=3e5 to any of these commands.
END
