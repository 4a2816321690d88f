#!/bin/sh
# Backend petsc: poses and runs on 1 to 4 processes agree with one process of `hooke`, files, what is
# refused, and ends with one message. Usage: cluster_test.sh PROGRAM
set -u
hooke=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
checks=0
limit=${CLUSTER_TEST_LIMIT:-100} # s of a command: a process that waits for ever is stopped
# Root in a container, fewer cores than processes, and others who want these cores.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OPENBLAS_NUM_THREADS=1
if ! command -v mpirun >/dev/null; then
    echo "skipped: backend petsc: no mpirun (openmpi-bin)"
    exit 0
fi
if ! timeout $limit mpirun -n 2 true >/dev/null 2>&1; then
    echo "skipped: backend petsc: mpirun does not start processes here"
    exit 0
fi

check() { # WHAT CONDITION…
    what=$1
    shift
    checks=$((checks + 1))
    if "$@" >/dev/null 2>&1; then return; fi
    failures=$((failures + 1))
    echo "failed: $what" >&2
}
says() { grep -q -- "$1" "$2"; }
on() { # PROCESSES COMMAND SCENE ARGUMENTS…: never longer than that
    processes=$1
    command=$2
    shift 2
    timeout $limit mpirun -n "$processes" "$hooke" "$command" "$@" --backend petsc -q
}
# Whether two .csv of points differ by less than 1e-8 of the size of the first.
agree() {
    awk -F, 'FNR == 1 { file++; next }
        file == 1 { x[$1] = $2; y[$1] = $3; z[$1] = $4; n++
            if (n == 1) { a = b = $2; c = d = $3; e = f = $4 }
            if ($2 < a) a = $2; if ($2 > b) b = $2; if ($3 < c) c = $3; if ($3 > d) d = $3
            if ($4 < e) e = $4; if ($4 > f) f = $4; next }
        { m++; for (i = 2; i <= 4; i++) { w = i == 2 ? x[$1] : i == 3 ? y[$1] : z[$1]
            far = $i - w; if (far < 0) far = -far; if (!(far <= most)) most = far } }
        END { size = b - a; if (d - c > size) size = d - c; if (f - e > size) size = f - e
            exit !(n > 0 && n == m && most < 1e-8 * size) }' "$1" "$2"
}
# COMMAND SCENE PROCESSES… ARGUMENTS: as one process of hooke has it.
same() {
    command=$1
    scene=$2
    counts=$3
    shift 3
    rm -f one.csv
    check "$command $scene $* on one process" "$hooke" "$command" "$scene" "$@" --points one.csv -q
    for count in $counts; do
        rm -f many.csv
        check "$command $scene $* on $count" on "$count" "$command" "$scene" "$@" --points many.csv
        check "$command $scene $* on $count agrees" agree one.csv many.csv
    done
}

material() { echo "\"material\": {\"model\": \"$1\", \"young\": 1e5, \"poisson\": 0.4, \"density\": 1000}"; }
cat >bar.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.02, "steps": 3}, "solver": {"tolerance": 1e-11},
 "bodies": [{"name": "bar", "mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [12, 3, 3]}},
   $(material neo_hookean), "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}]}
END
# Bodies that a process does not touch, one that flies, held and moved and pulled vertices.
cat >many.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.02, "steps": 3}, "solver": {"tolerance": 1e-11},
 "damping": {"air": 0.2, "viscous": 0.01, "pbd": 0.5, "ether": 0.1},
 "bodies": [
  {"name": "bar", "mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [10, 3, 3]}},
   $(material corotated), "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}],
   "move": [{"select": {"box": [[0.999, -1, -1], [1.001, 1, 1]]}, "over": 0.06,
     "rotate": {"axis": [1, 0, 0], "center": [1, 0.125, 0.125], "degrees": 40}}]},
  {"name": "two", "mesh": {"pyramid": {"size": [0.2, 0.2, 0.2]}}, $(material stvk),
   "transform": {"translate": [0, 2, 0]}, "initial": {"velocity": [1, 2, 3]}},
  {"name": "ball", "mesh": {"sphere": {"radius": 0.2, "cells": 5}}, $(material stable_neo_hookean),
   "transform": {"translate": [0, 1, 0]},
   "attach": [{"select": {"box": [[-1, 1.1, -1], [1, 3, 1]]}, "stiffness": 200,
     "translate": [0, 0.1, 0], "over": 0.1}],
   "load": [{"select": {"all": true}, "force": [1, 0, 2], "factor": "1 + t"},
     {"select": {"box": [[-1, -1, -1], [0, 3, 1]]}, "pressure": 300}]},
  {"name": "slab", "mesh": {"box": {"size": [0.4, 0.4, 0.1], "cells": [4, 4, 1]}},
   $(material mooney_rivlin), "transform": {"translate": [2, 0, 0]},
   "fix": [{"name": "floor", "select": {"box": [[0, -1, -1], [3, 1e-6, 1]]}, "axes": "y"},
     {"select": {"box": [[0, -1, -1], [2.001, 1e-6, 1]]}}]}]}
END
cat >cloth.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.01, "steps": 2}, "solver": {"tolerance": 1e-11},
 "bodies": [
  {"name": "cloth", "mesh": {"sheet": {"size": [1, 1], "cells": [7, 7]}},
   "material": {"model": "mass_spring", "density": 0.3, "stretch": 500, "bending": 1e-3},
   "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 2]]}]},
  {"name": "shell", "mesh": {"sheet": {"size": [1, 1], "cells": [6, 6]}},
   "material": {"model": "shell", "young": 1e6, "poisson": 0.3, "thickness": 0.01, "density": 100},
   "transform": {"translate": [0, 1, 0]}, "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 2, 2]]}],
   "load": [{"select": {"all": true}, "pressure": 5}]}]}
END

same pose bar.json "1 2 3 4"
same pose bar.json "2" --set bodies.0.mesh.order=2
same pose bar.json "3" --set solver.linear=multigrid
same pose bar.json "2" --set 'bodies.0.material.fibre={"direction": [1, 1, 0], "stiffness": 1e5}'
for law in corotated stvk stable_neo_hookean; do
    same pose bar.json "3" --set "bodies.0.material.model=\"$law\"" --set gravity.1=-2
done
# Held vertices that move, in so many elements that their blocks are lent to the solver.
same pose bar.json "2" --set bodies.0.mesh.box.cells='[28, 7, 7]' --set gravity.1=-2 --set bodies.0.move='[{
    "select": {"box": [[0.999, -1, -1], [1.001, 1, 1]]}, "over": 1,
    "rotate": {"axis": [1, 0, 0], "center": [1, 0.125, 0.125], "degrees": 100}}]'
same run many.json "1 2 3 4"
for integrator in bdf2 implicit_midpoint newmark trbdf2; do
    same run many.json "3" --set "time.integrator=\"$integrator\""
done
same run cloth.json "1 3"
# Two tets for four processes: some have no vertex.
cat >two.json <<END
{"gravity": [0, -1, 0], "time": {"step": 0.02, "steps": 2}, "solver": {"tolerance": 1e-11},
 "bodies": [{"mesh": {"pyramid": {"size": [0.2, 0.2, 0.2]}}, $(material stvk),
   "fix": [{"box": [[-1, -1e-6, -1], [1, 1e-6, 0]]}]}]}
END
same pose two.json "4 7"
same run two.json "4"

# ---- obstacles
cat >fall.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.01, "steps": 4}, "solver": {"tolerance": 1e-11},
 "contact": {"self": false, "friction": 0.4, "certify": true},
 "bodies": [{"name": "bar", "mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [8, 2, 2]}},
   $(material neo_hookean), "transform": {"translate": [0, 0.004, 0],
     "rotate": {"axis": [0, 0, 1], "degrees": 1}}, "initial": {"velocity": [0.5, -1, 0.1]}}],
 "obstacles": [{"name": "floor", "plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}]}
END
# A box comes down on one end of it, a ball is in its way below.
cat >press.json <<END
{"gravity": [0, -1, 0], "time": {"step": 0.02, "steps": 3}, "solver": {"tolerance": 1e-11},
 "contact": {"self": false, "friction": 0.3, "certify": true},
 "bodies": [{"name": "bar", "mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [10, 3, 3]}},
   $(material neo_hookean), "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}],
 "obstacles": [
  {"name": "plate", "box": {"min": [0.62, 0.252, -0.1], "max": [0.9, 0.36, 0.35]},
   "move": [{"translate": [0.01, -0.03, 0], "over": 0.06}]},
  {"name": "ball", "sphere": {"radius": 0.1, "center": [0.35, -0.102, 0.125]}}],
 "output": {"vtu": "press.pvd"}}
END
# Bodies that ignore each other, obstacles of all kinds that move in all ways, held and driven
# vertices and a sheet among them.
printf 'v 4.6 0.1 0.2\nv 4.9 0.1 0.2\nv 4.75 0.1 0.5\nv 4.75 0.02 0.3\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n' >rock.obj
cat >kinds.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.01, "steps": 2}, "solver": {"tolerance": 1e-11},
 "contact": {"self": false, "friction": 0.4,
  "between": [{"bodies": ["bar", "cloth"], "ignore": true},
   {"bodies": ["bar", "cube"], "ignore": true}, {"bodies": ["cube", "cloth"], "ignore": true}]},
 "bodies": [
  {"name": "bar", "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [8, 2, 2]}},
   $(material neo_hookean), "transform": {"translate": [0, 0.004, 0]},
   "initial": {"velocity": [0.5, -0.5, 0.1]}},
  {"name": "cube", "mesh": {"box": {"size": [0.2, 0.2, 0.2], "cells": [2, 2, 2]}},
   $(material corotated), "transform": {"translate": [2, 0.01, 0]},
   "initial": {"velocity": [-1, -1, 0]},
   "fix": [{"name": "f", "select": {"box": [[1.9, 0.2, -1], [2.3, 0.22, 1]]}, "axes": "z"}]},
  {"name": "cloth", "mesh": {"sheet": {"size": [1, 1], "cells": [6, 6]}},
   "material": {"model": "mass_spring", "density": 0.3, "stretch": 500, "bending": 1e-3},
   "transform": {"translate": [4, 0.115, 0]}, "initial": {"velocity": [0, -1, 0]}}],
 "obstacles": [{"name": "floor", "plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}},
  {"name": "plate", "box": {"min": [0.2, 0.21, -0.1], "max": [0.7, 0.3, 0.35]},
   "move": [{"translate": [0, -0.01, 0], "over": 0.06}]},
  {"name": "pin", "capsule": {"from": [1.93, 0.1, -0.5], "to": [1.93, 0.1, 0.5], "radius": 0.05},
   "formula": {"x": "-0.1*t",
     "rotate": {"degrees": "90*t", "axis": [0, 1, 0], "center": [1.93, 0.1, 0]}}},
  {"name": "ball", "friction": 0.8, "sphere": {"radius": 0.1, "center": [4.5, 0.01, 0.5]}},
  {"name": "can", "cylinder": {"from": [4.1, 0.05, 0.1], "to": [4.1, 0.11, 0.1], "radius": 0.05},
   "keys": [{"t": 0, "translate": [0, 0, 0]}, {"t": 0.05, "translate": [0.02, 0.01, 0]}]},
  {"name": "rock", "mesh": {"file": "rock.obj"}}]}
END
# Two tets for four processes: some have no vertex, none has all.
cat >tip.json <<END
{"gravity": [0, -1, 0], "time": {"step": 0.02, "steps": 3}, "solver": {"tolerance": 1e-11},
 "contact": {"self": false},
 "bodies": [{"mesh": {"pyramid": {"size": [0.2, 0.2, 0.2]}}, $(material stvk),
   "transform": {"translate": [0, 0.0005, 0]}, "initial": {"velocity": [0, -1, 0]}}],
 "obstacles": [{"plane": {"point": [0, 0, 0], "normal": [0, 1, 0]}}]}
END
same run fall.json "1 2 3 4"
for integrator in newmark implicit_midpoint; do
    same run fall.json "3" --set "time.integrator=\"$integrator\""
done
same run fall.json "2" --set 'contact.law="log"' --set bodies.0.mesh.order=2
# A floor that rises carries what it meets.
same run fall.json "3" --set 'obstacles.0.move=[{"translate": [0, 0.06, 0], "over": 0.02}]'
same run press.json "1 2 3 4"
same pose press.json "1 2 3 4"
same run press.json "3" --set 'contact.law="penalty"' --set contact.certify=false
same run kinds.json "4"
same run tip.json "4"
"$hooke" run press.json --json --out one >one.txt 2>&1
on 3 run press.json --json >out.txt 2>err.txt
# Numbers of "contact" and "obstacles" in their order, but for what is counted or timed by part.
reported() {
    sed -n '/^  "contact": {/,/^  ]/p' "$1" | grep -vE '"(candidates|detections|ms)"' |
        grep -oE ' -?[0-9][-+0-9.e]*'
}
reported one.txt >one.numbers
reported out.txt >many.numbers
check "obstacles: pairs, gaps, forces and torques" test "$(wc -l <one.numbers)" -eq 22
check "obstacles: the same of three parts" sh -c "paste one.numbers many.numbers | awk '{
    d = \$1 - \$2; if (NF != 2 || d * d > 1e-14 * (\$1 * \$1 + 1e-6)) exit 1 }'"
check "certified" says '"certified": true' out.txt
check "contact forces in the pieces" says 'Name="contact_force"' press_0003.pvtu

# ---- outputs
cat >out.json <<END
{"gravity": [0, -9.81, 0], "time": {"step": 0.02, "steps": 4},
 "bodies": [{"name": "bar", "mesh": {"box": {"size": [1, 0.25, 0.25], "cells": [12, 3, 3]}},
   $(material neo_hookean), "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]}],
 "output": {"vtu": "bar.pvd", "stats": "bar_stats.json", "fields": ["reaction", "stress"],
   "reactions": "bar_reactions.csv"}}
END
check "a run with output" on 3 run out.json --json
on 3 run out.json --json >out.txt 2>err.txt
check "JSON tells the processes" says '"processes": 3' out.txt
check "and all tets" says '"tets": 540' out.txt
check "and the backend" says '"backend": "petsc"' out.txt
check "five frames" test "$(grep -c 'bar_000[0-4].pvtu' bar.pvd)" -eq 5
check "three pieces" test "$(grep -c '<Piece' bar_0004.pvtu)" -eq 3
check "all of them there" test -s bar_0004/part_0000.vtu -a -s bar_0004/part_0002.vtu
check "with stress" says 'Name="stress"' bar_0004.pvtu
check "pieces have as many tets as the whole" test "$(sed -n 's/.*NumberOfCells="\([0-9]*\)".*/\1/p' \
    bar_0004/part_*.vtu | awk '{ n += $1 } END { print n }')" -eq 540
check "stats have a history" says '"history"' bar_stats.json
"$hooke" run out.json --json --out one >one.txt 2>&1
energy() { sed -n 's/.*"elastic": \([^,]*\),*/\1/p' "$1" | head -n 1; }
check "the same energy" awk "BEGIN { a = $(energy out.txt); b = $(energy one.txt); d = a - b
    exit !(d * d < 1e-16 * a * a) }"

# Two .csv of numbers with the same head and as many rows, but for rounding.
same_rows() {
    awk -F, 'FNR == 1 { file++; head[file] = $0; next }
        { for (k = 1; k <= NF; k++) if (file == 1) old[FNR, k] = $k; else {
            d = $k - old[FNR, k]; if (d * d > 1e-16 * ($k * $k + 1e-6)) exit 1 }
          rows[file]++ } END { exit !(head[1] == head[2] && rows[1] == 5 && rows[2] == 5) }' "$1" "$2"
}
check "reactions over time" same_rows one/bar_reactions.csv bar_reactions.csv
check "reactions in JSON by name" says '"constraint": "fix 0"' out.txt
check "the largest stress in JSON" says '"von_mises"' out.txt

# ---- checkpoints
on 2 run bar.json --checkpoint half.hks --set time.steps=2 >/dev/null 2>&1
check "go on from a checkpoint" on 2 run bar.json --resume half.hks --points resumed.csv
on 2 run bar.json --points whole.csv >/dev/null 2>&1
check "to the same end" agree whole.csv resumed.csv
on 3 run fall.json --checkpoint half.hks --set time.steps=2 >/dev/null 2>&1
check "go on with an obstacle" on 3 run fall.json --resume half.hks --points resumed.csv
"$hooke" run fall.json --points whole.csv -q >/dev/null 2>&1
check "to the same end as well" agree whole.csv resumed.csv
on 2 run bar.json --checkpoint half.hks --set time.steps=2 >/dev/null 2>&1
on 2 run out.json --checkpoint half.hks --set time.steps=2 >/dev/null 2>&1
rm -f bar_reactions.csv
check "go on with reactions" on 2 run out.json --resume half.hks
check "with those of before" same_rows one/bar_reactions.csv bar_reactions.csv
on 2 run bar.json --checkpoint half.hks --set time.steps=2 >/dev/null 2>&1
check "another number of processes is refused" sh -c "! timeout $limit mpirun -n 3 '$hooke' run bar.json \
    --backend petsc --resume half.hks >out.txt 2>&1"
check "with words" says "written by 2 processes" out.txt

# ---- options of PETSc, and what is wrong
on 2 pose bar.json --set solver.linear=multigrid -pc_type jacobi -ksp_converged_reason >out.txt 2>&1
check "options of PETSc go through" says "Linear solve converged" out.txt
refused() { # WORDS ARGUMENTS…: fails in time, with one message that has the words
    words=$1
    shift
    timeout $limit mpirun -n 3 "$hooke" "$@" --backend petsc >out.txt 2>&1
    status=$?
    check "$* ends" test $status -ne 0 -a $status -ne 124
    check "$* says \"$words\"" says "$words" out.txt
    check "$* says it once" test "$(grep -c '^hooke.*: ' out.txt)" -eq 1
}
refused "unknown key" pose bar.json --set bodies.0.colour=3
refused "cannot" pose missing.json
refused "not themselves: set contact.self to false" pose bar.json --set contact={}
refused "let them ignore each other" run many.json --set 'contact={"self": false}'
refused "contact.law" run kinds.json --set 'contact.law="penalty"'
refused "contact.overlap" run fall.json --set 'contact.overlap="recover"'
refused "obstacle floor near" run fall.json --set bodies.0.transform.translate.1=-0.1
refused "newton alone" pose bar.json --set 'solver.method="descent"'
refused "has no wind" pose bar.json --set 'bodies.0.load=[{"select": {"all": true}, "wind": {"velocity": [1, 0, 0]}}]'
refused "no \"conserve\"" run bar.json --set time.conserve=true
refused "output.probes" run bar.json --set 'output.probes=[{"name": "a", "at": [1, 0, 0]}]'
refused "output.skin" run bar.json --set 'output.skin="a.obj"'
refused "nothing holds" pose bar.json --set bodies.0.fix=[]
timeout $limit mpirun -n 2 "$hooke" pose bar.json --backend petsc --nonsense >out.txt 2>&1
check "an unknown option, once" test "$(grep -c "unknown option '--nonsense'" out.txt)" -eq 1

# ---- one process without memory ends all of them
cat >short.sh <<'END'
#!/bin/sh
[ "${OMPI_COMM_WORLD_RANK:-0}" -ne 1 ] || ulimit -v "$LIMIT"
exec "$@"
END
chmod +x short.sh
cells='bodies.0.mesh.box.cells=[80,20,20]'
LIMIT=480000 timeout $limit mpirun -n 2 ./short.sh "$hooke" pose bar.json --backend petsc --set "$cells" >out.txt 2>&1
status=$?
check "out of memory ends" test $status -ne 0 -a $status -ne 124
check "with a message" says "memory" out.txt
check "one" test "$(grep -c '^hooke: error' out.txt)" -eq 1

if [ $failures -gt 0 ]; then
    echo "cluster: $failures of $checks checks failed"
    exit 1
fi
echo "cluster: $checks checks passed"
