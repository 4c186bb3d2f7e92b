#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

// The contract's bounds, whatever a deployment allows.
inline constexpr std::int64_t kLeastTtlSeconds = 30;
inline constexpr std::int64_t kMostTtlSeconds = 604'800;
inline constexpr std::int64_t kMostTimeoutSeconds = 86'400;

/// The deployment's bounds on what may be asked for.
struct SpecLimits {
    std::int64_t max_ttl_seconds = 86400;  // policy.max_ttl_seconds
    std::int64_t max_exposures = 8;        // tunnel.max_per_sandbox, 1 to 32
};

/// Notes every rule of the specification that the spec breaks: blank tenant, white space in the image, bad environment
/// names, resources below their floor, a TTL out of range, privileged, exposures that are refused, …
void validate(const SandboxSpec& spec, const std::string& path, const SpecLimits& limits, Problems& problems);

/// The rules of one exposure by itself.
void validate(const Exposure& exposure, const std::string& path, Problems& problems);

/// A confidential or restricted sandbox may not be exposed, neither at its creation nor later.
void validate_exposable(Sensitivity sensitivity, const std::string& path, Problems& problems);

/// argv not empty and its first not blank, each argument and variable within the kernel's 131071 bytes, the time limit
/// in 1..86400, environment names.
void validate(const Command& command, const std::string& path, Problems& problems);

/// An OCI image reference: [host[:port]/]path[:tag][@digest], lowercase path, no white space.
[[nodiscard]] bool is_image_reference(std::string_view text) noexcept;

/// [A-Za-z_][A-Za-z0-9_]*
[[nodiscard]] bool is_env_name(std::string_view text) noexcept;

/// Labels that nobody may ask for: relay and its like, and the form of the names that we make ourselves,
/// s-<32 hexadecimal digits>-p<port>.
[[nodiscard]] bool is_reserved_label(std::string_view text) noexcept;

/// A DNS label as tunnels use it: 1 to 63 of a-z0-9-, no hyphen at either end.
[[nodiscard]] bool is_dns_label(std::string_view text) noexcept;

}  // namespace sandbox::domain
