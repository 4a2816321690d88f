#!/bin/sh
# The commands of README.md: their command lines are understood, the files they read are in the
# project or were written by a command before, and all they write goes to a folder that git ignores.
# From a surface to a picture and to a model that moves, they are run.
#   test/readme_test.sh PATH/TO/hooke
set -u
hooke=$(realpath "${1:?which program?}")
cd "$(dirname "$(realpath "$0")")/.." || exit 1
failures=0
commands=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { failures=$((failures + 1)); echo "FAILED: README.md: $*" >&2; }

grep '^build/hooke' README.md | sed 's/ *#.*//; s/ *$//' >"$work/commands"
grep -qx 'out/' .gitignore || fail "git does not ignore out/"

# What a command may read: a file of the project, or one that a command before wrote to out.
written=
known() {
    case $1 in
    out/*) case " $written " in *" $1 "*) true ;; *) false ;; esac ;;
    *) [ -f "$1" ] ;;
    esac
}

while read -r line; do
    commands=$((commands + 1))
    before=
    place=2  # of words that are no options: the last of mesh convert is written
    verb=
    for word in $line; do
        case $before in
        -o | --points | --stl | --svg | --csv)
            case $word in out/*) written="$written $word" ;; *) fail "'$line' writes $word" ;; esac
            ;;
        --out) case $word in out | out/*) ;; *) fail "'$line' writes into $word" ;; esac ;;
        --target) known "$word" || fail "'$line' reads $word, which is not there" ;;
        esac
        case $before:$word in
        -*) ;;
        *:*.json | *:*.msh | *:*.obj | *:*.stl)
            if [ "$verb" = convert ] && [ $place -eq 3 ]; then
                written="$written $word"
            else
                known "$word" || fail "'$line' reads $word, which is not there"
            fi
            place=$((place + 1))
            ;;
        esac
        case $word in make | convert | check | fill) verb=$word ;; esac
        before=$word
    done
    # Understood as far as its words and options go: an option that is not there comes last.
    case $line in
    *' help'*) arguments=${line#build/hooke } ;;
    *) arguments="${line#build/hooke } --no-such-option" ;;
    esac
    # shellcheck disable=SC2086  # the words are to be split
    (cd "$work" && "$hooke" $arguments >out.txt 2>err.txt)
    case $? in
    0) case $line in *' help'*) ;; *) fail "'$line' takes any option" ;; esac ;;
    2) grep -q 'no-such-option' "$work/err.txt" || fail "'$line': $(head -n 1 "$work/err.txt")" ;;
    *) fail "'$line': $(head -n 1 "$work/err.txt")" ;;
    esac
done <"$work/commands"
[ "$commands" -ge 15 ] || fail "only $commands commands were found"

# The surface of the project, coarser than there, from a clean folder.
grep 'scenes/surfaces/pup' "$work/commands" | sort -u >"$work/surface"
[ "$(wc -l <"$work/surface")" -eq 3 ] || fail "the commands from a surface to a picture have changed"
ln -s "$PWD/scenes" "$work/scenes"
coarse="--set bodies.0.mesh.fill.size=0.12"
while read -r line; do
    arguments=${line#build/hooke }
    case $line in *render*) arguments="$arguments --size 160x100 $coarse" ;; esac
    case $line in *--run*) arguments="$arguments --set time.steps=5" ;; esac
    # shellcheck disable=SC2086  # the words are to be split
    (cd "$work" && "$hooke" $arguments >out.txt 2>err.txt) || fail "'$line': $(head -n 1 "$work/err.txt")"
done <"$work/surface"
for file in pup.msh pup.png pup.glb; do
    [ -s "$work/out/$file" ] || fail "there is no out/$file"
done
if command -v python3 >/dev/null; then
    python3 test/glb_check.py "$work/out/pup.glb" --animated || fail "pup.glb is no good glTF"
fi

# Links of the page lead to files.
for link in $(grep -o '](\([a-zA-Z][^)#]*\)' README.md | sed 's/](//' | grep -v '^http'); do
    [ -e "$link" ] || fail "no $link"
done
echo "$commands commands, $failures failed"
[ "$failures" -eq 0 ]
