#!/usr/bin/env bash
# Makes sure that what Hooke is built from is installed.
#
#   tools/setup.sh build    the compiler and the libraries (default)
#   tools/setup.sh test     that, and what the sanitizer, fuzz and install tests need
#   tools/setup.sh list test    prints the package names, installs nothing
#
# Nothing missing: says nothing, needs no network. Otherwise, on Debian and its relatives: installs
# with apt as root or through sudo, or prints the exact command and fails. Elsewhere: prints what is
# missing and fails. HOOKE_SETUP=no skips all of it.
set -uo pipefail
export LC_ALL=C

# Debian package | what it is | a shell test that passes when it is there in some other way
build_needs=(
    "gcc|a C17 compiler|has_program cc"
    "libc6-dev|the C library's headers|has_header stdio.h"
    "cmake|CMake 3.21 or newer|has_program cmake"
    "ninja-build|Ninja|has_program ninja"
    "pkg-config|pkg-config|has_program pkg-config"
    "libsuitesparse-dev|SuiteSparse (CHOLMOD) headers|has_header suitesparse/cholmod.h || has_header cholmod.h"
    "libmetis-dev|METIS headers|has_header metis.h"
    "libopenblas-dev|OpenBLAS|has_library openblas"
    "libjansson-dev|jansson headers|pkg-config --exists jansson"
    "libpng-dev|libpng headers|pkg-config --exists libpng"
    "libcmocka-dev|cmocka headers|pkg-config --exists cmocka"
)
# What Hooke does without where it cannot be had: then it is said once, and the rest is built.
# (Backend petsc is built where libpetsc-real-dev is there; a build alone does not install that.)
wanted=(
    "libcivetweb-dev|civetweb, for hooke studio|has_header civetweb.h"
    "nodejs|node, for the page of hooke studio|has_program node"
    "npm|npm, for the page of hooke studio|has_program npm"
)
wanted_for_tests=(
    "libpetsc-real-dev|PETSc and MPI, for backend petsc|pkg-config --exists petsc"
    "openmpi-bin|mpirun|has_program mpirun"
    "chromium|Chromium, in which the page of hooke studio is tested|has_program chromium || has_program chromium-browser"
)
test_needs=(
    "clang|clang, for the fuzz targets|has_program clang"
    "libclang-rt-dev|clang's libFuzzer and sanitizer runtimes|clang_links -fsanitize=fuzzer,address"
    "libomp-dev|clang's OpenMP|clang_links -fopenmp"
    "python3-numpy|numpy, for the tests of the Python package|has_python numpy"
    "python3-scipy|scipy|has_python scipy"
    "python3-pytest|pytest|has_python pytest"
    "python3-setuptools|setuptools, for the wheel|has_python setuptools"
    "python3-wheel|wheel|has_python wheel"
    "python3-pip|pip|has_python pip"
    "python3-venv|venv|has_python venv,ensurepip"
)

say() { printf '%s\n' "$*" >&2; }

has_program() { command -v "$1" >/dev/null; }

has_header() {
    printf '#include <stddef.h>\n#include <stdio.h>\n#include <%s>\n' "$1" |
        cc -E -x c - >/dev/null 2>&1
}

has_library() {
    printf 'int main(void) { return 0; }\n' | cc -x c - -l"$1" -o /dev/null >/dev/null 2>&1
}

has_python() { "$(dirname "$0")/python.sh" "$1" -c ''; }

clang_links() {
    printf '%s\n' '#include <stddef.h>' '#include <stdint.h>' \
        'int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { return d == NULL && n == 1; }' \
        "$([[ $1 == *fuzzer* ]] || echo 'int main(void) { return 0; }')" |
        clang "$1" -x c - -o /dev/null >/dev/null 2>&1
}

is_debian() { has_program dpkg-query && has_program apt-get; }

# Fills `missing` with the entries of `needs` that are neither installed as a package nor there in
# another way. Asking dpkg once is quick; the probes run only for what it does not know.
find_missing() {
    local entry package probe installed=""
    if is_debian; then
        installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${needs[@]%%|*}" 2>/dev/null)
    fi
    missing=()
    for entry in "${needs[@]}"; do
        package=${entry%%|*}
        probe=${entry#*|*|}
        if ! grep -qx "$package installed" <<<"$installed" && ! eval "$probe" >/dev/null 2>&1; then
            missing+=("$entry")
        fi
    done
}

install_options=(-y --no-install-recommends)

# Runs the given apt-get (with or without sudo in front). A mirror that cannot be refreshed is not
# yet a failure: the lists on disk may do.
apt_install() {
    export DEBIAN_FRONTEND=noninteractive
    "$@" update || say "setup: apt-get update failed; trying with the package lists there are"
    "$@" -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 install "${install_options[@]}" \
        "${packages[@]}"
}

explain() {
    say ""
    say "Hooke needs packages that are not installed. As root, run:"
    say ""
    say "    apt-get update && apt-get install ${install_options[*]} ${packages[*]}"
    say ""
    say "and then make again."
}

install_on_debian() {
    if [ "$(id -u)" -eq 0 ]; then
        say "setup: installing ${packages[*]}"
        apt_install apt-get >&2
    elif has_program sudo && sudo -n true 2>/dev/null; then
        say "setup: installing with sudo: ${packages[*]}"
        apt_install sudo -n apt-get >&2
    elif has_program sudo && [ -t 0 ] && [ -t 2 ]; then
        say "setup: installing with sudo, which may ask for your password: ${packages[*]}"
        sudo -v && apt_install sudo apt-get >&2
    else
        false
    fi
}

# Installs what is wanted if that takes no asking, and goes on if it does not work.
want() {
    local required=("${needs[@]}")
    needs=("${wanted[@]}")
    find_missing
    if [ ${#missing[@]} -gt 0 ]; then
        packages=("${missing[@]%%|*}")
        local installed=false
        if is_debian && { [ "$(id -u)" -eq 0 ] || { has_program sudo && sudo -n true 2>/dev/null; }; }; then
            install_on_debian && installed=true
        fi
        $installed || say "setup: not all can be built or tested without ${packages[*]} (all else is)"
    fi
    needs=("${required[@]}")
}

main() {
    [ "${HOOKE_SETUP:-yes}" != no ] || return 0
    local list=false
    if [ "${1:-}" = list ]; then
        list=true
        shift
    fi
    case "${1:-build}" in
    build) needs=("${build_needs[@]}") ;;
    test)
        needs=("${build_needs[@]}" "${test_needs[@]}")
        wanted+=("${wanted_for_tests[@]}")
        ;;
    *)
        say "usage: tools/setup.sh [list] [build|test]"
        return 2
        ;;
    esac
    if $list; then
        echo "${needs[@]%%|*}" "${wanted[@]%%|*}"
        return 0
    fi
    want
    find_missing
    [ ${#missing[@]} -gt 0 ] || return 0
    packages=("${missing[@]%%|*}")
    if ! is_debian; then
        say "Hooke needs these, under the names your system gives them (the Debian package in brackets):"
        local entry
        for entry in "${missing[@]}"; do
            local rest=${entry#*|}
            say "    ${rest%%|*} [${entry%%|*}]"
        done
        return 1
    fi
    if ! install_on_debian; then
        explain
        return 1
    fi
    find_missing
    packages=("${missing[@]%%|*}")
    if [ ${#missing[@]} -gt 0 ]; then
        explain
        return 1
    fi
}

main "$@"
