#pragma once

#include <stdexcept>
#include <string>
#include <support/http_call.hpp>
#include <support/process.hpp>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace sandbox::test {

using nlohmann::json;

/// A controller alone, without tokens, for whom a worker that sends no heartbeats is not silent for a long time.
inline Daemon::Options controller_alone(Variables variables = {}) {
    variables.emplace("SANDBOX__SERVER__HEARTBEAT_TIMEOUT_SECONDS", "3600");
    variables.emplace("SANDBOX__SERVER__NODE_LOST_SECONDS", "7200");
    return {.variables = std::move(variables), .arguments = {"--dev", "--role", "controller"}, .wait_for_node = false};
}

/// The answer's JSON; throws for an answer that is no success.
inline json successful(const std::string& address, const std::string& method, const std::string& target,
                       const json& body = nullptr) {
    const auto reply = call(address, method, target, body.is_null() ? "" : body.dump());
    if (reply.status < 200 || reply.status > 299)
        throw std::runtime_error(method + " " + target + ": " + std::to_string(reply.status) + " " + reply.body);
    return reply.json();
}

/// A worker that does nothing and reports that it is done, when the test says so.
class PlayedWorker {
public:
    explicit PlayedWorker(std::string address, int number = 1) : address_(std::move(address)) {
        const auto text = std::to_string(100000000000 + number);
        id_ = "019f0000-0000-7000-8000-" + text;
        successful(address_, "POST", "/v1/nodes/register", {{"node", node()}});
    }

    [[nodiscard]] const std::string& id() const noexcept { return id_; }

    /// Takes what there is to do, and reports it as done.
    void work() const {
        for (const auto& assignment :
             successful(address_, "GET", "/v1/nodes/" + id_ + "/assignments?wait_seconds=10").at("assignments")) {
            const bool deletes = assignment.at("kind").at("kind") == "delete";
            successful(address_, "POST", "/v1/assignments/complete",
                       {{"assignment_id", assignment.at("id")},
                        {"operation_id", assignment.at("operation_id")},
                        {"sandbox_id", assignment.at("sandbox_id")},
                        {"attempt", assignment.at("attempt")},
                        {"success", true},
                        {"sandbox_state", deletes ? "stopped" : "running"},
                        {"output", nullptr},
                        {"error", nullptr}});
        }
    }

    /// Creates a sandbox and gives its id; nobody has done it yet.
    [[nodiscard]] std::string create(const std::string& tenant) const {
        const json spec{{"tenant", tenant},
                        {"image", "busybox:1"},
                        {"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 16}}}};
        return successful(address_, "POST", "/v1/sandboxes", {{"spec", spec}})["sandbox"]["id"].get<std::string>();
    }

private:
    [[nodiscard]] json node() const {
        const json much{{"cpu_millis", 1000000}, {"memory_mib", 1000000}, {"disk_mib", 1000000}, {"pids", 1000000}};
        return {{"id", id_},
                {"name", "played"},
                {"region", "local"},
                {"zone", "local-a"},
                {"capacity", {{"total", much}, {"available", much}, {"max_sandboxes", 100000}}},
                {"supported_tiers", {"container"}},
                {"last_seen", "2026-11-30T03:04:05Z"}};
    }

    std::string address_;
    std::string id_;
};

}  // namespace sandbox::test
