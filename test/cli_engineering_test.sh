#!/bin/sh
# Tests conditions and results as the program has them: the tasks of docs/engineering.md in small.
#   test/cli_engineering_test.sh PATH/TO/hooke
set -u
hooke=$(realpath "${1:?which program?}")
scenes=$(realpath "$(dirname "$0")/../scenes/tasks")
. "$(dirname "$(realpath "$0")")/cli_checks.sh"

command -v python3 >/dev/null || { echo "skipped: no python3"; exit 0; }
# json EXPRESSION: of the object in `out`
json() { python3 -c "import json; o = json.load(open('out')); print($1)"; }
coarse='bodies.0.mesh.box.cells=[20,2,2]'

# A bracket: reactions and stress against theory (F = 100 N, L = 0.2 m, 20 mm square).
bracket() {
    status 0 "$hooke" pose "$scenes/bracket.json" --set "$coarse" --json --out bracket
    force=$(json 'sum(r["force"][1] for r in o["reactions"])')
    true_that "$force > 99.999 && $force < 100.001"
    name=$(json 'o["reactions"][0]["constraint"]')
    equal "$name" wall "the name of a fix"
    moment=$(json 'o["reactions"][0]["moment"][2]')
    true_that "$moment > 19.9 && $moment < 20.1"
    stress=$(json 'o["greatest"]["von_mises"]["value"]')
    true_that "$stress > 3e6 && $stress < 2e7"
    tip=$(json 'o["probe_values"]["tip"]["displacement"][1]')
    true_that "$tip < -3e-5 && $tip > -1.1e-4"
    # The tensors of a probe: σ is symmetric, its eigenvalues are the principal stresses.
    status 0 "$hooke" pose "$scenes/bracket.json" --set "$coarse" --json --out bracket \
        --set 'output.probes=[{"name": "root", "at": [0.05, 0.019, 0.007]}, {"name": "tip", "body": "bracket", "at": [0.2, 0.01, 0.01]}]'
    json 'o["probe_values"]["root"]' >root
    same=$(json '(lambda p: abs(p["stress"][0] + p["stress"][4] + p["stress"][8] - sum(p["principal_stress"])) < 1 and abs(p["stress"][1] - p["stress"][3]) < 1 and p["principal_stress"][0] > p["stress"][0] > 2e6 and 1e-5 < p["strain"][0] < 1e-4)(o["probe_values"]["root"])')
    equal "$same" True "the tensors of a probe: $(cat root)"
    equal "$(head -n 1 bracket/bracket_probes.csv | tr ',' '\n' | wc -l)" 45 "columns of two probes"
    holds bracket/bracket_probes.csv 'root.stress.xy'
    status 0 "$hooke" sweep "$scenes/bracket.json" --set "$coarse" --vary bodies.0.material.young=1e11,2e11 --json --name tensors \
        --record probes.tip.stress.xx,probes.tip.principal_stress.0,probes.tip.strain.yy
    exists bracket/bracket_reactions.csv bracket/bracket_probes.csv
    holds bracket/bracket_reactions.csv 't,wall.x,wall.y,wall.z,wall.moment.x'
    holds bracket/bracket_probes.csv 'tip.displacement.y'
    equal "$(wc -l <bracket/bracket_probes.csv | tr -d ' ')" 2 "rows of a pose"
    status 0 "$hooke" pose "$scenes/bracket.json" --set "$coarse" --out again
    holds out 'reaction    bracket, wall'
    holds out 'von Mises'
    holds out 'probe       tip'
    grep -q 'Name="principal_stress"' bracket/*.vtu || fail "the .vtu has no principal stresses"
    grep -q 'Name="reaction"' bracket/*.vtu || fail "the .vtu has no reactions"
}

# A toy that is dropped: a row of probes for every step, and the floor bears its weight.
toy() {
    status 0 "$hooke" run "$scenes/toy.json" --set 'bodies.0.mesh.sphere.cells=2' \
        --set time.step=0.01 --set time.end=0.3 --json --out toy
    equal "$(wc -l <toy/toy_probes.csv | tr -d ' ')" 32 "rows of a run"
    equal "$(tail -n 1 toy/toy_probes.csv | cut -d , -f 1)" 0.3 "the time of the last row"
    lowest=$(awk -F, 'NR > 1 { if (NR == 2 || $3 < low) low = $3 } END { print low }' toy/toy_probes.csv)
    true_that "$lowest < 0.055 && $lowest > 0.02"
}

# A parameter study: the tip moves in proportion to 1/E, the stress does not change.
study() {
    status 0 "$hooke" sweep "$scenes/bracket.json" --set "$coarse" \
        --vary bodies.0.material.young=1e11,2e11,4e11 \
        --record probes.tip.displacement.y,greatest.von_mises,reactions.wall.moment.z --json
    ratio=$(json 'o["values"][0]["probes.tip.displacement.y"] / o["values"][2]["probes.tip.displacement.y"]')
    true_that "$ratio > 3.99 && $ratio < 4.01"
    same=$(json 'o["values"][0]["greatest.von_mises"] / o["values"][2]["greatest.von_mises"]')
    true_that "$same > 0.99 && $same < 1.01"
    holds sweep.csv 'greatest.von_mises'
    status 2 "$hooke" sweep "$scenes/bracket.json" --vary gravity.1=0:1:2 --record reaction.wall.y
    # What is not there is no column of nothing.
    status 1 "$hooke" sweep "$scenes/bracket.json" --set "$coarse" --vary gravity.1=0:1:2 --record probes.tap.displacement.y --name wrong
    holds err 'there is no probes.tap.displacement.y; there are'
    holds err 'probes.tip.displacement.x'
    missing wrong.csv
    status 1 "$hooke" pose bar.json --set 'output.probes=[{"name": "a", "at": [0, 0, 0]}, {"name": "a", "at": [1, 0, 0]}]'
    holds err 'is called "a", too'
    # Copies have constraints of one name: that of the body goes before.
    status 0 "$hooke" pose bar.json --set 'bodies.0.copies=[{}, {"translate": [0, 2, 0]}]' --json \
        --set 'bodies.0.fix=[{"name": "wall", "select": {"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}}]'
    equal "$(json 'len(set(r["constraint"] for r in o["reactions"]))')" 2 "names of constraints"
    names=$(json 'o["reactions"][1]["constraint"]')
    status 0 "$hooke" sweep bar.json --set 'bodies.0.copies=[{}, {"translate": [0, 2, 0]}]' --vary gravity.1=-1,-2 --json --name copies \
        --set 'bodies.0.fix=[{"name": "wall", "select": {"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}}]' --record "reactions.$names.y"
    force=$(json "o['values'][1]['reactions.$names.y']")
    true_that "$force > 79.99 && $force < 80.01"
}

# Conditions in scenes, and what is wrong with them.
conditions() {
    status 0 "$hooke" pose bar.json --json --set \
        'bodies.0.load=[{"select": {"box": [[-1, 0.199999, -1], [2, 0.200001, 1]]}, "pressure": 100}]'
    force=$(json 'o["reactions"][0]["force"][1]')
    true_that "$force > 400 && $force < 430"  # 392.4 N of weight and about 20 N of pressure
    status 0 "$hooke" pose bar.json --json --set gravity=[0,0,0] --set \
        'bodies.0.load=[{"select": {"box": [[0.999, -1, -1], [1.001, 1, 1]]}, "torque": {"axis": [1, 0, 0], "center": [1, 0.1, 0.1], "moment": 2}}]'
    moment=$(json 'o["reactions"][0]["moment"][0]')
    true_that "$moment < -1.98 && $moment > -2.02"
    status 0 "$hooke" run bar.json --set 'gravity={"value": [0, -9.81, 0], "factor": "sin(2*pi*t)"}' --set \
        'bodies.0.load=[{"select": {"all": true}, "force": [1, 0, 0], "factor": [[0, 0], [0.1, 1]]}]'
    status 1 "$hooke" run bar.json --set 'gravity={"value": [0, -9.81, 0], "factor": "sin("}'
    holds err gravity
    # A function of the time that is not finite ends the run before that step, whatever it is of.
    late='t > 0.045 ? 1/0 : 0'
    for what in "gravity={\"value\": [0, -9.81, 0], \"factor\": \"$late\"}" \
        "bodies.0.load=[{\"select\": {\"all\": true}, \"force\": [1, 0, 0], \"factor\": \"$late\"}]" \
        "bodies.0.load=[{\"select\": {\"all\": true}, \"pressure\": 1, \"factor\": \"$late\"}]" \
        "bodies.0.move=[{\"select\": {\"vertices\": [5]}, \"translate\": [0, 1, 0], \"factor\": \"$late\"}]" \
        "bodies.0.attach=[{\"select\": {\"vertices\": [5]}, \"stiffness\": 1, \"translate\": [0, 1, 0], \"factor\": \"$late\"}]" \
        "springs=[{\"from\": [0, 2, 0], \"to\": {\"body\": \"bar\", \"vertex\": 5}, \"stiffness\": 1, \"goal\": 1, \"factor\": \"$late\"}]" \
        "obstacles=[{\"plane\": {\"point\": [0, -5, 0], \"normal\": [0, 1, 0]}, \"formula\": {\"y\": \"$late\"}}]" \
        "obstacles=[{\"plane\": {\"point\": [0, -5, 0], \"normal\": [0, 1, 0]}, \"move\": [{\"translate\": [0, 1, 0], \"factor\": \"$late\"}]}]"; do
        status 1 "$hooke" run bar.json --set "$what" --out late
        holds err "step 5: "
        holds err "\"$late\" is inf at t = 0.05 s"
    done
    exists late/frames/bar_0001.vtu late/stats.json
    status 1 "$hooke" pose bar.json --set 'bodies.0.fix=[{"select": {"all": true}, "axes": "xw"}]'
    holds err axes
    status 1 "$hooke" pose bar.json --set solver.method=split --set bodies.0.material.model=corotated --set \
        'bodies.0.fix=[{"select": {"box": [[-1, -1, -1], [0.01, 1, 1]]}, "axes": "x"}]'
    holds err '"axes"'
    status 1 "$hooke" pose bar.json --set 'bodies.0.load=[{"select": {"all": true}}]'
    status 1 "$hooke" pose bar.json --set 'output.probes=[{"name": "a", "body": "none", "at": [0, 0, 0]}]'
    holds err 'there is no body'
}

# A volume that is kept, its pressure, and what is wrong with others.
volumes() {
    status 0 "$hooke" pose bar.json --json --set 'constraints=[{"kind": "volume", "name": "inside", "body": "bar"}]'
    equal "$(json 'o["cavities"][0]["name"]')" inside "the name of a volume"
    equal "$(json 'abs(o["cavities"][0]["volume"] / 0.04 - 1) < 1e-13 and o["cavities"][0]["pressure"] != 0')" True "a volume"
    status 0 "$hooke" run bar.json --set 'constraints=[{"kind": "volume", "body": "bar", "factor": "1 + 0.1*t"}]'
    holds out 'kept by'
    status 1 "$hooke" pose bar.json --set 'constraints=[{"kind": "volume", "body": "bar", "select": {"box": [[0.3, -1, -1], [2, 1, 1]]}}]'
    holds err 'edges are open'
    status 1 "$hooke" pose bar.json --set 'constraints=[{"kind": "plane", "body": "bar", "select": {"all": true}, "axis": [1, 0, 0], "volume": 1}]'
    holds err 'is of what keeps a volume'
    status 1 "$hooke" pose bar.json --set solver.method=xpbd --set 'constraints=[{"kind": "volume", "body": "bar"}]'
}

bracket
toy
study
conditions
volumes
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
