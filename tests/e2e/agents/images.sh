#!/usr/bin/env bash
# By hand, since it downloads several hundred megabytes: builds the agents' images and starts each agent through the
# whole stack, `sandbox agent run NAME -- --version` on a `sandboxd --dev` of its own, on the restricted network.
set -euo pipefail
cd "$(dirname "$0")/../../.."

usage() {
  cat <<'TXT'
Usage: tests/e2e/agents/images.sh [--programs DIR] [--no-build] [NAME... [-- BUILD OPTIONS]]

  --programs DIR  where sandboxd, sandbox and sandbox-guest are (build/dev/bin)
  --no-build      with the images that are there
NAME: codex, claude, opencode, pi (all). Build options are those of scripts/build-agent-image.sh.
Ends with "N passed, N failed".
TXT
}
programs=build/dev/bin build=true names=() options=()
while [ $# -gt 0 ]; do
  case "$1" in
  --programs) programs=${2:?--programs needs a folder}; shift ;;
  --no-build) build=false ;;
  --) shift; options=("$@"); break ;;
  -h | --help) usage; exit 0 ;;
  -*) echo "images.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  *) names+=("$1") ;;
  esac
  shift
done
[ ${#names[@]} -gt 0 ] || names=(codex claude opencode pi)
# shellcheck source=/dev/null
. images/agents/versions.env

work=$(mktemp -d -t sandbox-agent-images.XXXXXX)
daemon=
clean_up() {
  if [ -n "$daemon" ]; then
    kill "$daemon" 2>/dev/null && wait "$daemon" 2>/dev/null
  fi
  rm -rf "$work"
}
trap clean_up EXIT

for name in "${names[@]}"; do
  $build || continue
  echo "building $name"
  scripts/build-agent-image.sh "${options[@]}" "$name" >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2; exit 1; }
done

export SANDBOX__SERVER__BIND=127.0.0.1:0 SANDBOX__SERVER__ADDRESS_FILE=$work/address SANDBOX__NODE__STATE_DIR=$work/state HOME=$work
"$programs/sandboxd" --dev >"$work/daemon.log" 2>&1 &
daemon=$!
ready=false
for _ in $(seq 1 300); do
  kill -0 "$daemon" 2>/dev/null || break
  if [ -s "$work/address" ]; then
    SANDBOX_URL=http://$(cat "$work/address")
    export SANDBOX_URL
    if "$programs/sandbox" doctor 2>/dev/null | grep -q '1 ready'; then ready=true; break; fi
  fi
  sleep 0.1
done
$ready || { cat "$work/daemon.log" >&2; echo "images.sh: sandboxd did not get ready" >&2; exit 1; }

passed=0 failed=0
for name in "${names[@]}"; do
  version=${name^^}_VERSION
  status=0
  "$programs/sandbox" --json agent run "$name" -- --version >"$work/run.json" 2>"$work/run.err" || status=$?
  if [ "$status" -eq 0 ] && grep -qF "${!version}" <(sed -n 's/^ *"stdout": //p' "$work/run.json"); then
    passed=$((passed + 1))
    echo "ok    sandbox agent run $name -- --version prints ${!version}"
  else
    failed=$((failed + 1))
    echo "FAIL  sandbox agent run $name -- --version: exit status $status, wanted ${!version}"
    sed 's/^/      | /' "$work/run.err" "$work/run.json"
  fi
  "$programs/sandbox" list --quiet | while read -r id; do "$programs/sandbox" delete --quiet "$id" >/dev/null; done
done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
