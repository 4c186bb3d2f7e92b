#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <sandbox/runtime/external.hpp>

#include "options.hpp"
#include "report.hpp"

namespace sandbox::driver_check {

/// All checks that are wanted, against one driver. Whatever ends it, what it made is deleted first: SIGTERM, SIGINT and
/// SIGHUP too, but for a second one that comes later than the first one's echo.
class Run {
public:
    explicit Run(const Options& options);
    /// The exit status.
    [[nodiscard]] int to_end();

private:
    [[nodiscard]] bool make_state_dir();
    void remove_state_dir();
    void await_signal();
    void take_signal(int number);
    [[noreturn]] void leave_at_once(int number);
    [[nodiscard]] std::unique_ptr<runtime::DriverRuntime> make_runtime();

    Task<void> all();
    Task<void> look();
    void take_failed_probe(const Error& error, std::chrono::milliseconds took);
    Task<void> clean_up();

    Options options_;
    Report report_;
    asio::io_context io_{1};
    asio::signal_set signals_;
    std::optional<int> signal_;       // the first
    Clock::time_point signalled_at_;  // when it came
    std::string launcher_;
    std::string made_dir_;  // the state directory, when it is this run's own
    bool all_deleted_ = true;
    std::unique_ptr<runtime::DriverRuntime> runtime_;
    std::unique_ptr<Kit> kit_;
};

}  // namespace sandbox::driver_check
