#!/usr/bin/env bash
# Lets a beam sag and another one swing, and draws both. Everything goes to build/demo.
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/demo
rm -rf "$out"
mkdir -p "$out"

# The commands are shown as a user would type them.
show() {
    echo
    echo "\$ $*"
    "$@"
}

show build/hooke pose scenes/beam.json --out "$out" --points beam.csv \
    --set output.vtu=beam.pvd --set output.stats=beam-stats.json
show build/hooke render scenes/beam.json --pose --rest -o "$out/beam.png"
show build/hooke run scenes/swing.json --out "$out" --set output.every=0.1 \
    --set output.vtu=swing/swing.pvd --set output.points=swing/swing --set output.stats=swing-stats.json
show build/hooke render scenes/swing.json --run --frames 6 --columns 3 -o "$out/swing.png"

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
