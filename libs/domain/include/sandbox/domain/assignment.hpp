#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include <sandbox/base/time.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>

namespace sandbox::domain {

struct CreateWork {
    SandboxSpec spec;
    Tier isolation = Tier::container;
    std::vector<Tunnel> tunnels;
};
struct ExecWork {
    Command command;
};
struct ExposeWork {
    Tunnel tunnel;
};
struct UnexposeWork {
    Tunnel tunnel;
};
struct DeleteWork {};
using Work = std::variant<CreateWork, ExecWork, ExposeWork, UnexposeWork, DeleteWork>;

[[nodiscard]] OperationKind kind_of(const Work& work) noexcept;

enum class AssignmentState { pending, leased, completed, failed };
inline constexpr Names<AssignmentState, 4> kAssignmentStateNames{{{"pending", AssignmentState::pending},
                                                                  {"leased", AssignmentState::leased},
                                                                  {"completed", AssignmentState::completed},
                                                                  {"failed", AssignmentState::failed}}};
[[nodiscard]] inline std::string_view to_text(AssignmentState value) {
    return name_in(kAssignmentStateNames, value);
}

/// One piece of work for one node.
struct Assignment {
    AssignmentId id;
    OperationId operation_id;
    SandboxId sandbox_id;
    NodeId node_id;
    Work kind;
    AssignmentState state = AssignmentState::pending;
    /// The fencing token: 0 before the first lease, one more with each.
    std::int64_t attempt = 0;
    std::optional<Timestamp> lease_until;
    Timestamp created_at;
};

/// A worker's report of one assignment.
struct Completion {
    AssignmentId assignment_id;
    OperationId operation_id;
    SandboxId sandbox_id;
    bool success = false;
    SandboxState sandbox_state = SandboxState::running;
    std::optional<Output> output;
    std::optional<std::string> error;
    std::optional<std::int64_t> attempt;  // absent from an older worker
    std::optional<Startup> startup;       // of a create with a start-up command
};

void to_json(nlohmann::json& json, const Assignment& value);
void to_json(nlohmann::json& json, const Completion& value);
// From peers of any version: unknown fields are ignored.
[[nodiscard]] Assignment read_assignment(const nlohmann::json& json, const std::string& path, Problems& problems);
[[nodiscard]] Completion read_completion(const nlohmann::json& json, const std::string& path, Problems& problems);

}  // namespace sandbox::domain
