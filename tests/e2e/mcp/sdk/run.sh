#!/usr/bin/env bash
# The official SDKs' own clients talk to sandbox-mcp before a real daemon and a real engine.
# Usage: run.sh PROGRAMS WORK  (the folder with sandboxd and sandbox-mcp; a folder outside the tree for the packages)
# Needs Node.js 18 or later with npm, a package registry the first time, and the image that
# scripts/build-base-image.sh makes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
programs=$(cd "$1" && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)

for program in node npm; do
  command -v "$program" >/dev/null || { echo "run.sh: $program is missing; scripts/setup.sh installs it" >&2; exit 1; }
done
cp "$here"/package.json "$here"/package-lock.json "$here"/*.mjs "$work"
if ! cmp -s "$work/package-lock.json" "$work/installed-lock.json"; then
  (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --no-update-notifier) >"$work/npm.log" 2>&1 ||
    { cat "$work/npm.log" >&2; exit 1; }
  cp "$work/package-lock.json" "$work/installed-lock.json"
fi
cd "$work"
exec node sdk.test.mjs "$programs"
