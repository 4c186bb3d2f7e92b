#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>

#include "external/driver_log.hpp"

namespace sandbox::runtime::external {

/// How the driver is run on this host; the same for every run.
struct DriverProgram {
    std::string path;
    std::string launcher;                  // the sandbox-driver-run program
    std::vector<std::string> environment;  // "NAME=value"
    std::chrono::milliseconds kill_grace{2000};
};

/// What one run is asked.
struct DriverOrder {
    std::string action;
    std::string request;  // its standard input
    std::size_t answer_limit = 0;
    std::chrono::milliseconds limit{0};
    Mask mask;
    DriverLog::LineSink log;
};

/// What one run left, before anything of it is believed.
struct DriverRun {
    enum class End {
        exited,         // by itself, with `status`
        killed,         // by somebody else, with signal `status`
        past_limit,     // killed, since it took too long
        stopped,        // killed, since stop() was called
        wrote_too_much  // killed, since it wrote more than its limit
    };
    End end = End::exited;
    int status = 0;
    std::string answer;  // its standard output
    std::string words;   // the end of its standard error, masked
};

/// One run of the driver, through the launcher, which sees to it that nothing of it stays. Made as a shared pointer;
/// run() is awaited once, by a task that is not cancelled. Io thread.
class DriverProcess : public std::enable_shared_from_this<DriverProcess> {
public:
    DriverProcess(asio::any_io_executor executor, const DriverProgram& program, DriverOrder order);
    ~DriverProcess();

    /// Errors: unavailable when the driver could not be started at all.
    Task<Result<DriverRun>> run();
    /// SIGTERM now and SIGKILL after the grace time, for everything below; run() then returns soon. Again: no harm.
    void stop();
    /// SIGKILL now.
    void kill();

private:
    struct Parts;

    Result<void> start();
    void end_as(DriverRun::End end);
    Task<void> feed();
    Task<void> read_answer();
    Task<void> read_log();
    Task<void> watch();

    asio::any_io_executor executor_;
    const DriverProgram& program_;
    DriverOrder order_;
    DriverLog log_;
    DriverRun result_;
    bool stopping_ = false;
    bool ended_ = false;
    int reading_ = 0;
    std::unique_ptr<Parts> parts_;
    async::Signal changed_;
};

}  // namespace sandbox::runtime::external
