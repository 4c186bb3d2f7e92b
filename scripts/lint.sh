#!/usr/bin/env bash
# Checks the format of all C++ files, and runs clang-tidy over the changed ones (--all: over every file).
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TXT'
Usage: scripts/lint.sh [--all] [--fix] [--format-only] [--base REVISION]

  --all            clang-tidy over every file (long), not only over those changed since the base
  --base REVISION  what counts as changed: since this revision (default: the previous commit) and uncommitted
  --format-only    leave clang-tidy out
  --fix            let clang-format rewrite the files
TXT
}
all=false fix=false format_only=false base=HEAD~1
while [ $# -gt 0 ]; do
  case "$1" in
  --all) all=true ;;
  --fix) fix=true ;;
  --format-only) format_only=true ;;
  --base) base=${2:?--base needs a revision}; shift ;;
  -h | --help) usage; exit 0 ;;
  *) echo "lint.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done

mapfile -t files < <(git ls-files '*.cpp' '*.hpp')
if $fix; then
  clang-format-19 -i "${files[@]}"
else
  clang-format-19 --dry-run -Werror "${files[@]}"
fi
echo "format: ${#files[@]} files are as .clang-format says."
$format_only && exit 0

[ -f build/dev/compile_commands.json ] || cmake --preset dev >/dev/null
if $all; then
  mapfile -t units < <(git ls-files '*.cpp')
else
  git rev-parse -q --verify "$base" >/dev/null || base=HEAD
  mapfile -t units < <({ git diff --name-only --diff-filter=d "$base" -- '*.cpp'; git ls-files -o --exclude-standard '*.cpp'; } | sort -u)
fi
# Only what this configuration compiles: clang-tidy can't judge a file without its flags.
mapfile -t known < <(for unit in "${units[@]}"; do grep -qF "\"$PWD/$unit\"" build/dev/compile_commands.json && echo "$unit"; done)
[ ${#known[@]} -gt 0 ] || { echo "clang-tidy: no changed files."; exit 0; }
# The precompiled headers must be there for the flags to mean something.
cmake --build --preset dev --target sandbox_pch_json sandbox_pch_asio >/dev/null
printf '%s\0' "${known[@]}" | xargs -0 -n 1 -P "$(nproc)" clang-tidy-19 -p build/dev --quiet --use-color=0 2> >(grep -vE 'warnings? generated|Suppressed' >&2)
echo "clang-tidy: ${#known[@]} files are clean."
