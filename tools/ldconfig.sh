#!/usr/bin/env bash
# After an installation: lets the loader find libhooke.so, or says what is left to do.
#   tools/ldconfig.sh BUILD-FOLDER [DESTDIR]
set -euo pipefail
manifest=$1/install_manifest.txt
destination=${2:-}
folder=$(sed -n 's|/libhooke\.so$||p' "$manifest" | head -n 1)
if [ -z "$folder" ]; then
    echo "install: $manifest names no libhooke.so" >&2
    exit 1
fi
if [ -n "$destination" ]; then
    echo "install: staged in $destination; where it is unpacked to $folder, run ldconfig"
    exit 0
fi
if ! command -v ldconfig >/dev/null; then
    echo "install: there is no ldconfig here; programs find libhooke.so by LD_LIBRARY_PATH=$folder"
    exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
    echo "install: run 'sudo ldconfig', so that programs find $folder/libhooke.so"
else
    ldconfig
    # The program itself knows where its library is; those of users ask the loader.
    if ldconfig -p | grep -qF "$folder/libhooke.so"; then exit 0; fi
fi
echo "install: if $folder is not among the folders of the loader (ldconfig -v), put it there:"
echo "    echo $folder | sudo tee /etc/ld.so.conf.d/hooke.conf && sudo ldconfig"
echo "  or link with -Wl,-rpath,$folder"
