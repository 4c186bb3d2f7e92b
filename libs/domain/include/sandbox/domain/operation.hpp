#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

enum class OperationState { pending, running, succeeded, failed };
inline constexpr Names<OperationState, 4> kOperationStateNames{{{"pending", OperationState::pending},
                                                                {"running", OperationState::running},
                                                                {"succeeded", OperationState::succeeded},
                                                                {"failed", OperationState::failed}}};
[[nodiscard]] inline std::string_view to_text(OperationState value) {
    return name_in(kOperationStateNames, value);
}
[[nodiscard]] inline bool has_ended(OperationState value) noexcept {
    return value == OperationState::succeeded || value == OperationState::failed;
}

enum class OperationKind { create, exec, expose, unexpose, destroy };
inline constexpr Names<OperationKind, 5> kOperationKindNames{{{"create", OperationKind::create},
                                                              {"exec", OperationKind::exec},
                                                              {"expose", OperationKind::expose},
                                                              {"unexpose", OperationKind::unexpose},
                                                              {"delete", OperationKind::destroy}}};
[[nodiscard]] inline std::string_view to_text(OperationKind value) {
    return name_in(kOperationKindNames, value);
}

/// What an exec left. docs/api.md says what each means.
struct Output {
    std::int64_t exit_code = 0;
    std::string stdout_text;  // "stdout" on the wire: UTF-8, ill-formed bytes replaced
    std::string stderr_text;
    bool truncated = false;
    bool timed_out = false;
    std::optional<std::int64_t> signal;
    bool oom_killed = false;
    std::int64_t stdout_bytes = 0;  // true totals, whatever was kept
    std::int64_t stderr_bytes = 0;
    std::int64_t duration_ms = 0;
    /// The exact kept bytes, base64, when they are not UTF-8.
    std::optional<std::string> stdout_base64;
    std::optional<std::string> stderr_base64;

    bool operator==(const Output&) const = default;
};

struct Operation {
    OperationId id;
    SandboxId sandbox_id;
    OperationKind kind = OperationKind::create;
    OperationState state = OperationState::pending;
    std::optional<Output> output;
    std::optional<std::string> error;
    Timestamp created_at;
    Timestamp updated_at;
    std::optional<Timestamp> started_at;
    std::optional<std::vector<std::string>> argv;  // of an exec
    /// queued, pulling image, creating, starting, running; null when ended.
    std::optional<std::string> phase;
};

void to_json(nlohmann::json& json, const Output& value);
void to_json(nlohmann::json& json, const Operation& value);
[[nodiscard]] Output read_output(const nlohmann::json& json, const std::string& path, Problems& problems);
/// Fields that an older controller lacks (kind, phase, …) get their defaults.
[[nodiscard]] Operation read_operation(const nlohmann::json& json, const std::string& path, Problems& problems);

}  // namespace sandbox::domain
