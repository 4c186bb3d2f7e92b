#!/usr/bin/env bash
# Makes small real images from Debian packages, without any image registry.
set -euo pipefail
usage() {
  cat <<'TXT'
Usage: scripts/build-base-image.sh [--force] [busybox|debian]...

Makes local images and gives them to the Docker engine (DOCKER_HOST is respected):
  busybox  sandbox-base-busybox:local, about 2 MiB: a shell and the usual small tools (default)
  debian   sandbox-base-debian:local: a minimal Debian with bash, coreutils, git and python3
An image that is there already is left alone unless --force is given. Needs root for the Debian one.
TXT
}
force=false
kinds=()
for argument in "$@"; do
  case "$argument" in
  --force) force=true ;;
  busybox | debian) kinds+=("$argument") ;;
  -h | --help) usage; exit 0 ;;
  *) echo "build-base-image.sh: unknown argument $argument" >&2; usage >&2; exit 2 ;;
  esac
done
[ ${#kinds[@]} -gt 0 ] || kinds=(busybox)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

import() {  # tar on stdin; $1: image, the rest: changes to its configuration
  local image=$1 changes=()
  shift
  for change in "$@"; do changes+=(--change "$change"); done
  docker import "${changes[@]}" - "$image" >/dev/null
  echo "$image"
}

build_busybox() {
  local busybox root=$work/busybox
  busybox=$(command -v busybox) || { echo "build-base-image.sh: install busybox-static first (scripts/setup.sh does)." >&2; exit 1; }
  mkdir -p "$root"/{bin,etc,tmp,root,workspace,proc,sys,dev,run,home}
  cp "$busybox" "$root/bin/busybox"
  "$busybox" --list | while read -r applet; do
    [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
  done
  printf 'root:x:0:0:root:/root:/bin/sh\nsandbox:x:10001:10001:sandbox:/workspace:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n' >"$root/etc/passwd"
  printf 'root:x:0:\nsandbox:x:10001:\nnogroup:x:65534:\n' >"$root/etc/group"
  chmod 1777 "$root/tmp"
  tar -C "$root" --owner=0 --group=0 --sort=name -c . | import "$1" 'ENV PATH=/bin' 'USER 10001:10001' 'CMD ["/bin/sh"]'
}

build_debian() {
  local mirror suite root=$work/debian
  command -v debootstrap >/dev/null || { echo "build-base-image.sh: install debootstrap first (scripts/setup.sh does)." >&2; exit 1; }
  [ "$(id -u)" -eq 0 ] || { echo "build-base-image.sh: the Debian image needs root (debootstrap does)." >&2; exit 1; }
  # The mirror that this machine's own apt uses.
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  debootstrap --variant=minbase --include=ca-certificates,git,openssh-client,ripgrep,python3-minimal,procps \
    "$suite" "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log" >&2; exit 1; }
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/*
  grep -q '^sandbox:' "$root/etc/passwd" || chroot "$root" useradd --uid 10001 --home-dir /workspace --no-create-home --shell /bin/bash sandbox
  tar -C "$root" --one-file-system -c . | import "$1" \
    'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' 'USER 10001:10001' 'CMD ["/bin/bash"]'
}

for kind in "${kinds[@]}"; do
  image=sandbox-base-$kind:local
  if ! $force && docker image inspect "$image" >/dev/null 2>&1; then
    echo "$image (already here)"
    continue
  fi
  "build_$kind" "$image"
done
