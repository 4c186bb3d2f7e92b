#!/bin/sh
# Installs PACKAGE at VERSION below /opt/agent, so that /opt/agent/bin/NAME starts it, whatever Node.js a project has.
set -eu
case $(uname -m) in
x86_64) architecture=x64 ;;
aarch64) architecture=arm64 ;;
*) echo "agent.sh: there is no agent for $(uname -m)" >&2; exit 1 ;;
esac
# Authorities that the builder trusts beside the usual ones; they stay in this stage.
[ ! -s ca.pem ] || export NODE_EXTRA_CA_CERTS="$PWD/ca.pem"
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false

npm install --global --prefix /opt/agent/node "node-linux-$architecture@$NODE_VERSION"
PATH=/opt/agent/node/bin:$PATH
npm install --global --prefix /opt/agent "$PACKAGE@$VERSION"

start=/opt/agent/bin/$NAME
target=$(readlink -f "$start")
if head -n 1 "$target" | grep -aq '^#!.*node'; then
  # By its full path: the agent's children must find the project's node, not this one.
  rm "$start"
  printf '#!/bin/sh\nexec /opt/agent/node/bin/node %s "$@"\n' "$target" >"$start"
  chmod 0755 "$start"
else
  rm -rf /opt/agent/node
fi
"$start" --version
