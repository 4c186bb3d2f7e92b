#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::domain {

/// An enum's spellings on the wire, in the order of the values.
template <class E, std::size_t N>
using Names = std::array<std::pair<std::string_view, E>, N>;

/// The most of any one quantity that is believed, of a sandbox or a node: in bytes (of MiB) and in billionths of a core
/// (of thousandths) it still fits 64 bits, and so does the sum over a large fleet.
inline constexpr std::int64_t kMostOfAResource = 4'294'967'295;

/// What a sandbox takes from a node, or a node has. Thousandths of a core, MiB, MiB, processes.
struct Resources {
    std::int64_t cpu_millis = 1000;
    std::int64_t memory_mib = 1024;
    std::int64_t disk_mib = 10240;
    std::int64_t pids = 256;

    bool operator==(const Resources&) const = default;
    Resources& operator+=(const Resources& other);
    Resources& operator-=(const Resources& other);
};
[[nodiscard]] Resources operator+(Resources left, const Resources& right);
[[nodiscard]] Resources operator-(Resources left, const Resources& right);
/// Each quantity's smaller value.
[[nodiscard]] Resources least(const Resources& left, const Resources& right);

enum class Network { deny, restricted_egress, open_egress };
inline constexpr Names<Network, 3> kNetworkNames{{{"deny", Network::deny},
                                                  {"restricted_egress", Network::restricted_egress},
                                                  {"open_egress", Network::open_egress}}};

/// What the caller would like; AEGIS may strengthen it, never weaken it.
enum class IsolationPreference { automatic, container, microvm };
inline constexpr Names<IsolationPreference, 3> kIsolationPreferenceNames{{{"auto", IsolationPreference::automatic},
                                                                          {"container", IsolationPreference::container},
                                                                          {"microvm", IsolationPreference::microvm}}};

/// How a sandbox is really isolated.
enum class Tier { container, microvm };
inline constexpr Names<Tier, 2> kTierNames{{{"container", Tier::container}, {"microvm", Tier::microvm}}};

enum class Sensitivity { public_data, internal, confidential, restricted };
inline constexpr Names<Sensitivity, 4> kSensitivityNames{{{"public", Sensitivity::public_data},
                                                          {"internal", Sensitivity::internal},
                                                          {"confidential", Sensitivity::confidential},
                                                          {"restricted", Sensitivity::restricted}}};

enum class Protocol { http, tcp };
inline constexpr Names<Protocol, 2> kProtocolNames{{{"http", Protocol::http}, {"tcp", Protocol::tcp}}};

/// The spelling of an enum value, from its table.
template <class E, std::size_t N>
[[nodiscard]] constexpr std::string_view name_in(const Names<E, N>& names, E value) {
    for (const auto& [name, candidate] : names)
        if (candidate == value) return name;
    return "unknown";
}
[[nodiscard]] inline std::string_view to_text(Network value) {
    return name_in(kNetworkNames, value);
}
[[nodiscard]] inline std::string_view to_text(IsolationPreference value) {
    return name_in(kIsolationPreferenceNames, value);
}
[[nodiscard]] inline std::string_view to_text(Tier value) {
    return name_in(kTierNames, value);
}
[[nodiscard]] inline std::string_view to_text(Sensitivity value) {
    return name_in(kSensitivityNames, value);
}
[[nodiscard]] inline std::string_view to_text(Protocol value) {
    return name_in(kProtocolNames, value);
}

/// What is known of the workload's risk; each raises the AEGIS score.
struct Signals {
    bool untrusted_repository = false;
    bool executes_generated_code = false;
    bool needs_secrets = false;
    bool host_mounts = false;
    bool privileged = false;  // always refused

    bool operator==(const Signals&) const = default;
};

struct Placement {
    std::map<std::string, std::string> required_labels;
    std::optional<std::string> preferred_region;
    std::vector<std::string> anti_affinity_keys;

    bool operator==(const Placement&) const = default;
};

/// A port to publish on a hostname.
struct Exposure {
    std::int64_t container_port = 0;
    Protocol protocol = Protocol::http;
    std::optional<std::string> subdomain;
    bool authenticated = false;

    bool operator==(const Exposure&) const = default;
};

/// What a caller asks for: the input of create.
struct SandboxSpec {
    std::string tenant;
    std::string image;
    std::vector<std::string> command;
    std::map<std::string, std::string> env;
    Resources resources;
    Network network = Network::deny;
    IsolationPreference isolation = IsolationPreference::automatic;
    Sensitivity sensitivity = Sensitivity::internal;
    Signals signals;
    std::int64_t ttl_seconds = 3600;
    std::map<std::string, std::string> labels;
    Placement placement;
    std::vector<Exposure> exposures;
    std::optional<std::string> agent;

    bool operator==(const SandboxSpec&) const = default;
};

/// One command to run in a sandbox.
struct Command {
    std::vector<std::string> argv;
    std::optional<std::string> cwd;
    std::map<std::string, std::string> env;
    std::int64_t timeout_seconds = 300;
    /// The bytes of standard input, decoded. On the wire either stdin (text) or stdin_base64.
    std::optional<std::string> stdin_bytes;

    bool operator==(const Command&) const = default;
};

// Wire form. read_… notes everything that is wrong, types and ranges both, in `problems` and returns what it could
// read.
void to_json(nlohmann::json& json, const Resources& value);
void to_json(nlohmann::json& json, const Exposure& value);
void to_json(nlohmann::json& json, const SandboxSpec& value);
void to_json(nlohmann::json& json, const Command& value);
[[nodiscard]] Resources read_resources(const nlohmann::json& json, const std::string& path, Problems& problems,
                                       UnknownFields unknown);
[[nodiscard]] Exposure read_exposure(const nlohmann::json& json, const std::string& path, Problems& problems,
                                     UnknownFields unknown);
[[nodiscard]] SandboxSpec read_spec(const nlohmann::json& json, const std::string& path, Problems& problems,
                                    UnknownFields unknown);
[[nodiscard]] Command read_command(const nlohmann::json& json, const std::string& path, Problems& problems,
                                   UnknownFields unknown);

}  // namespace sandbox::domain
