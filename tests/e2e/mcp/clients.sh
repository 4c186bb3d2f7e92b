#!/usr/bin/env bash
# By hand, since it downloads the clients: Claude Code, Gemini CLI and OpenCode connect with sandbox-mcp, Codex registers
# it, each in a home of its own and without a login. Shows which revision of the protocol each of them asks for.
set -euo pipefail
cd "$(dirname "$0")/../../.."

usage() {
  cat <<'TXT'
Usage: tests/e2e/mcp/clients.sh [--programs DIR] [--clients DIR]

  --programs DIR  where sandbox-mcp is (build/dev/bin)
  --clients DIR   where claude, gemini, opencode and codex are, in place of the newest from npm
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
bridge=$(readlink -f "$programs")/sandbox-mcp
work=$(mktemp -d "${XDG_CACHE_HOME:-$HOME}/sandbox-mcp-clients.XXXXXX") # Codex refuses a home below /tmp
trap 'rm -rf "$work"' EXIT
if [ -z "$clients" ]; then
  npm install --no-audit --no-fund --prefix "$work/npm" \
    @anthropic-ai/claude-code @google/gemini-cli opencode-ai @openai/codex >&2
  clients=$work/npm/node_modules/.bin
fi

# The bridge, with a record of what it is told.
recorder=$work/recorder
cat >"$recorder" <<SH
#!/bin/sh
tee -a "$work/said" | "$bridge"
SH
chmod 0755 "$recorder"
mkdir -p "$work/home/.gemini" "$work/home/.config/opencode"
export HOME=$work/home PATH=$clients:$PATH
unset CODEX_HOME CLAUDE_CONFIG_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME
# Nothing that phones home, as far as it can be switched off.
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_TELEMETRY=1 DISABLE_ERROR_REPORTING=1 DISABLE_AUTOUPDATER=1
export GEMINI_CLI_TRUST_WORKSPACE=true OPENCODE_DISABLE_AUTOUPDATE=1
cat >"$HOME/.gemini/settings.json" <<JSON
{"mcpServers": {"sandbox": {"command": "$recorder"}}, "telemetry": {"enabled": false},
 "privacy": {"usageStatisticsEnabled": false}, "general": {"enableAutoUpdate": false}}
JSON
cat >"$HOME/.config/opencode/opencode.json" <<JSON
{"autoupdate": false, "mcp": {"sandbox": {"type": "local", "command": ["$recorder"], "enabled": true}}}
JSON

passed=0 failed=0
check() {  # NAME TEXT COMMAND...: its output holds the text, whatever its case
  local name=$1 text=$2
  shift 2
  : >"$work/said"
  (cd "$HOME" && timeout 180 "$@") >"$work/out" 2>&1 </dev/null || true
  if grep -qi -- "$text" "$work/out"; then
    passed=$((passed + 1)) && echo "ok    $name $(revision)"
  else
    failed=$((failed + 1)) && echo "FAIL  $name" && sed 's/^/      | /' "$work/out"
  fi
}
# Which one the client asked for first.
revision() { sed -nE '1s/.*protocolVersion":"([0-9-]+)".*/(asks for \1)/p' "$work/said"; }

for client in claude gemini opencode codex; do
  printf '%s %s\n' "$client" "$(timeout 60 "$client" --version 2>/dev/null | tail -n 1)"
done
check 'claude takes it' 'added' claude mcp add --scope user sandbox -- "$recorder"
check 'claude connects' 'connected' claude mcp list
check 'gemini connects' 'connected' gemini mcp list
check 'opencode connects' 'connected' opencode mcp list
check 'codex takes it' 'added' codex mcp add sandbox -- "$recorder"
check 'codex lists it' 'enabled' codex mcp list
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
