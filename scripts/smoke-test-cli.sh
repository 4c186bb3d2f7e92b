#!/usr/bin/env bash
# Goes once through a sandbox's life with the `sandbox` command against a server that is running, and checks outputs
# and exit statuses. For after an installation or an upgrade; needs no development tools.
# shellcheck disable=SC2016  # words for the shell inside the sandbox are in single quotes
set -u

usage() {
  cat <<'TXT'
Usage: SANDBOX_URL=http://... [SANDBOX_TOKEN=...] scripts/smoke-test-cli.sh [IMAGE]

  IMAGE  an image with a shell that the workers have or can pull (sandbox-base-busybox:local)
The program is `sandbox` on the PATH, or the one that SANDBOX_PROGRAM names. Makes one sandbox and deletes it.
Ends with "N passed, N failed"; exit status 1 when something failed.
TXT
}
case "${1-}" in
-h | --help) usage; exit 0 ;;
-*) echo "smoke-test-cli.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
esac
image=${1:-sandbox-base-busybox:local}
sandbox=${SANDBOX_PROGRAM:-sandbox}
command -v "$sandbox" >/dev/null || { echo "smoke-test-cli.sh: there is no program $sandbox" >&2; exit 2; }

work=$(mktemp -d -t sandbox-smoke.XXXXXX)
id=
clean_up() {
  [ -z "$id" ] || "$sandbox" delete "$id" --quiet >/dev/null 2>&1
  rm -rf "$work"
}
trap clean_up EXIT

passed=0 failed=0
ok() { passed=$((passed + 1)); printf 'ok    %s\n' "$1"; }
bad() {
  failed=$((failed + 1))
  printf 'FAIL  %s: %s\n' "$1" "$2"
  sed 's/^/      | /' "$work/out" "$work/err" | head -n 20
}

# check NAME STATUS COMMAND...: runs it, keeps its output in $work/out and $work/err, compares the exit status.
check() {
  local name=$1 wanted=$2 status
  shift 2
  "$@" >"$work/out" 2>"$work/err" </dev/null
  status=$?
  if [ "$status" -eq "$wanted" ]; then ok "$name"; else bad "$name" "exit status $status, not $wanted"; fi
}
# holds NAME TEXT: whether the last command's standard output holds the text.
holds() {
  if grep -qF -- "$2" "$work/out"; then ok "$1"; else bad "$1" "its output does not hold \"$2\""; fi
}
# is NAME TEXT: whether the last command's standard output is exactly the text and a line feed.
is() {
  if [ "$(cat "$work/out")" = "$2" ]; then ok "$1"; else bad "$1" "its output is not \"$2\""; fi
}

check 'doctor finds nothing wrong' 0 "$sandbox" doctor

check 'create waits until the sandbox runs' 0 "$sandbox" create --image "$image" --ttl 600 --memory-mib 256 --disk-mib 256 --quiet
id=$(cat "$work/out")
case "$id" in
????????-????-????-????-????????????) ok 'create --quiet prints the id alone' ;;
*) bad 'create --quiet prints the id alone' "\"$id\" is no id"; id= ;;
esac
if [ -z "$id" ]; then
  printf '\n%d passed, %d failed\n' "$passed" "$failed"
  exit 1
fi

check 'exec runs a command' 0 "$sandbox" exec "$id" -- echo hello
is 'exec shows its output' hello
check 'exec has its exit status' 7 "$sandbox" exec "$id" -- sh -c 'exit 7'
check 'exec keeps arguments as they are' 0 "$sandbox" exec "$id" printf '%s|' '[a,b]' '' '$(id)' '*' -- --json
is 'exec passes arguments byte for byte' '[a,b]||$(id)|*|--|--json|'
check 'exec passes variables and directory' 0 "$sandbox" exec "$id" --env NAME=value --cwd /tmp -- sh -c 'echo "$NAME $PWD"'
is 'exec has variables and directory' 'value /tmp'
check 'exec stops at its time limit with 124' 124 "$sandbox" exec "$id" --timeout 1 -- sleep 60
check 'exec of an unknown program ends with 127' 127 "$sandbox" exec "$id" -- no-such-program
if [ "$(printf 'from outside' | "$sandbox" exec "$id" --stdin -- cat)" = 'from outside' ]; then
  ok 'exec --stdin sends standard input'
else
  bad 'exec --stdin sends standard input' 'it did not come back'
fi

short=${id: -12}
check 'list shows the sandbox' 0 "$sandbox" list
holds 'list shows its id' "$id"
check 'inspect takes a shortened id' 0 "$sandbox" inspect "$short"
holds 'inspect shows the state' running
check 'inspect --json is the API document' 0 "$sandbox" inspect "$id" --json
holds 'inspect --json shows the id' "\"id\": \"$id\""
check 'operations lists what was done' 0 "$sandbox" operations "$id"
holds 'operations shows the command' 'echo hello'
check 'extend takes a longer life' 0 "$sandbox" extend "$id" --ttl 1200
holds 'extend shows the new expiry' 'expires in'

check 'delete waits until the sandbox is gone' 0 "$sandbox" delete "$id"
check 'exec in a deleted sandbox fails with 1' 1 "$sandbox" exec "$id" -- true
check 'list leaves a deleted sandbox out' 0 "$sandbox" list --quiet
if grep -qF -- "$id" "$work/out"; then bad 'list hides the deleted sandbox' 'it is still there'; else ok 'list hides the deleted sandbox'; fi
check 'list --all shows it as stopped' 0 "$sandbox" list --all --state stopped --quiet
holds 'list --all has its id' "$id"
id=

printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
