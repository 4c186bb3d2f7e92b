#pragma once

#include <signal.h>
#include <stdexcept>

#include "fixture.hpp"

namespace sandbox::test {

/// A controller and a worker as processes of their own. The controller asks for no API token, so that the tests' calls
/// are short.
class Fleet {
public:
    Fleet()
        : controller_({.variables = {{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                                     {"SANDBOX__SERVER__HEARTBEAT_INTERVAL_SECONDS", "2"},
                                     {"SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "101"}},
                       .arguments = {"--role", "controller"},
                       .wait_for_node = false}) {}

    [[nodiscard]] Api api() const { return Api(controller_.address()); }

    void start_worker(const std::map<std::string, std::optional<std::string>>& more = {}) {
        Start start;
        start.argv = {program("sandboxd"), "--role", "worker"};
        start.environment = {{"SANDBOX__NODE__CONTROL_PLANE_URL", controller_.url()},
                             {"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                             {"SANDBOX__SERVER__BIND", "127.0.0.1:0"},
                             {"SANDBOX__NODE__STATE_DIR", state_.path() + "/state"}};
        for (const auto& [name, value] : more) start.environment[name] = value;
        worker_ = std::make_unique<Process>(start);
        if (!eventually(30s,
                        [&] { return worker_->err().find("registered with the controller") != std::string::npos; }))
            throw std::runtime_error("the worker did not register: " + worker_->err());
    }
    void kill_worker() {
        worker_->signal(SIGKILL);
        worker_->wait(10s);
    }

private:
    Daemon controller_;
    TemporaryDirectory state_;
    std::unique_ptr<Process> worker_;
};

}  // namespace sandbox::test
