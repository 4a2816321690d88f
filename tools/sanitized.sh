#!/usr/bin/env bash
# Runs a command that was built with sanitizers. The runtimes of gcc 12 and clang 14 now and then
# find their memory taken where the kernel spreads addresses over more than 28 bits; there, the
# command runs with fixed addresses if that is allowed.
bits=$(cat /proc/sys/vm/mmap_rnd_bits 2>/dev/null || echo 32)
if [ "$bits" -gt 28 ] && setarch "$(uname -m)" -R true 2>/dev/null; then
    exec setarch "$(uname -m)" -R "$@"
fi
exec "$@"
