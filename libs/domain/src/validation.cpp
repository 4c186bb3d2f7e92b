#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/text.hpp>
#include <sandbox/domain/validation.hpp>

#include "resources.hpp"

namespace sandbox::domain {

namespace {

/// The kernel's MAX_ARG_STRLEN less the NUL at the end: of one argument, and of one KEY=VALUE.
constexpr std::size_t kLongestArgument = 131'071;
constexpr std::size_t kMostExposures = 32;
constexpr std::size_t kLongestTenant = 128;

std::string join(std::string_view path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
}

bool is_blank(std::string_view text) {
    return text.find_first_not_of(" \t\r\n\v\f") == std::string_view::npos;
}

bool has_nul(std::string_view text) {
    return text.find('\0') != std::string_view::npos;
}

/// UTF-8 characters: every byte that does not continue one.
std::size_t characters(std::string_view text) {
    return static_cast<std::size_t>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

/// A field that could not be read holds a default; what the reader said of it is enough.
bool is_noted(const Problems& problems, std::string_view path) {
    return std::ranges::any_of(problems.items(), [&](const std::string& item) {
        return item.starts_with(path) && item.substr(path.size()).starts_with(": ");
    });
}

void note(Problems& problems, const std::string& path, std::string_view what) {
    if (!is_noted(problems, path)) problems.add(path, what);
}

void check_range(std::int64_t value, std::int64_t min, std::int64_t max, const std::string& path, Problems& problems) {
    if (value < min || value > max) note(problems, path, fmt::format("must be from {} to {}", min, max));
}

void check_text(std::string_view text, const std::string& path, Problems& problems) {
    if (has_nul(text)) note(problems, path, "must not hold a NUL character");
}

void check_argv(const std::vector<std::string>& argv, const std::string& path, Problems& problems) {
    if (!argv.empty() && is_blank(argv.front())) note(problems, path + "[0]", "must name a program, not be blank");
    for (std::size_t i = 0; i < argv.size(); ++i) {
        const auto element = fmt::format("{}[{}]", path, i);
        check_text(argv[i], element, problems);
        if (argv[i].size() > kLongestArgument)
            note(problems, element,
                 fmt::format("has {} bytes; the kernel takes at most {} in one argument", argv[i].size(),
                             kLongestArgument));
    }
}

/// Never repeats a value: it may be a secret.
void check_env(const std::map<std::string, std::string>& env, const std::string& path, Problems& problems) {
    for (const auto& [name, value] : env) {
        // A name that is none may be anything: written as JSON text, as the reader writes it.
        const auto entry = is_env_name(name) ? join(path, shortened(name, 64))
                                             : fmt::format("{}[{}]", path, dump_json(shortened(name, 64)));
        if (!is_env_name(name)) {
            problems.add(entry, "is no name for a variable: letters, digits and _, not beginning with a digit");
            continue;
        }
        if (has_nul(value)) problems.add(entry, "must not hold a NUL character");
        const auto bytes = name.size() + 1 + value.size();
        if (bytes > kLongestArgument)
            problems.add(entry, fmt::format("has {} bytes as NAME=VALUE; the kernel takes at most {} in one variable",
                                            bytes, kLongestArgument));
    }
}

void check_map(const std::map<std::string, std::string>& map, const std::string& path, Problems& problems) {
    for (const auto& [key, value] : map)
        if (has_nul(key) || has_nul(value)) note(problems, path, "must not hold a NUL character");
}

void check_resources(const Resources& resources, const std::string& path, Problems& problems) {
    check_range(resources.cpu_millis, kFloors.cpu_millis, kMostOfAResource, join(path, "cpu_millis"), problems);
    check_range(resources.memory_mib, kFloors.memory_mib, kMostOfAResource, join(path, "memory_mib"), problems);
    check_range(resources.disk_mib, kFloors.disk_mib, kMostOfAResource, join(path, "disk_mib"), problems);
    check_range(resources.pids, kFloors.pids, kMostOfAResource, join(path, "pids"), problems);
}

void check_exposures(const SandboxSpec& spec, const std::string& path, const SpecLimits& limits, Problems& problems) {
    if (spec.exposures.empty()) return;
    const auto most =
        std::min(kMostExposures, static_cast<std::size_t>(std::max<std::int64_t>(limits.max_exposures, 0)));
    if (spec.exposures.size() > most) {
        note(problems, path, fmt::format("has {} entries; at most {} are allowed", spec.exposures.size(), most));
        return;
    }
    validate_exposable(spec.sensitivity, path, problems);
    std::set<std::int64_t> ports;
    std::set<std::string> subdomains;
    for (std::size_t i = 0; i < spec.exposures.size(); ++i) {
        const auto& exposure = spec.exposures[i];
        const auto element = fmt::format("{}[{}]", path, i);
        validate(exposure, element, problems);
        if (!ports.insert(exposure.container_port).second)
            note(problems, join(element, "container_port"), "is in the list twice; one tunnel per port");
        if (exposure.subdomain && !subdomains.insert(*exposure.subdomain).second)
            note(problems, join(element, "subdomain"), "is in the list twice");
    }
}

}  // namespace

bool is_env_name(std::string_view text) noexcept {
    const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    return !text.empty() && is_letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

bool is_dns_label(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
           std::ranges::all_of(text,
                               [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; });
}

bool is_reserved_label(std::string_view text) noexcept {
    constexpr std::array<std::string_view, 3> kReserved{"relay", "api", "www"};
    if (std::ranges::find(kReserved, text) != kReserved.end()) return true;
    if (!text.starts_with("s-") || text.size() < 37 || text.substr(34, 2) != "-p") return false;
    return text.substr(2, 32).find_first_not_of("0123456789abcdef") == std::string_view::npos &&
           text.substr(36).find_first_not_of("0123456789") == std::string_view::npos;
}

void validate(const Exposure& exposure, const std::string& path, Problems& problems) {
    check_range(exposure.container_port, 1, 65535, join(path, "container_port"), problems);
    if (exposure.protocol == Protocol::tcp)
        note(problems, join(path, "protocol"), "tcp is not offered; tunnels carry http, WebSocket included");
    if (exposure.authenticated)
        note(problems, join(path, "authenticated"),
             "there is no visitor login: tunnels are public, so leave it false and let the service itself ask for one");
    if (!exposure.subdomain) return;
    if (!is_dns_label(*exposure.subdomain))
        note(problems, join(path, "subdomain"), "must be 1 to 63 of a-z, 0-9 and -, without a hyphen at either end");
    else if (is_reserved_label(*exposure.subdomain))
        note(problems, join(path, "subdomain"), "is reserved; choose another");
}

void validate_exposable(Sensitivity sensitivity, const std::string& path, Problems& problems) {
    if (sensitivity == Sensitivity::confidential || sensitivity == Sensitivity::restricted)
        note(problems, path,
             fmt::format("a {} sandbox can't be exposed: tunnels are public and have no visitor login",
                         to_text(sensitivity)));
}

void validate(const SandboxSpec& spec, const std::string& path, const SpecLimits& limits, Problems& problems) {
    const auto at = [&](std::string_view name) { return join(path, name); };

    check_text(spec.tenant, at("tenant"), problems);
    if (is_blank(spec.tenant)) note(problems, at("tenant"), "must not be blank");
    if (characters(spec.tenant) > kLongestTenant)
        note(problems, at("tenant"), fmt::format("must have at most {} characters", kLongestTenant));
    if (!is_image_reference(spec.image))
        note(problems, at("image"),
             "must be an image reference such as python:3.13 or registry.example.com/team/app:1");

    check_argv(spec.command, at("command"), problems);
    check_env(spec.env, at("env"), problems);
    check_resources(spec.resources, at("resources"), problems);
    if (spec.signals.privileged) note(problems, at("signals.privileged"), "privileged sandboxes are never allowed");

    check_range(spec.ttl_seconds, kLeastTtlSeconds, kMostTtlSeconds, at("ttl_seconds"), problems);
    if (spec.ttl_seconds > limits.max_ttl_seconds)
        note(problems, at("ttl_seconds"),
             fmt::format("is {}; this deployment allows at most {} (policy.max_ttl_seconds)", spec.ttl_seconds,
                         limits.max_ttl_seconds));

    check_map(spec.labels, at("labels"), problems);
    check_map(spec.placement.required_labels, at("placement.required_labels"), problems);
    if (spec.placement.preferred_region)
        check_text(*spec.placement.preferred_region, at("placement.preferred_region"), problems);
    for (const auto& key : spec.placement.anti_affinity_keys)
        check_text(key, at("placement.anti_affinity_keys"), problems);
    if (spec.agent) check_text(*spec.agent, at("agent"), problems);
    check_exposures(spec, at("exposures"), limits, problems);
}

void validate(const Command& command, const std::string& path, Problems& problems) {
    const auto argv = join(path, "argv");
    if (command.argv.empty()) note(problems, argv, "must hold at least the program to run");
    check_argv(command.argv, argv, problems);
    check_env(command.env, join(path, "env"), problems);
    if (command.cwd) check_text(*command.cwd, join(path, "cwd"), problems);
    check_range(command.timeout_seconds, 1, kMostTimeoutSeconds, join(path, "timeout_seconds"), problems);
}

}  // namespace sandbox::domain
