# What the tests of the program share: a scratch folder, checks, a scene. To be sourced with the
# program as $hooke.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
checks=0

fail() { failures=$((failures + 1)); echo "FAILED: $*" >&2; }

# status N command…: the command must end with status N; its outputs are in `out` and `err`.
status() {
    expected=$1
    shift
    checks=$((checks + 1))
    "$@" >out 2>err
    actual=$?
    [ "$actual" -eq "$expected" ] && return
    fail "status $actual instead of $expected: $*"
    cat out err >&2
}

# holds FILE TEXT / lacks FILE TEXT
holds() { checks=$((checks + 1)); grep -qF -- "$2" "$1" || { fail "$1 lacks: $2"; cat "$1" >&2; }; }
lacks() { checks=$((checks + 1)); ! grep -qF -- "$2" "$1" || fail "$1 should not hold: $2"; }
empty() { checks=$((checks + 1)); [ ! -s "$1" ] || { fail "$1 should be empty"; cat "$1" >&2; }; }
exists() { for f in "$@"; do checks=$((checks + 1)); [ -f "$f" ] || fail "no file $f"; done; }
missing() { for f in "$@"; do checks=$((checks + 1)); [ ! -e "$f" ] || fail "there is a file $f"; done; }
equal() { checks=$((checks + 1)); [ "$1" = "$2" ] || fail "'$1' instead of '$2': $3"; }
# number FILE KEY: the value of the first such key in a JSON file, one member a line
number() { sed -n "s/^ *\"$2\": \([^,]*\),*$/\1/p" "$1" | head -n 1; }
# terminate PROCESS: asks it to stop and sets `ended` to its status. On some virtual machines a signal
# stays pending as long as the process computes without a system call; asked once more, it is
# delivered. A process that goes on all the same is killed: the status tells.
terminate() {
    for attempt in TERM TERM TERM KILL; do
        kill -s $attempt "$1" 2>/dev/null || break
        tries=0
        while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do
            sleep 0.1
            tries=$((tries + 1))
        done
    done
    wait "$1"
    ended=$?
}
# true_that "EXPRESSION": decided by awk
true_that() { checks=$((checks + 1)); awk "BEGIN { exit !($1) }" || fail "not true: $1"; }

cat >bar.json <<'END'
{
  "time": {"step": 0.01, "steps": 10},
  "gravity": [0, -9.81, 0],
  "solver": {"method": "newton", "tolerance": 1e-8},
  "bodies": [{
    "name": "bar",
    "mesh": {"box": {"size": [1, 0.2, 0.2], "cells": [10, 2, 2]}},
    "material": {"model": "neo_hookean", "young": 1e6, "poisson": 0.4, "density": 1000},
    "fix": [{"box": [[-1e-6, -1, -1], [1e-6, 1, 1]]}]
  }],
  "output": {"every": 0.0333, "vtu": "frames/bar.pvd", "points": "frames/bar", "stats": "stats.json"}
}
END
