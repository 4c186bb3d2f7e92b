#!/usr/bin/env bash
# From a fresh clone to a command that has run in a sandbox: installs, builds, starts, shows, and cleans up.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TXT'
Usage: scripts/quickstart.sh [--keep]

Installs the packages that are missing, builds the programs, starts a Docker engine if none answers, makes a small
local image, starts `sandboxd --dev` on a free port, and creates a sandbox, runs a command in it and deletes it.
Then everything that was started is stopped and removed again.
  --keep   leave the daemon (and the engine, if it was started here) running and print how to use them
TXT
}
keep=false
for argument in "$@"; do
  case "$argument" in
  --keep) keep=true ;;
  -h | --help) usage; exit 0 ;;
  *) echo "quickstart.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
  esac
done

work=$(mktemp -d -t sandbox-quickstart.XXXXXX)
daemon_pid="" volumes_before="" done=false
. scripts/engine.sh

clean_up() {
  local status=$?
  if $done && $keep; then return; fi
  if [ -n "$daemon_pid" ] && kill "$daemon_pid" 2>/dev/null; then wait "$daemon_pid" || true; fi
  if [ $status -ne 0 ] && [ -s "$work/sandboxd.log" ]; then
    echo "--- the last lines of sandboxd's log" >&2
    tail -n 20 "$work/sandboxd.log" >&2
  fi
  # The volume that holds the guest program stays on a host that goes on serving; here it goes.
  for volume in $(docker volume ls -q --filter name=sandbox-guest- 2>/dev/null || true); do
    grep -qx "$volume" <<<"$volumes_before" || docker volume rm "$volume" >/dev/null 2>&1 || true
  done
  stop_engine
  rm -rf "$work"
}
trap clean_up EXIT

step() { printf '\n== %s\n' "$*"; }
# Shows a command as the reader would type it, and runs it.
show() {
  local line="" word
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./:=-]+$ ]] || word="'${word//\'/\'\\\'\'}'"
    line+=" $word"
  done
  echo "\$$line"
  "$@"
}

step "packages"
scripts/setup.sh

step "build (the first time takes some minutes)"
cmake --preset release >"$work/configure.log" 2>&1 || { cat "$work/configure.log" >&2; exit 1; }
cmake --build --preset release --target sandboxd sandbox sandbox-guest
export PATH=$PWD/build/release/bin:$PATH

step "engine and image"
ensure_engine
volumes_before=$(docker volume ls -q --filter name=sandbox-guest-)
scripts/build-base-image.sh busybox

step "sandboxd --dev"
export SANDBOX__SERVER__BIND=127.0.0.1:0 SANDBOX__SERVER__ADDRESS_FILE=$work/address SANDBOX__NODE__STATE_DIR=$work/state
sandboxd --dev >"$work/sandboxd.log" 2>&1 &
daemon_pid=$!
for _ in $(seq 1 100); do
  [ -s "$work/address" ] && break
  kill -0 "$daemon_pid" 2>/dev/null || exit 1
  sleep 0.1
done
export SANDBOX_URL=http://$(cat "$work/address")
# The worker in the same process registers a moment after the port opens.
for _ in $(seq 1 100); do
  sandbox node list --json 2>/dev/null | grep -q '"id"' && break
  sleep 0.1
done
show sandbox doctor

step "a sandbox"
printf '$ %s\n' 'id=$(sandbox create --quiet --image sandbox-base-busybox:local)'
id=$(sandbox create --quiet --image sandbox-base-busybox:local)
show sandbox list
show sandbox exec "$id" -- sh -c 'echo "hello from $SANDBOX_ID"'
show sandbox delete "$id"

done=true
if $keep; then
  disown "$daemon_pid"
  step "left running, as you asked"
  echo "export SANDBOX_URL=$SANDBOX_URL"
  echo "export PATH=$PWD/build/release/bin:\$PATH"
  echo "Paste these two lines into your shell. To stop: kill $daemon_pid${engine_pid:+ (the daemon), and as root kill $engine_pid (the engine)}; its files are in $work"
else
  step "done: everything that was started here is stopped and removed"
fi
