#include "workers.hpp"

namespace sandbox::test {

std::string source(const std::string& path) {
    return std::string(SANDBOX_SOURCE_DIR) + "/" + path;
}

Controller::Controller(int node_lost_seconds)
    : daemon_({.variables = {{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                             {"SANDBOX__SERVER__HEARTBEAT_INTERVAL_SECONDS", "1"},
                             {"SANDBOX__SERVER__HEARTBEAT_TIMEOUT_SECONDS", "6"},
                             {"SANDBOX__SERVER__NODE_LOST_SECONDS", std::to_string(node_lost_seconds)}},
               .arguments = {"--role", "controller"},
               .wait_for_node = false}) {}

Variables with_driver(const std::string& node_name, const std::string& path) {
    return {{"SANDBOX__NODE__NAME", node_name},
            {"SANDBOX__NODE__RUNTIME", "external"},
            {"SANDBOX__NODE__EXTERNAL_DRIVER", path}};
}

}  // namespace sandbox::test
