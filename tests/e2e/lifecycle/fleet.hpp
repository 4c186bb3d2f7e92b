#pragma once

#include <signal.h>
#include <stdexcept>

#include "fixture.hpp"

namespace sandbox::test {

/// A worker as a process of its own, on a state directory that outlives it.
class WorkerProcess {
public:
    explicit WorkerProcess(std::string controller_url) : controller_url_(std::move(controller_url)) {}
    ~WorkerProcess() {
        process_.reset();
        remove_what_node_holds(state_.path() + "/state");
    }
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// Registered when this returns.
    void start(const std::map<std::string, std::optional<std::string>>& more = {}) {
        Start start;
        start.argv = {program("sandboxd"), "--role", "worker"};
        start.ends_with_thread = true;
        start.environment = {{"SANDBOX__NODE__CONTROL_PLANE_URL", controller_url_},
                             {"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                             {"SANDBOX__SERVER__BIND", "127.0.0.1:0"},
                             {"SANDBOX__NODE__STATE_DIR", state_.path() + "/state"}};
        for (const auto& [name, value] : more) start.environment[name] = value;
        process_ = std::make_unique<Process>(start);
        if (!eventually(30s,
                        [&] { return process_->err().find("registered with the controller") != std::string::npos; }))
            throw std::runtime_error("the worker did not register: " + process_->err());
    }
    void kill() {
        process_->signal(SIGKILL);
        process_->wait(10s);
    }

private:
    std::string controller_url_;
    TemporaryDirectory state_;
    std::unique_ptr<Process> process_;
};

/// What has a program take it for an hour later than it is. Throws where faketime is not installed.
[[nodiscard]] std::map<std::string, std::optional<std::string>> an_hour_ahead();

/// A controller and a worker as processes of their own. The controller asks for no API token, so that the tests' calls
/// are short.
class Fleet {
public:
    Fleet()
        : controller_({.variables = {{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                                     {"SANDBOX__SERVER__HEARTBEAT_INTERVAL_SECONDS", "2"},
                                     {"SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "101"}},
                       .arguments = {"--role", "controller"},
                       .wait_for_node = false}),
          worker_(controller_.url()) {}

    [[nodiscard]] Api api() const { return Api(controller_.address()); }

    void start_worker(const std::map<std::string, std::optional<std::string>>& more = {}) { worker_.start(more); }
    void kill_worker() { worker_.kill(); }

private:
    Daemon controller_;
    WorkerProcess worker_;
};

}  // namespace sandbox::test
