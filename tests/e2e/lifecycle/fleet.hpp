#pragma once

#include "fixture.hpp"

namespace sandbox::test {

/// A worker as a process of its own, on a state directory that outlives it. What its node still holds when this goes is
/// removed.
class WorkerProcess {
public:
    /// `variables` are those that are not the same for every worker.
    explicit WorkerProcess(const std::string& controller_url, Variables variables = {});
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    void start();
    /// start(), and the node's id once it has registered; throws when that takes longer.
    std::string start_registered(std::chrono::seconds limit = 30s);
    /// SIGKILL.
    void kill();
    [[nodiscard]] std::string log() const { return process_->err(); }
    [[nodiscard]] std::string state() const { return directory_.path() + "/state"; }

private:
    TemporaryDirectory directory_;
    Variables variables_;
    std::unique_ptr<Process> process_;
};

/// What has a program take it for an hour later than it is. Throws where faketime is not installed.
[[nodiscard]] Variables an_hour_ahead();

/// A controller and a worker as processes of their own. The controller asks for no API token, so that the tests' calls
/// are short.
class Fleet {
public:
    explicit Fleet(Variables of_worker = {})
        : controller_({.variables = {{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                                     {"SANDBOX__SERVER__HEARTBEAT_INTERVAL_SECONDS", "2"},
                                     {"SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "101"}},
                       .arguments = {"--role", "controller"},
                       .wait_for_node = false}),
          worker_(controller_.url(), std::move(of_worker)) {}

    [[nodiscard]] Api api() const { return Api(controller_.address()); }
    [[nodiscard]] std::string url() const { return controller_.url(); }

    void start_worker() { worker_.start_registered(); }
    void kill_worker() { worker_.kill(); }

private:
    Daemon controller_;
    WorkerProcess worker_;
};

}  // namespace sandbox::test
