#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "support/process.hpp"
#include "worker/worker.hpp"

namespace sandbox::test {

/// What was really done, on all nodes of a test, by the id of the operation or sandbox. Any thread.
class Runs {
public:
    using Moment = std::chrono::steady_clock::time_point;

    void began(const std::string& operation);
    void ended(const std::string& operation);
    void created(const std::string& sandbox);

    [[nodiscard]] int begun(const std::string& operation) const;
    [[nodiscard]] int under_way() const;
    [[nodiscard]] int creates(const std::string& sandbox) const;
    /// When it began; waits for that. Throws when it does not begin within a minute.
    [[nodiscard]] Moment beginning(const std::string& operation) const;
    [[nodiscard]] std::size_t operations() const;

private:
    mutable std::mutex mutex_;
    std::map<std::string, int> begun_;
    std::map<std::string, Moment> beginnings_;
    std::map<std::string, int> creates_;
    int under_way_ = 0;
};

/// A node without an engine: the real worker, on a thread of the test, over a runtime that counts what it is given.
/// A command ["work", "<ms>"] takes that long and ends with 0; an image "missing/…" can't be created.
class CountedNode {
public:
    struct Options {
        std::int64_t max_sandboxes = 0;
        std::map<std::string, std::string> labels;
    };
    /// Registered when this returns.
    CountedNode(const std::string& controller, Runs& runs, Options options);
    CountedNode(const std::string& controller, Runs& runs) : CountedNode(controller, runs, Options{}) {}
    ~CountedNode();
    CountedNode(const CountedNode&) = delete;
    CountedNode& operator=(const CountedNode&) = delete;

    [[nodiscard]] std::string id() const { return id_.text(); }

private:
    void run_on_thread(Task<void> task);
    void end_thread();

    TemporaryDirectory directory_;
    asio::io_context io_{1};
    async::SystemClock clock_;
    SystemRandom random_;
    domain::NodeId id_;
    std::unique_ptr<runtime::Runtime> runtime_;
    std::unique_ptr<client::WorkerClient> client_;
    std::unique_ptr<sandboxd::Worker> worker_;
    asio::executor_work_guard<asio::io_context::executor_type> work_{io_.get_executor()};
    std::thread thread_;
};

}  // namespace sandbox::test
