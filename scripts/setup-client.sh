#!/usr/bin/env bash
# Tells the coding agents on this machine about sandbox-mcp, and gives them the skill for working with sandboxes.
# shellcheck disable=SC2317  # functions are called by a name put together
set -euo pipefail

usage() {
  cat <<'TXT'
Usage: scripts/setup-client.sh [--dry-run] [--no-mcp] [--no-skill]

Registers sandbox-mcp as "sandbox" with the clients it finds (codex, claude, gemini), for this user, with the address of
the server that `sandbox` uses; and links skills/sandbox-platform to where they look for skills. What is there under that
name is left alone. A token is never written: the clients take SANDBOX_TOKEN from the environment they are started in.
  --dry-run    only say what would be done
  --no-mcp     leave out the registration
  --no-skill   leave out the skill
The program is `sandbox` on the PATH, or the one that SANDBOX_PROGRAM names; sandbox-mcp is beside it.
TXT
}
dry=false mcp=true skill=true
for argument in "$@"; do
  case "$argument" in
  --dry-run) dry=true ;;
  --no-mcp) mcp=false ;;
  --no-skill) skill=false ;;
  -h | --help) usage; exit 0 ;;
  *) echo "setup-client.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
  esac
done
repository=$(cd "$(dirname "$0")/.." && pwd)
source=$repository/skills/sandbox-platform
codex_home=${CODEX_HOME:-$HOME/.codex}
failed=0

say() { printf '%-7s %s\n' "$1" "$2"; }
# Runs a client's own command, or says it. In the home directory, so that no project's settings are looked at; without
# the token, so that none can be written.
client() {
  if $dry; then
    say "$1" "would run: $*"
  elif (cd "$HOME" && env -u SANDBOX_TOKEN "$@") >"$log" 2>&1 </dev/null; then
    say "$1" "registered sandbox-mcp as \"sandbox\""
  else
    say "$1" "could not be told: $(tail -n 1 "$log")"
    failed=1
    return 1
  fi
}
quietly() { (cd "$HOME" && env -u SANDBOX_TOKEN "$@") >/dev/null 2>&1 </dev/null; }

codex_has() { quietly codex mcp get sandbox; }
codex_add() {
  client codex mcp add sandbox "${variables[@]/#/--env=}" -- "$bridge" || return 0
  $dry && return 0
  # Codex passes on only what is named, and its own command can't name it; a call may also take longer than its minute.
  sed -i '/^\[mcp_servers\.sandbox\]$/a env_vars = ["SANDBOX_TOKEN"]\ntool_timeout_sec = 960' "$codex_home/config.toml"
}
# Asking it makes its settings file, which a dry run should not.
claude_has() { [ -e "${CLAUDE_CONFIG_DIR:-$HOME}/.claude.json" ] && quietly claude mcp get sandbox; }
claude_add() { client claude mcp add --scope user sandbox "${variables[@]/#/--env=}" -- "$bridge" || return 0; }
# Its list starts every server and its add replaces what is there, so its file is looked at.
gemini_has() { grep -qs '"sandbox"[[:space:]]*:[[:space:]]*{' "$HOME/.gemini/settings.json"; }
gemini_add() {
  # shellcheck disable=SC2016  # Gemini puts the variable in, not we
  client gemini mcp add --scope user --timeout 960000 "${variables[@]/#/--env=}" --env='SANDBOX_TOKEN=$SANDBOX_TOKEN' sandbox "$bridge" || return 0
  say gemini "shows it as Disabled in folders that it does not trust: trust them when it asks, or start it with GEMINI_CLI_TRUST_WORKSPACE=true"
}

register() {
  local sandbox server bridge variables name
  sandbox=$(command -v "${SANDBOX_PROGRAM:-sandbox}") || { echo "setup-client.sh: there is no program ${SANDBOX_PROGRAM:-sandbox}: install it, or name it with SANDBOX_PROGRAM" >&2; exit 1; }
  bridge=$(dirname "$(readlink -f "$sandbox")")/sandbox-mcp
  [ -x "$bridge" ] || { echo "setup-client.sh: there is no program $bridge" >&2; exit 1; }
  server=$("$sandbox" config show --json | sed -n 's/^ *"server": "\(.*\)",\{0,1\}$/\1/p')
  [ -n "$server" ] || { echo "setup-client.sh: $sandbox does not say which server it uses" >&2; exit 1; }
  variables=("SANDBOX_URL=$server")
  [ -z "${SANDBOX_CA_FILE:-}" ] || variables+=("SANDBOX_CA_FILE=$(readlink -f "$SANDBOX_CA_FILE")")
  for name in codex claude gemini; do
    if ! command -v "$name" >/dev/null; then
      say "$name" "is not here"
    elif "${name}_has"; then
      say "$name" "has an entry \"sandbox\" already: left alone"
    else
      "${name}_add"
    fi
  done
}

link_skill() {
  local name=$1 folder=$2/skills target=$2/skills/sandbox-platform
  command -v "$name" >/dev/null || return 0
  if [ -L "$target" ] && [ "$(readlink -f "$target")" = "$source" ]; then
    say "$name" "has the skill already"
  elif [ -e "$target" ] || [ -L "$target" ]; then
    say "$name" "has another skill at $target: left alone"
  elif $dry; then
    say "$name" "would link $target to $source"
  else
    mkdir -p "$folder"
    ln -s "$source" "$target"
    say "$name" "linked the skill at $target"
  fi
}

log=$(mktemp -t sandbox-setup-client.XXXXXX)
trap 'rm -f "$log"' EXIT
if $mcp; then register; fi
if $skill; then
  link_skill codex "$codex_home"
  link_skill claude "${CLAUDE_CONFIG_DIR:-$HOME/.claude}"
  link_skill gemini "$HOME/.gemini"
fi
if $mcp && ! $dry; then echo "Start the clients with SANDBOX_TOKEN set, unless the server wants no token."; fi
exit "$failed"
