#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "external/driver_process.hpp"

/// What is said to a driver, and what it says: hostile text until it has been read here.
namespace sandbox::runtime::external {

inline constexpr std::string_view kProtocol = "sandbox.runtime.v1";
/// An answer's limit where it does not depend on an output's.
inline constexpr std::size_t kPlainAnswerLimit = 1024 * 1024;

/// For two streams in the worst JSON form.
[[nodiscard]] constexpr std::size_t exec_answer_limit(std::size_t max_output_bytes) {
    return 16 * max_output_bytes + 64 * 1024;
}

[[nodiscard]] std::string request_text(domain::SandboxId id, const nlohmann::json& payload);

/// The `result` of a run that went well (an object; of null, an empty one). Errors: unavailable, deadline_exceeded or
/// cancelled, with a sentence that says which of the ways to fail it was. Takes the answer's text.
[[nodiscard]] Result<nlohmann::json> result_of(DriverRun run, const DriverOrder& order);

struct ProbeAnswer {
    std::string name;
    std::string version;
    std::vector<domain::Tier> tiers;  // at least one, each once
    bool supports_http_tunnels = false;
    bool concurrent_exec = false;
};
[[nodiscard]] Result<ProbeAnswer> read_probe(const nlohmann::json& result);
[[nodiscard]] Result<std::vector<domain::SandboxId>> read_list(const nlohmann::json& result);
/// Output is cut to the limit as any command's; `took` stands where the driver gives no duration.
[[nodiscard]] Result<ExecResult> read_exec(const nlohmann::json& result, const domain::Command& command,
                                           std::size_t max_output_bytes, std::chrono::milliseconds took);

}  // namespace sandbox::runtime::external
