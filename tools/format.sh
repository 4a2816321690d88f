#!/usr/bin/env bash
# Formats all C and CUDA sources, or with --check only says which differ. Other versions of clang-format
# than 14 lay out some lines differently, so that they are not used.
set -euo pipefail
cd "$(dirname "$0")/.."
formatter=
for candidate in clang-format-14 clang-format; do
    if command -v "$candidate" >/dev/null && "$candidate" --version | grep -q 'version 14\.'; then
        formatter=$candidate
        break
    fi
done
if [ -z "$formatter" ]; then
    echo "format: needs clang-format 14 (Debian 12: apt-get install clang-format)" >&2
    exit 1
fi
options=(-i)
[ "${1:-}" != --check ] || options=(--dry-run --Werror)
find bench cli examples fuzz include src studio/server test \( -name '*.c' -o -name '*.h' -o -name '*.cu' \) -print0 |
    xargs -0 "$formatter" "${options[@]}"
