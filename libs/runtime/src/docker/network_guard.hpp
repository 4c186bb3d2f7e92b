#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::runtime::docker {

/// An address that restricted sandboxes may reach, over TCP.
struct AllowedAddress {
    std::string address;  // numeric, IPv4 or IPv6
    std::uint16_t port = 0;
    bool operator==(const AllowedAddress&) const = default;
};

/// Reads "host:port" entries of node.restricted_allow and looks their names up. `gateway` names the host itself as a
/// sandbox of that network sees it. Blocks: for a pool's thread. Errors: invalid_argument, unavailable.
[[nodiscard]] Result<std::vector<AllowedAddress>> resolve_allowed(const std::vector<std::string>& entries,
                                                                  const std::string& gateway);

/// The nftables script that makes, or makes anew, the table of one of our networks: nothing that comes from its bridge
/// reaches the host itself or link-local addresses, and from a restricted one nothing but `allowed` is reached.
[[nodiscard]] std::string guard_script(domain::Network network, const std::string& bridge,
                                       const std::vector<AllowedAddress>& allowed);

/// Keeps the networks' sandboxes away from the host, where this process may (CAP_NET_ADMIN and the nft program). Each
/// network has a table of its own, so that workers of one host and whatever else uses nftables don't get in each
/// other's way. It stays when the worker goes, as the sandboxes do.
class NetworkGuard {
public:
    explicit NetworkGuard(asio::thread_pool& pool) : pool_(pool) {}

    /// Whether tables can be made here; the error says what is missing. Blocks: for a pool's thread.
    [[nodiscard]] static Result<void> check();

    Task<Result<void>> guard(domain::Network network, std::string bridge, std::string gateway,
                             std::vector<std::string> restricted_allow);

private:
    asio::thread_pool& pool_;
};

/// Removes the table of a network that is gone; nothing is no error. Blocks.
void remove_guard(const std::string& bridge);

}  // namespace sandbox::runtime::docker
