#!/usr/bin/env bash
# Builds a coding agent's image for the Docker engine of a worker.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TXT'
Usage: scripts/build-agent-image.sh [OPTIONS] NAME

Builds sandbox-agent-NAME:local from images/agents, where NAME is codex, claude, opencode or pi. Run it where the
worker's Docker engine is (DOCKER_HOST is respected). What it installs is pinned in images/agents/versions.env.
  --base IMAGE     a Debian image to build on (debian:12-slim); a project's own with its compilers, or, where no image
                   registry can be reached, sandbox-base-debian:local from scripts/build-base-image.sh debian
  --network NAME   the network of the build, as docker build takes it
  --ca-file FILE   certificate authorities (PEM) to trust while downloading, beside the usual ones
TXT
}
base=debian:12-slim ca_file='' network=() name=''
while [ $# -gt 0 ]; do
  case "$1" in
  --base) base=${2:?--base needs an image}; shift ;;
  --network) network=(--network "${2:?--network needs a name}"); shift ;;
  --ca-file) ca_file=${2:?--ca-file needs a file}; shift ;;
  -h | --help) usage; exit 0 ;;
  -*) echo "build-agent-image.sh: unknown option $1" >&2; usage >&2; exit 2 ;;
  *) [ -z "$name" ] || { echo "build-agent-image.sh: one agent at a time" >&2; exit 2; }; name=$1 ;;
  esac
  shift
done
case "$name" in
codex | claude | opencode | pi) ;;
'') echo "build-agent-image.sh: name an agent" >&2; usage >&2; exit 2 ;;
*) echo "build-agent-image.sh: there is no image for $name here; there are codex, claude, opencode and pi" >&2; exit 2 ;;
esac

# shellcheck source=/dev/null
. images/agents/versions.env
package=${name^^}_PACKAGE version=${name^^}_VERSION

context=$(mktemp -d -t sandbox-agent-image.XXXXXX)
trap 'rm -rf "$context"' EXIT
cp images/agents/{Dockerfile,packages.sh,agent.sh} "$context"
if [ -n "$ca_file" ]; then cp "$ca_file" "$context/ca.pem"; else : >"$context/ca.pem"; fi
# A Debian machine's own package sources; packages.sh uses them where the base image is of the same release.
: >"$context/apt.list"
if grep -qx 'ID=debian' /etc/os-release 2>/dev/null; then
  # shellcheck disable=SC2016  # apt expands these
  apt-get indextargets --format 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' >"$context/apt.list"
fi

image=sandbox-agent-$name:local
docker build "${network[@]}" --tag "$image" --build-arg "BASE=$base" --build-arg "NAME=$name" \
  --build-arg "PACKAGE=${!package}" --build-arg "VERSION=${!version}" --build-arg "NODE_VERSION=$NODE_VERSION" "$context" || {
  echo "build-agent-image.sh: $image could not be built on $base. Where no image registry can be reached, make a base with" \
    "scripts/build-base-image.sh debian and give --base sandbox-base-debian:local" >&2
  exit 1
}
echo "$image (${!package} ${!version} on $base)"
