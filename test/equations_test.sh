#!/bin/sh
# docs/equations.md: the files that it names are there, and have the functions that it names.
set -u
cd "$(dirname "$(realpath "$0")")/.." || exit 1
page=docs/equations.md
names=0
failures=0
fail() { failures=$((failures + 1)); echo "FAILED: $page: $*" >&2; }

# A row's `path` is followed by the `names` that the file has.
grep '^|' $page | sed 's/^/`-`/' | grep -o '`[-A-Za-z_0-9./]*`' | tr -d '`' >"${TMPDIR:-/tmp}/equations.$$"
file=
while read -r word; do
    case $word in
    -)  file= ;;
    */*)
        file=$word
        [ -f "$file" ] || fail "no file $file"
        ;;
    *)
        [ -n "$file" ] && [ -f "$file" ] || continue
        names=$((names + 1))
        grep -qw -- "$word" "$file" || fail "$file has no $word"
        ;;
    esac
done <"${TMPDIR:-/tmp}/equations.$$"
rm -f "${TMPDIR:-/tmp}/equations.$$"
[ "$names" -gt 60 ] || fail "only $names names were found"
# Every document that comments cite has its part.
for document in Descent QuasiNewton TwoWay Extreme Split; do
    grep -q "^## $document" $page || fail "no part about $document"
done
# What comments cite by number of an equation is on the page: 7 is in "eq. 6–7".
grep -rhoE '(Descent|Extreme|TwoWay|Split) eq\. [0-9]+' src | sort -u >"${TMPDIR:-/tmp}/cited.$$"
while read -r document _ number; do
    awk -v part="## $document" -v n="$number" '
        /^## / { on = $0 == part }
        on && /^\|/ {
            text = $0; sub(/^\| */, "", text); sub(/ *\|.*/, "", text)
            while (match(text, /eq\. [0-9]+(–[0-9]+)?/)) {
                range = substr(text, RSTART + 4, RLENGTH - 4); text = substr(text, RSTART + RLENGTH)
                split(range, ends, "–"); last = ends[2] == "" ? ends[1] : ends[2]
                if (n + 0 >= ends[1] + 0 && n + 0 <= last + 0) found = 1
            }
        }
        END { exit !found }' $page || fail "$document eq. $number is cited in src, and not here"
done <"${TMPDIR:-/tmp}/cited.$$"
rm -f "${TMPDIR:-/tmp}/cited.$$"
echo "$names names, $failures failed"
[ "$failures" -eq 0 ]
