#!/usr/bin/env bash
# By hand, since it downloads the clients: scripts/setup-client.sh with the real Codex, Claude Code and Gemini CLI in a
# home of its own. Checks that they know the bridge, start it with the token of their environment, and store no token.
# shellcheck disable=SC2016  # words for an inner shell are in single quotes
set -euo pipefail
cd "$(dirname "$0")/../../.."

usage() {
  cat <<'TXT'
Usage: tests/e2e/agents/clients.sh [--programs DIR] [--clients DIR]

  --programs DIR  where sandbox and sandbox-mcp are (build/dev/bin)
  --clients DIR   where codex, claude and gemini are, in place of those from npm
Ends with "N passed, N failed".
TXT
}
programs=build/dev/bin clients=
while [ $# -gt 0 ]; do
  case "$1" in
  --programs) programs=${2:?--programs needs a folder}; shift ;;
  --clients) clients=$(readlink -f "${2:?--clients needs a folder}"); shift ;;
  -h | --help) usage; exit 0 ;;
  *) echo "clients.sh: unknown argument $1" >&2; usage >&2; exit 2 ;;
  esac
  shift
done
work=$(mktemp -d "${XDG_CACHE_HOME:-$HOME}/sandbox-clients.XXXXXX") # Codex refuses a home below /tmp
trap 'rm -rf "$work"' EXIT
if [ -z "$clients" ]; then
  # shellcheck source=/dev/null
  . images/agents/versions.env
  npm install --no-audit --no-fund --prefix "$work/npm" "$CODEX_PACKAGE@$CODEX_VERSION" "$CLAUDE_PACKAGE@$CLAUDE_VERSION" @google/gemini-cli >&2
  clients=$work/npm/node_modules/.bin
fi
# A bridge that writes down what it was given and leaves.
mkdir "$work/bin" "$work/home"
cp "$programs/sandbox" "$work/bin/sandbox"
printf '#!/bin/sh\nenv | grep ^SANDBOX_ >"%s"\n' "$work/seen" >"$work/bin/sandbox-mcp"
chmod 0755 "$work/bin/sandbox-mcp"
export HOME=$work/home PATH=$work/bin:$clients:$PATH SANDBOX_URL=http://127.0.0.1:9 SANDBOX_TOKEN=a-t0ken-that-must-not-be-written
export GEMINI_CLI_TRUST_WORKSPACE=true XDG_CACHE_HOME=$work/home/.cache
unset CODEX_HOME CLAUDE_CONFIG_DIR XDG_CONFIG_HOME

passed=0 failed=0
check() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1)) && echo "ok    $name"
  else
    failed=$((failed + 1)) && echo "FAIL  $name" && sed 's/^/      | /' "$work/out"
  fi
}
starts_with_token() { rm -f "$work/seen"; (cd "$HOME" && timeout 120 "$@") >/dev/null 2>&1 || true; grep -qx "SANDBOX_TOKEN=$SANDBOX_TOKEN" "$work/seen" && grep -qx "SANDBOX_URL=$SANDBOX_URL" "$work/seen"; }
says() { local text=$1; shift; "$@" | grep -F "$text"; }
no_token_in_home() { ! grep -rl "$SANDBOX_TOKEN" "$HOME"; }

check 'a dry run runs' scripts/setup-client.sh --dry-run
check 'a dry run registers nothing' test ! -e "$HOME/.claude.json" -a ! -e "$HOME/.gemini/settings.json" -a ! -e "$HOME/.codex/config.toml"
check 'it registers with all three' scripts/setup-client.sh
for client in codex claude gemini; do
  check "$client is left alone the second time" says "$client" sh -c "scripts/setup-client.sh | grep 'already: left alone'"
done
check 'codex knows it' codex mcp get sandbox
check 'codex passes the token on by name' says 'SANDBOX_TOKEN' codex mcp get sandbox
check 'claude starts it with the token' starts_with_token claude mcp get sandbox
check 'gemini starts it with the token' starts_with_token gemini mcp list
check 'no token is written' no_token_in_home
check 'codex takes what mcp-config prints' sh -c 'rm "$HOME/.codex/config.toml" && sandbox mcp-config --client codex >"$HOME/.codex/config.toml" && codex mcp get sandbox | grep SANDBOX_TOKEN'
check 'gemini takes what mcp-config prints' sh -c 'sandbox mcp-config --client gemini >"$HOME/.gemini/settings.json"'
check 'gemini starts that with the token' starts_with_token gemini mcp list
check 'claude takes what mcp-config prints' sh -c 'claude mcp remove sandbox --scope user && claude mcp add-json --scope user sandbox "$(sandbox mcp-config --client claude | node -e "process.stdout.write(JSON.stringify(JSON.parse(require(\"fs\").readFileSync(0)).mcpServers.sandbox))")"'
check 'claude starts that with the token' starts_with_token claude mcp get sandbox
# The bridge itself, without a server: it starts all the same, and a client may list its tools.
cp -f "$programs/sandbox-mcp" "$work/bin/sandbox-mcp"
check 'claude connects with the bridge itself' says Connected claude mcp get sandbox
check 'gemini connects with the bridge itself' sh -c 'cd "$HOME" && gemini mcp list 2>&1 | grep Connected'
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
