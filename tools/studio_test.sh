#!/usr/bin/env bash
# Tests the page of Hooke Studio: its parts in node, and all of it in a headless Chromium against the
# server of a build. Ends with "page: N passed, M failed", or with "skipped: REASON".
#   tools/studio_test.sh [BUILD FOLDER]     (build)
set -uo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" 2>/dev/null && pwd) || build=$PWD/build

skip() {
    echo "skipped: the page of Hooke Studio: $1"
    echo "page: 0 passed, 0 failed"
    exit 0
}

command -v node >/dev/null || skip "no node (apt-get install nodejs npm)"
CHROMIUM=$(command -v chromium || command -v chromium-browser) || skip "no chromium (apt-get install chromium)"
[ -x "$build/hooke" ] || skip "no program in $build"
"$build/hooke" studio --help >/dev/null 2>&1 || skip "built without civetweb"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export CHROMIUM HOOKE=$build/hooke STUDIO_PAGE=$work/page GRAB=$work/grab
tools/studio_page.sh "$STUDIO_PAGE" || { echo "page: 0 passed, 1 failed"; exit 1; }
[ -f "$STUDIO_PAGE/index.html" ] || skip "the page could not be built"
[ -d studio/node_modules/playwright-core ] || skip "no playwright-core (npm install in studio/)"
"${CC:-cc}" -std=gnu17 -O1 -Iinclude studio/test/grab.c -o "$GRAB" -L"$build" -lhooke -lm \
    -Wl,-rpath,"$build" || { echo "page: 0 passed, 1 failed"; exit 1; }

size=$(du -sk "$STUDIO_PAGE" | cut -f1)
bad=0
if [ "$size" -gt 1536 ]; then
    echo "FAILED: the built page has $size KiB, and 1536 are allowed"
    bad=1
fi
unit=$(cd studio && timeout -k 5 60 node test/unit.mjs 2>&1)
echo "$unit"
counts=$(sed -n 's/^unit: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' <<<"$unit")
counts=${counts:-0 1}
(cd studio && exec timeout -k 5 230 node test/page.mjs) >"$work/log" 2>&1
grep -v '^page: ' "$work/log"
page=$(sed -n 's/^page: \([0-9]*\) passed, \([0-9]*\) failed$/\1 \2/p' "$work/log")
[ -n "$page" ] || echo "FAILED: the tests in the browser did not come to an end"
page=${page:-0 1}
passed=$((${counts% *} + ${page% *}))
failed=$((${counts#* } + ${page#* } + bad))
echo "page: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
