#include <spdlog/fmt/fmt.h>

#include "checks.hpp"

namespace sandbox::config {

// Ranges and forms of single keys are in the list of keys; here is what they must keep together.
Result<void> check_tunnels(const Config& config) {
    const auto& tunnel = config.tunnel;
    if (tunnel.base_domain.empty())
        return fail(Code::invalid_argument, "tunnel.base_domain is not set: tunnel.enabled = true needs it");
    for (const auto& host : tunnel.api_hosts) {
        if (!host.ends_with("." + tunnel.base_domain))
            return fail(Code::invalid_argument, fmt::format("tunnel.api_hosts: {} is not below tunnel.base_domain {}",
                                                            host, tunnel.base_domain));
    }
    return {};
}

}  // namespace sandbox::config
