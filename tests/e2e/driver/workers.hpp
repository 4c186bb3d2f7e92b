#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "fixture.hpp"

namespace sandbox::test {

using Variables = std::map<std::string, std::optional<std::string>>;

/// A file of the project.
[[nodiscard]] std::string source(const std::string& path);

/// A controller that asks for no API token. Risk decides as it does by default.
class Controller {
public:
    /// Takes a silent worker for lost after that long.
    explicit Controller(int node_lost_seconds = 300);
    [[nodiscard]] Api api() const { return Api(daemon_.address()); }
    [[nodiscard]] std::string url() const { return daemon_.url(); }

private:
    Daemon daemon_;
};

/// A worker's process, with a state directory that outlives it.
class WorkerProcess {
public:
    WorkerProcess(const Controller& controller, std::string name, Variables variables);

    void start();
    /// start(), and the node's id once it has registered.
    std::string start_registered();
    /// SIGKILL.
    void kill();
    [[nodiscard]] std::string log() const { return process_->err(); }
    [[nodiscard]] std::string state() const { return directory_.path() + "/state"; }

private:
    TemporaryDirectory directory_;
    std::string name_;
    Variables variables_;
    std::unique_ptr<Process> process_;
};

/// What a worker needs to run with this driver.
[[nodiscard]] Variables with_driver(const std::string& path);

}  // namespace sandbox::test
