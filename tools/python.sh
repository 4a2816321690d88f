#!/usr/bin/env bash
# Finds a Python that has all the modules that are named, and runs it.
#
#   tools/python.sh numpy,pytest ARGUMENTS...
#
# Without one: prints "skipped: REASON" and ends with status 77. HOOKE_PYTHON names one to try first.
set -u
modules=$1
shift
for python in ${HOOKE_PYTHON:-} python3 /usr/bin/python3; do
    if command -v "$python" >/dev/null && "$python" -c "import $modules" 2>/dev/null; then
        exec "$python" "$@"
    fi
done
echo "skipped: no python3 has ${modules//,/ and } (Debian: python3-${modules//,/ python3-})"
exit 77
