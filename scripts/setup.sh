#!/usr/bin/env bash
# Installs the Debian packages that building and testing Sandbox needs. Safe to repeat.
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: scripts/setup.sh [--dry-run] [--build-only]

Installs, with apt-get, what is missing of the packages that the build and the tests need.
  --dry-run     say what would be installed and stop
  --build-only  leave out what only the tests and the local image need
TXT
}
dry_run=false build_only=false
for argument in "$@"; do
  case "$argument" in
  --dry-run) dry_run=true ;;
  --build-only) build_only=true ;;
  -h | --help) usage; exit 0 ;;
  *) echo "setup.sh: unknown option $argument" >&2; usage >&2; exit 2 ;;
  esac
done

if ! command -v apt-get >/dev/null; then
  echo "setup.sh: this script knows Debian 12 and its relatives only; docs/development.md lists what to install elsewhere." >&2
  exit 1
fi

build=(
  clang-19 llvm-19 mold ccache cmake ninja-build pkg-config git
  libboost1.81-dev libboost-url1.81-dev nlohmann-json3-dev libspdlog-dev libcli11-dev
  libtomlplusplus-dev libssl-dev prometheus-cpp-dev libpqxx-dev libpq-dev libnats-dev libcurl4-openssl-dev zlib1g-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)
test=(
  clang-tidy-19 clang-format-19 libclang-rt-19-dev docker.io iptables busybox-static debootstrap e2fsprogs
  nftables iproute2 curl jq openssl procps ca-certificates faketime nats-server postgresql python3
)
# Node.js may come from elsewhere, with npm in the same package.
command -v node >/dev/null && command -v npm >/dev/null || test+=(nodejs npm)
wanted=("${build[@]}")
$build_only || wanted+=("${test[@]}")

missing=()
for package in "${wanted[@]}"; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "setup: every package is here already."
  exit 0
fi
echo "setup: installing with apt-get: ${missing[*]}"
$dry_run && exit 0

root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: installing packages needs root: run it as root or install sudo." >&2
    exit 1
  fi
  root=(sudo)
fi
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${root[@]}" apt-get update && "${root[@]}" env DEBIAN_FRONTEND=noninteractive \
  apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "setup.sh: apt-get failed; its last lines are above." >&2
  exit 1
fi
echo "setup: done."
