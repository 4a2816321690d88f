#!/usr/bin/env bash
# The unit tests on 64-bit ARM, emulated: the library cross-compiled without direct solvers and scene
# files, run under qemu-user. Where the cross compiler or the emulator is not installed it says so
# and counts as skipped.
set -uo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C
jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
if [ ${#missing[@]} -gt 0 ]; then
    echo "skipped: not installed: ${missing[*]} (Debian's names)"
    exit 0
fi
tools/configure.sh aarch64 build-aarch64 && cmake --build build-aarch64 --parallel "$jobs" || exit 1
ctest --preset aarch64 --parallel "$jobs"
