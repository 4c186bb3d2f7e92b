# Sourced by quickstart.sh and test.sh: finds a Docker engine, or starts one that is stopped again at the end.
# Sets DOCKER_HOST when it is not the usual one. Needs $work, a temporary directory of the caller's.

# Runs a command as root: directly, or through sudo.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "$(basename "$0"): starting a Docker engine needs root: run this as root, install sudo, or start an engine yourself." >&2
    return 1
  fi
}

engine_answers() { docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# Starts an engine of our own when none answers. Its process id goes to $engine_pid.
engine_pid=""
ensure_engine() {
  if engine_answers; then
    echo "engine: Docker $(docker version --format '{{.Server.Version}}') answers."
    return 0
  fi
  if [ -z "${DOCKER_HOST:-}" ] && [ -S /var/run/docker.sock ] && as_root docker version >/dev/null 2>&1; then
    echo "$(basename "$0"): a Docker engine runs but not for you: join its group (sudo usermod -aG docker $(id -un)) and log in again." >&2
    return 1
  fi
  command -v dockerd >/dev/null || { echo "$(basename "$0"): there is no Docker engine; install one (scripts/setup.sh does)." >&2; return 1; }
  echo "engine: none answers, starting one for this run."
  export DOCKER_HOST=unix://$work/engine.sock
  as_root dockerd --host "$DOCKER_HOST" --group "$(id -gn)" --data-root "$work/engine" --exec-root "$work/engine-run" \
    --pidfile "$work/engine.pid" >"$work/engine.log" 2>&1 &
  for _ in $(seq 1 150); do
    if engine_answers; then
      engine_pid=$(as_root cat "$work/engine.pid")
      return 0
    fi
    sleep 0.2
  done
  tail -n 20 "$work/engine.log" >&2
  echo "$(basename "$0"): the Docker engine did not start; its last lines are above." >&2
  return 1
}

# Ends the engine that ensure_engine started, with its data.
stop_engine() {
  [ -n "$engine_pid" ] || return 0
  as_root kill "$engine_pid" 2>/dev/null || true
  for _ in $(seq 1 100); do
    as_root kill -0 "$engine_pid" 2>/dev/null || break
    sleep 0.2
  done
  as_root rm -rf "$work/engine" "$work/engine-run"
  engine_pid=""
}
