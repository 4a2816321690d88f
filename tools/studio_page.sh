#!/bin/sh
# Builds the page of Hooke Studio:  tools/studio_page.sh FOLDER. What it is made with comes from npm,
# as studio/package-lock.json says, at the first time. Where that is not possible it says so and
# succeeds: the studio is then without its page, and all else is as it would be.
set -u
case $1 in
/*) out=$1 ;;
*) out=$PWD/$1 ;;
esac
cd "$(dirname "$0")/../studio" || exit 1
npm=${NPM:-npm}

skip() {
    echo "skipped: the page of Hooke Studio: $1"
    exit 0
}

command -v node >/dev/null || skip "no node (apt-get install nodejs npm)"
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    # Not `ci`: it wants the packages of all other platforms in the lock file, which npm leaves out.
    "$npm" install --no-save --no-audit --no-fund --loglevel=error >npm.log 2>&1 || {
        tail -n 5 npm.log
        skip "npm install failed (studio/npm.log)"
    }
    rm -f npm.log
fi
node_modules/.bin/tsc --noEmit || exit 1
rm -rf "$out"
exec node_modules/.bin/vite build --outDir "$out" --emptyOutDir --logLevel warn
