#!/usr/bin/env bash
# Installs a build into an empty place, moves that place, and uses it the ways a user would: CMake
# (shared and static), pkg-config (shared and static), C++, the program. Also checks that the shared
# library exports exactly what the header declares.
#
#   test/install_test.sh [BUILD FOLDER]     ends with "install: N passed, M failed"
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
root=$PWD
build=$(cd "${1:-build}" && pwd) || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# check NAME COMMAND...: shows the command's output only if it fails.
check() {
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok   $name"
        passed=$((passed + 1))
    else
        echo "FAILED: $name"
        sed 's/^/     /' "$work/log"
        failed=$((failed + 1))
    fi
}

# ---------------------------------------------------------------- a program of a user

mkdir -p "$work/app"
cat >"$work/app/app.c" <<'END'
#include <hooke/hooke.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A bar of one cell hangs from one end: enough to reach meshes, materials, assembly, the direct
 * solver and threads. */
int main(void)
{
    char header[32];
    snprintf(header, sizeof header, "%d.%d.%d", HK_VERSION_MAJOR, HK_VERSION_MINOR,
             HK_VERSION_PATCH);
    if (strcmp(header, hk_version()) != 0) {
        printf("the header is %s, the library %s\n", header, hk_version());
        return 1;
    }
    hk_mesh_def box = hk_default_mesh_def(HK_SHAPE_BOX);
    for (int i = 0; i < 3; ++i) {
        box.size[i] = i == 1 ? 1 : 0.1;
        box.cells[i] = i == 1 ? 4 : 1;
    }
    hk_mesh *mesh = NULL;
    hk_model *model = NULL;
    hk_world *world = NULL;
    hk_selector top = {.kind = HK_SELECT_BOX, .box = {{-1, 0.99, -1}, {1, 1.01, 1}}};
    hk_body_def body = hk_default_body_def();
    hk_model_def model_def = hk_default_model_def();
    hk_world_def world_def = hk_default_world_def();
    hk_step_report report;
    hk_status status = hk_mesh_make(&box, &mesh);
    if (status == HK_OK) {
        body.mesh = mesh;
        body.fixes = &top;
        body.fix_count = 1;
        model_def.bodies = &body;
        model_def.body_count = 1;
        status = hk_model_create(&model_def, &model);
    }
    if (status == HK_OK) {
        world_def.model = model;
        status = hk_world_create(&world_def, &world);
    }
    if (status == HK_OK) status = hk_world_pose(world, &report);
    if (status != HK_OK) {
        printf("%s\n", hk_error());
        return 1;
    }
    double lowest = 1;
    for (int i = 0; i < hk_model_vertex_count(model); ++i)
        lowest = fmin(lowest, hk_world_positions(world)[3 * i + 1]);
    /* rho g L^2 / 2E of an elastic rod under its own weight is 4.9 mm; the coarse mesh is stiffer. */
    printf("%s: lowest point %.6f m\n", hk_reason_name(report.reason), lowest);
    hk_world_free(world);
    hk_model_free(model);
    hk_mesh_free(mesh);
    return report.reason == HK_CONVERGED && lowest < -0.002 && lowest > -0.006 ? 0 : 1;
}
END
cat >"$work/app/app.cpp" <<'END'
#include <hooke/hooke.h>
int main()
{
    hk_world_def world = hk_default_world_def();
    hk_mesh_def mesh = hk_default_mesh_def(HK_SHAPE_BOX);
    return hk_version()[0] >= '0' && hk_status_name(HK_OK) && world.def_size == sizeof world &&
                   mesh.def_size == sizeof mesh
               ? 0
               : 1;
}
END
cat >"$work/app/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.20)
project(app LANGUAGES C)
find_package(hooke 0.1 REQUIRED COMPONENTS static)
add_executable(app app.c)
target_link_libraries(app PRIVATE hooke::hooke m)
add_executable(app_static app.c)
target_link_libraries(app_static PRIVATE hooke::hooke_static)
END

# ---------------------------------------------------------------- the loader

# Programs of users are started as after `ldconfig`, not with LD_LIBRARY_PATH, which would hide that
# it is needed. The cache lies in a folder of our own, over that of the system in a namespace.
after_ldconfig() {
    local folder=$1
    shift
    printf '%s\n' "$folder" >"$work/ld.so.conf"
    [ ! -f /etc/ld.so.conf ] || echo "include /etc/ld.so.conf" >>"$work/ld.so.conf"
    PATH=$PATH:/sbin:/usr/sbin ldconfig -C "$work/ld.so.cache" -f "$work/ld.so.conf" -X || return 1
    unshare -rm sh -c 'mount --bind "$0" /etc/ld.so.cache && shift 0 && exec "$@"' \
        "$work/ld.so.cache" "$@"
}

# Where no namespaces are allowed, as in some containers, LD_LIBRARY_PATH is what is left.
start_installed() {
    if [ -n "$namespaces" ]; then
        after_ldconfig "$libdir" "$@"
    else
        LD_LIBRARY_PATH=$libdir "$@"
    fi
}

# ldconfig runs, as root, or the installation says that it has to.
install_speaks_of_ldconfig() {
    mkdir -p "$work/stub"
    printf '#!/bin/sh\necho "called ldconfig $*"\n' >"$work/stub/ldconfig"
    chmod +x "$work/stub/ldconfig"
    mkdir -p "$work/manifest"
    echo "$libdir/libhooke.so" >"$work/manifest/install_manifest.txt"
    PATH=$work/stub:$PATH tools/ldconfig.sh "$work/manifest" | grep ldconfig &&
        PATH=$work/stub:$PATH tools/ldconfig.sh "$work/manifest" "$work/stage" | grep 'run ldconfig' &&
        grep -q 'tools/ldconfig.sh' Makefile
}

# ---------------------------------------------------------------- checks

install_and_move() {
    DESTDIR=$work/stage cmake --install "$build" --prefix /opt/hooke &&
        mv "$work/stage/opt/hooke" "$work/moved"
}

prefix=$work/moved
header_functions() {
    grep -hv '^ *\*\|^ */\*' "$root"/include/hooke/*.h | tr '\n' ' ' |
        grep -o 'HK_API [^;]*;' | grep -v '__attribute__' |
        sed 's/^HK_API [^(]*\b\(hk_[a-z0-9_]*\)(.*/\1/' | sort
}

exports_match_header() {
    local library=$1
    nm -D --defined-only "$library" | awk '{print $NF}' | sed 's/@.*//' | sort >"$work/exported"
    header_functions >"$work/declared"
    [ -s "$work/declared" ] || return 1
    echo "< exported but not declared, > declared but not exported"
    diff "$work/exported" "$work/declared"
}

soname_is_versioned() {
    local soname
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    echo "soname: $soname"
    [[ $soname == libhooke.so.[0-9]* ]] && [ -e "$(dirname "$library")/$soname" ]
}

# Nothing installed may lead back to the build or the source.
mentions_no_build() {
    ! grep -rIF -e "$build" -e "$root" "$prefix" &&
        ! readelf -d "$library" "$prefix/bin/hooke" | grep -E 'R(UN)?PATH' | grep -F "$root"
}

cmake_consumer() {
    cmake -S "$work/app" -B "$work/app/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" &&
        cmake --build "$work/app/build"
}

cmake_wrong_version() {
    sed 's/hooke 0.1/hooke 99/' "$work/app/CMakeLists.txt" >"$work/wrong/CMakeLists.txt"
    cp "$work/app/app.c" "$work/wrong"
    ! cmake -S "$work/wrong" -B "$work/wrong/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
}

has_share() {
    local file command
    for file in man/man1/hooke.1 bash-completion/completions/hooke zsh/site-functions/_hooke \
        hooke/docs/scene.schema.json hooke/scenes/beam.json hooke/scenes/surfaces/pup.obj; do
        [ -s "$prefix/share/$file" ] || { echo "no $file"; return 1; }
    done
    # The manual has every command; bash completes them, and their options.
    for command in $("$prefix/bin/hooke" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
        grep -q "^\.SH \"HOOKE $(echo "$command" | tr '[:lower:]' '[:upper:]')" \
            "$prefix/share/man/man1/hooke.1" || { echo "no manual of $command"; return 1; }
    done
    PATH=$prefix/bin:$PATH bash -c '
        . "$0"
        COMP_WORDS=(hooke sw); COMP_CWORD=1; _hooke; [ "${COMPREPLY[*]}" = sweep ] || exit 1
        COMP_WORDS=(hooke run scene.json --chec); COMP_CWORD=3; _hooke
        [ "${COMPREPLY[*]}" = --checkpoint ] || exit 1
        COMP_WORDS=(hooke mesh co); COMP_CWORD=2; _hooke; [ "${COMPREPLY[*]}" = convert ] || exit 1
        ' "$prefix/share/bash-completion/completions/hooke" || { echo "completion fails"; return 1; }
}

pkg_config_version() {
    [ "$(pkg-config --modversion hooke)" = \
        "$(sed -n 's/^project(hooke VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")" ]
}

pkg_config_consumer() {
    # shellcheck disable=SC2046
    cc "$work/app/app.c" $(pkg-config --cflags --libs hooke) -lm -o "$work/app/by_pkg" &&
        start_installed "$work/app/by_pkg"
}

# Hooke from its archive, the libraries below it as they come.
pkg_config_static() {
    # shellcheck disable=SC2046
    cc "$work/app/app.c" $(pkg-config --cflags hooke) "$libdir/libhooke.a" \
        $(pkg-config --static --libs hooke | sed 's/-lhooke\b//') -o "$work/app/by_archive" &&
        ! readelf -d "$work/app/by_archive" | grep -q libhooke &&
        "$work/app/by_archive"
}

cplusplus_consumer() {
    # shellcheck disable=SC2046
    "$cxx" -Wall -Wextra -Werror "$work/app/app.cpp" $(pkg-config --cflags --libs hooke) \
        -o "$work/app/by_cxx" && start_installed "$work/app/by_cxx"
}

# Every example must build without warnings and run to the end, in a folder of its own.
example() {
    local name
    name=$(basename "$1" .c)
    mkdir -p "$work/example_$name"
    # shellcheck disable=SC2046
    cc -std=c17 -Wall -Wextra -Wpedantic -Werror -O2 "$1" $(pkg-config --cflags --libs hooke) -lm \
        -o "$work/example_$name/$name" &&
        (cd "$work/example_$name" && start_installed timeout 120 "./$name")
}

mkdir -p "$work/wrong"
check "installs into an empty place" install_and_move
library=$(find "$prefix" -name libhooke.so)
libdir=$(dirname "${library:-$prefix/lib/none}")
export PKG_CONFIG_PATH=$libdir/pkgconfig
namespaces=
if after_ldconfig "$libdir" true 2>/dev/null; then
    namespaces=yes
else
    echo "skip ldconfig: no namespaces here, programs are started with LD_LIBRARY_PATH"
fi
check "the soname has a version" soname_is_versioned
check "exports what the header declares and nothing else" exports_match_header "$library"
check "names neither build nor source folder" mentions_no_build
check "the program runs where it was moved to" "$prefix/bin/hooke" --version
check "CMake: find_package(hooke) configures and builds" cmake_consumer
check "CMake: the program with hooke::hooke runs" "$work/app/build/app"
check "CMake: the program with hooke::hooke_static runs" "$work/app/build/app_static"
check "CMake: a wrong version is refused" cmake_wrong_version
check "pkg-config: version" pkg_config_version
check "pkg-config: the program runs" pkg_config_consumer
check "ldconfig is run, or asked for" install_speaks_of_ldconfig
check "the manual page, completions, schema and scenes are there" has_share
check "an installed scene is simulated" "$prefix/bin/hooke" pose "$prefix/share/hooke/scenes/beam.json" \
    --out "$work/beam" -q
check "pkg-config --static: the program runs" pkg_config_static
cxx=$(command -v c++ || command -v clang++)
if [ -n "$cxx" ]; then check "C++: the header compiles and links" cplusplus_consumer; fi
for source in examples/*.c; do
    if [ -f "$source" ]; then check "$source builds and runs" example "$root/$source"; fi
done

echo "install: $passed passed, $failed failed"
[ "$failed" -eq 0 ]
