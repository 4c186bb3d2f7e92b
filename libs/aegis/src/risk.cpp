#include <algorithm>

#include <sandbox/aegis/aegis.hpp>

namespace sandbox::aegis {

namespace {

int points(domain::Sensitivity sensitivity) {
    switch (sensitivity) {
        case domain::Sensitivity::public_data:
            return 0;
        case domain::Sensitivity::internal:
            return 10;
        case domain::Sensitivity::confidential:
            return 25;
        case domain::Sensitivity::restricted:
            return 45;
    }
    return 0;
}

int points(domain::Network network) {
    switch (network) {
        case domain::Network::deny:
            return 0;
        case domain::Network::restricted_egress:
            return 10;
        case domain::Network::open_egress:
            return 25;
    }
    return 0;
}

}  // namespace

int risk_score(const domain::SandboxSpec& spec) {
    constexpr std::int64_t kLongLife = 86'400;
    int risk = points(spec.sensitivity) + points(spec.network);
    if (spec.signals.untrusted_repository) risk += 20;
    if (spec.signals.executes_generated_code) risk += 20;
    if (spec.signals.needs_secrets) risk += 15;
    if (spec.signals.host_mounts) risk += 25;
    if (spec.signals.privileged) risk += 100;
    if (!spec.exposures.empty()) risk += 15;
    if (spec.ttl_seconds > kLongLife) risk += 10;
    return std::min(risk, 100);
}

domain::Tier required_tier(int risk, domain::IsolationPreference preference, const Policy& policy) {
    const bool wants_microvm = preference == domain::IsolationPreference::microvm;
    return risk >= policy.microvm_risk_threshold || wants_microvm ? domain::Tier::microvm : domain::Tier::container;
}

}  // namespace sandbox::aegis
