#pragma once

namespace sandbox::guest {

/// Takes from this process and all that come from it the sockets between virtual machines and their hosts (AF_VSOCK):
/// they belong to no network namespace, so that neither a sandbox without network nor the host's firewall closes them.
/// With them goes io_uring, which makes sockets past any filter; programs do without it. False when the kernel refuses.
bool close_vsock();

}  // namespace sandbox::guest
