#include "docker/network_guard.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <utility>

#include <fmt/format.h>

#include <sandbox/async/offload.hpp>
#include <sandbox/base/text.hpp>

#include "docker/tool.hpp"

namespace sandbox::runtime::docker {

namespace {

using namespace std::chrono_literals;
constexpr auto kToolTime = 10s;
constexpr std::string_view kGatewayWord = "gateway";

std::string table_of(std::string_view bridge) {
    return fmt::format("sandbox-{}", bridge);
}

/// An interface's name as it may stand in a script.
bool is_interface_name(std::string_view name) {
    constexpr std::size_t kLongest = 15;
    return !name.empty() && name.size() <= kLongest && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    });
}

Error bad_entry(std::string_view entry) {
    return {Code::invalid_argument, fmt::format("node.restricted_allow: {} is not host:port", shortened(entry, 100))};
}

std::string numeric(const addrinfo& found) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const void* address =
        found.ai_family == AF_INET6
            ? static_cast<const void*>(&reinterpret_cast<const sockaddr_in6*>(found.ai_addr)->sin6_addr)
            : &reinterpret_cast<const sockaddr_in*>(found.ai_addr)->sin_addr;
    return ::inet_ntop(found.ai_family, address, text.data(), text.size()) != nullptr ? text.data() : "";
}

Result<void> resolve(const std::string& host, std::uint16_t port, std::vector<AllowedAddress>& into) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); error != 0)
        return fail(Code::unavailable, fmt::format("node.restricted_allow: {}: {}", host, ::gai_strerror(error)));
    std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
    for (const auto* each = found; each != nullptr; each = each->ai_next)
        if (each->ai_family == AF_INET || each->ai_family == AF_INET6)
            into.push_back({.address = numeric(*each), .port = port});
    return {};
}

/// Tables of networks that are gone, by an operator's prune, say.
void remove_stale_guards(const std::string& nft) {
    auto tables = run_tool({nft, "list", "tables", "inet"}, "", kToolTime);
    if (!tables) return;
    constexpr std::string_view kBegin = "table inet sandbox-br-";
    for (std::string_view rest = *tables; !rest.empty();) {
        auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.starts_with(kBegin)) continue;
        std::string bridge(line.substr(kBegin.size() - 3));
        if (is_interface_name(bridge) && ::if_nametoindex(bridge.c_str()) == 0) remove_guard(bridge);
    }
}

}  // namespace

Result<std::vector<AllowedAddress>> resolve_allowed(const std::vector<std::string>& entries,
                                                    const std::string& gateway) {
    std::vector<AllowedAddress> allowed;
    for (const auto& entry : entries) {
        auto colon = entry.rfind(':');
        if (colon == std::string::npos || colon == 0) return fail(bad_entry(entry));
        auto host = entry.substr(0, colon);
        if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
        std::uint16_t port = 0;
        const char* end = entry.data() + entry.size();
        auto [stopped, error] = std::from_chars(entry.data() + colon + 1, end, port);
        if (error != std::errc{} || stopped != end || port == 0) return fail(bad_entry(entry));
        auto resolved = resolve(host == kGatewayWord ? gateway : host, port, allowed);
        if (!resolved) return fail(std::move(resolved.error()));
    }
    return allowed;
}

std::string guard_script(domain::Network network, const std::string& bridge,
                         const std::vector<AllowedAddress>& allowed) {
    const bool restricted = network == domain::Network::restricted_egress;
    const auto from = fmt::format("    iifname \"{}\" ", bridge);
    std::string exceptions = from + "ct state established,related accept\n";
    if (restricted)
        for (const auto& each : allowed)
            exceptions +=
                fmt::format("{}{} daddr {} tcp dport {} accept\n", from,
                            each.address.find(':') == std::string::npos ? "ip" : "ip6", each.address, each.port);
    // Made, removed and made again in one transaction: so it does not matter whether it was there, and there is no
    // moment without it. Before the engine's own chains, which know nothing of the host.
    const auto table = table_of(bridge);
    auto script = fmt::format("table inet {0}\ndelete table inet {0}\ntable inet {0} {{\n", table);
    script += "  chain input {\n    type filter hook input priority filter - 10; policy accept;\n";
    script += exceptions + from + "drop\n  }\n";
    script += "  chain forward {\n    type filter hook forward priority filter - 10; policy accept;\n";
    if (restricted) {
        script += exceptions + from + "drop\n";
    } else {
        script += from + "ip daddr 169.254.0.0/16 drop\n" + from + "ip6 daddr fe80::/10 drop\n";
    }
    return script + "  }\n}\n";
}

Result<void> NetworkGuard::check() {
    auto nft = find_tool("nft");
    if (!nft) return fail(Code::unavailable, "nft is not there (package nftables)");
    // Really makes one: listing needs fewer rights, and a kernel may lack what the rules use.
    const std::string bridge = "check";
    auto made = run_tool({*nft, "-f", "-"},
                         guard_script(domain::Network::restricted_egress, bridge, {{"192.0.2.1", 1}}), kToolTime);
    if (!made) return fail(std::move(made.error()));
    remove_guard(bridge);
    return {};
}

void remove_guard(const std::string& bridge) {
    if (auto nft = find_tool("nft"))
        (void)run_tool({*nft, "-f", "-"}, fmt::format("table inet {0}\ndelete table inet {0}\n", table_of(bridge)),
                       kToolTime);
}

Task<Result<void>> NetworkGuard::guard(domain::Network network, std::string bridge, std::string gateway,
                                       std::vector<std::string> restricted_allow) {
    if (!is_interface_name(bridge))
        co_return fail(Code::unavailable, "the network is no bridge of this host and can't be guarded");
    auto work = [network, bridge, gateway, allow = std::move(restricted_allow)]() -> Result<void> {
        auto allowed = resolve_allowed(allow, gateway);
        if (!allowed) return fail(std::move(allowed.error()));
        auto nft = find_tool("nft");
        if (!nft) return fail(Code::unavailable, "nft is not there (package nftables)");
        auto made = run_tool({*nft, "-f", "-"}, guard_script(network, bridge, *allowed), kToolTime);
        if (!made) return fail(std::move(made.error()));
        remove_stale_guards(*nft);
        return {};
    };
    auto guarded = co_await async::offload(pool_, std::move(work));
    if (!guarded) co_return fail(std::move(guarded.error()).in("guard the network"));
    co_return guarded;
}

}  // namespace sandbox::runtime::docker
