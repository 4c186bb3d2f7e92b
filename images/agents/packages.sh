#!/bin/sh
# packages.sh PACKAGE=COMMAND...: installs the Debian packages whose commands are missing. apt.list beside this has the
# builder's own package sources; they are used when they are for this system's release, and leave nothing behind.
set -eu
missing=
for pair in "$@"; do
  command -v "${pair#*=}" >/dev/null || missing="$missing ${pair%%=*}"
done
[ -n "$missing" ] || exit 0
command -v apt-get >/dev/null || { echo "packages.sh: the base image lacks$missing and has no apt-get" >&2; exit 1; }

export DEBIAN_FRONTEND=noninteractive
list=$(dirname "$(readlink -f "$0")")/apt.list
# shellcheck source=/dev/null
. /etc/os-release
set --
if grep -q " ${VERSION_CODENAME:-none} " "$list"; then
  set -- -o Dir::Etc::sourcelist="$list" -o Dir::Etc::sourceparts=-
fi
apt-get "$@" -q update
# shellcheck disable=SC2086  # a list of package names
apt-get "$@" -q install -y --no-install-recommends $missing
apt-get clean
rm -rf /var/lib/apt/lists/*
