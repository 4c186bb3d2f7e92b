#include "workers.hpp"

#include <csignal>
#include <stdexcept>

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

WorkerProcess::WorkerProcess(const Controller& controller, std::string name, Variables variables)
    : name_(std::move(name)), variables_(std::move(variables)) {
    variables_["SANDBOX__NODE__CONTROL_PLANE_URL"] = controller.url();
    variables_["SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV"] = "true";
    variables_["SANDBOX__SERVER__BIND"] = "127.0.0.1:0";
    variables_["SANDBOX__NODE__STATE_DIR"] = state();
    variables_["SANDBOX__NODE__NAME"] = name_;
}

void WorkerProcess::start() {
    process_ = std::make_unique<Process>(Start{.argv = {program("sandboxd"), "--role", "worker"},
                                               .environment = variables_,
                                               .input = {},
                                               .working_directory = {},
                                               .ends_with_thread = true});
}

std::string WorkerProcess::start_registered() {
    start();
    constexpr const char* kRegistered = "registered with the controller";
    if (!eventually(60s, [&] { return log().find(kRegistered) != std::string::npos; }))
        throw std::runtime_error("the worker did not register: " + log());
    const auto text = log();
    const auto line = text.substr(text.find(kRegistered));
    const auto at = line.find("node_id");
    constexpr std::size_t kIdLength = 36;
    return line.substr(line.find("01", at), kIdLength);
}

void WorkerProcess::kill() {
    process_->signal(SIGKILL);
    process_->wait(10s);
}

Variables with_driver(const std::string& path) {
    return {{"SANDBOX__NODE__RUNTIME", "external"}, {"SANDBOX__NODE__EXTERNAL_DRIVER", path}};
}

}  // namespace sandbox::test
