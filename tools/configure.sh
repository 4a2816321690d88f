#!/usr/bin/env bash
# Configures a CMake preset when that is needed, and starts over when the build folder is of no use:
# made with another generator, for another place of the source, or with a compiler or a library that
# is gone.
#
#   tools/configure.sh PRESET FOLDER [CMAKE ARGUMENTS...]
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
folder=$2
shift 2
cache=$folder/CMakeCache.txt

cached() { sed -n "s/^$1:[A-Z]*=//p" "$cache"; }

# The first library, header folder or CUDA compiler that CMake found last time and that is no longer
# there.
lost() {
    local path
    sed -n 's/^[A-Za-z0-9_]*_\(LIBRARY\|INCLUDE\|CUDA_COMPILER\):[A-Z]*=\(\/.*\)/\2/p' "$cache" |
        while read -r path; do
            if [ ! -e "$path" ]; then
                echo "$path"
                break
            fi
        done
}

forget() {
    echo "configure: $1; configuring $folder anew" >&2
    rm -rf "$cache" "$folder/CMakeFiles" "$folder/build.ninja" "$folder/Makefile"
}

if [ -f "$cache" ]; then
    compiler=$(cached CMAKE_C_COMPILER)
    if [ "$(cached CMAKE_GENERATOR)" != Ninja ]; then
        forget "the folder was made with $(cached CMAKE_GENERATOR)"
    elif [ "$(cached CMAKE_HOME_DIRECTORY)" != "$PWD" ]; then
        forget "the folder was made for $(cached CMAKE_HOME_DIRECTORY)"
    elif [ -z "$compiler" ] || [ ! -x "$compiler" ]; then
        forget "the compiler ${compiler:-of the last time} is not there"
    elif [ -n "$(lost)" ]; then
        forget "$(lost) is not there"
    fi
fi

# Ninja itself runs CMake again when a CMakeLists.txt has changed.
if [ -f "$folder/build.ninja" ] && [ -f "$cache" ] && [ $# -eq 0 ] &&
    [ ! CMakePresets.json -nt "$folder/build.ninja" ]; then
    exit 0
fi
had_cache=false
[ ! -f "$cache" ] || had_cache=true
mkdir -p "$folder"
log=$folder/configure.log
if cmake --preset "$preset" -B "$folder" "$@" >"$log" 2>&1; then
    exit 0
fi
if $had_cache; then
    forget "CMake failed on the old settings"
    if cmake --preset "$preset" -B "$folder" "$@" >"$log" 2>&1; then
        exit 0
    fi
fi
cat "$log" >&2
exit 1
