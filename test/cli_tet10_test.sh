#!/bin/sh
# Quadratic tets on the command line: make, convert both ways, check, pose, run, what is refused.
# Usage: cli_tet10_test.sh PROGRAM
set -u
hooke=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
checks=0

check() { # WHAT CONDITION…
    what=$1
    shift
    checks=$((checks + 1))
    if "$@" >/dev/null 2>&1; then return; fi
    failures=$((failures + 1))
    echo "failed: $what" >&2
}
# Whether FILE has a line that matches.
says() { grep -q -- "$1" "$2"; }
refuses() { ! "$@" >out.txt 2>&1; }

check "make" "$hooke" mesh make box --size 1,0.1,0.1 --cells 10,1,1 --order 2 -o bar2.msh
"$hooke" mesh make box --size 1,0.1,0.1 --cells 10,1,1 --order 2 -o bar2.msh >out.txt
check "make tells the order" says "179 vertices, 50 quadratic tets" out.txt
check "elements of type 11" says "^1 11 2 " bar2.msh
"$hooke" mesh make box --size 1,0.1,0.1 --cells 10,1,1 -o bar1.msh --quiet
check "convert to order 2" "$hooke" mesh convert bar1.msh raised.msh --order 2
check "as made" cmp bar2.msh raised.msh
check "convert to order 1" "$hooke" mesh convert bar2.msh lowered.msh --order 1
check "as before" cmp bar1.msh lowered.msh
check "convert keeps the order" "$hooke" mesh convert bar2.msh bar2.vtu
check "and back" "$hooke" mesh convert bar2.vtu again.msh
check "the same elements" cmp bar2.msh again.msh
check "surface" "$hooke" mesh convert bar2.msh bar2.obj
"$hooke" mesh check bar2.vtu >out.txt
check "ready to simulate" says "ready to simulate" out.txt
check "order 3 is refused" refuses "$hooke" mesh convert bar1.msh x.msh --order 3
check "with words" says "1 or 2" out.txt
check "order of a sheet is refused" refuses "$hooke" mesh make sheet --order 2 -o x.msh
check "with words" says "no tets" out.txt

cat >beam.json <<'END'
{"gravity": [0, 0, 0], "time": {"step": 0.01, "steps": 2},
 "bodies": [{"name": "bar", "mesh": {"file": "bar2.msh"},
   "material": {"model": "neo_hookean", "young": 1e6, "poisson": 0.3, "density": 1000},
   "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
   "load": [{"select": {"box": [[0.999, -1, -1], [1.001, 1, 1]]}, "force": [0, -0.1, 0]}]}],
 "output": {"vtu": "bar.pvd"}}
END
tip() { # of FILE.csv: the lowest y at x = 1
    awk -F, 'NR > 1 && $2 > 0.99 { if (y == "" || $3 < y) y = $3 } END { print y }' "$1"
}
# Timoshenko's beam: 4.03e-3 m.
between() { awk "BEGIN { exit !($1 > $2 && $1 < $3) }"; }
check "pose" "$hooke" pose beam.json --points 2.csv
check "near beam theory" between "$(tip 2.csv)" -0.00408 -0.00385
check "pose of order 1" "$hooke" pose beam.json --set bodies.0.mesh.order=1 --points 1.csv
check "far from beam theory" between "$(tip 1.csv)" -0.002 -0.001
check "order in a scene" "$hooke" pose beam.json --set bodies.0.mesh.file=bar1.msh \
    --set bodies.0.mesh.order=2 --points 3.csv
check "the same" between "$(tip 3.csv)" -0.00408 -0.00385
check "run" "$hooke" run beam.json --out steps
"$hooke" mesh check "$(ls steps/*.vtu | head -n 1)" >out.txt
check "frames hold quadratic tets" says "179" out.txt
for method in descent quasi_newton vbd xpbd split; do
    check "$method is refused" refuses "$hooke" pose beam.json --set solver.method=$method
    [ $method = xpbd ] || [ $method = split ] || check "$method names newton" says newton out.txt
done
check "a rest shape is refused" refuses "$hooke" rest beam.json
check "and says what to do" says "order" out.txt
check "order 0 is refused" refuses "$hooke" pose beam.json --set bodies.0.mesh.order=0

echo "$((checks - failures)) of $checks checks passed"
[ "$failures" -eq 0 ]
