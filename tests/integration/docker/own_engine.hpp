#pragma once

#include <chrono>
#include <memory>
#include <signal.h>
#include <string>
#include <sys/mount.h>
#include <utility>
#include <vector>

#include "support/process.hpp"

namespace sandbox::test {

/// A dockerd in a directory of its own, without a network. Its containers live on while it is away (--live-restore).
class OwnEngine {
public:
    /// `arguments` are added to the daemon's.
    explicit OwnEngine(std::vector<std::string> arguments = {}) : arguments_(std::move(arguments)) {}
    OwnEngine(const OwnEngine&) = delete;
    OwnEngine& operator=(const OwnEngine&) = delete;
    ~OwnEngine() {
        process_.reset();
        // With --live-restore it leaves its data directory mounted on itself.
        (void)::umount2((directory_.path() + "/data").c_str(), MNT_DETACH);
    }
    void start() {
        Start start;
        start.argv = {"/usr/sbin/dockerd",
                      "--host=" + address(),
                      "--data-root=" + directory_.path() + "/data",
                      "--exec-root=" + directory_.path() + "/exec",
                      "--pidfile=" + directory_.path() + "/pid",
                      "--bridge=none",
                      "--iptables=false",
                      "--ip-forward=false",
                      "--live-restore"};
        start.argv.insert(start.argv.end(), arguments_.begin(), arguments_.end());
        process_ = std::make_unique<Process>(start);
    }
    void stop() {
        process_->signal(SIGTERM);
        process_->wait(std::chrono::seconds(30));
    }
    [[nodiscard]] std::string log() const { return process_->err(); }
    [[nodiscard]] std::string address() const { return "unix://" + directory_.path() + "/socket"; }

private:
    std::vector<std::string> arguments_;
    TemporaryDirectory directory_;
    std::unique_ptr<Process> process_;
};

/// Made before the fixture that talks to it.
struct EngineFirst {
    OwnEngine own_engine;
};

}  // namespace sandbox::test
