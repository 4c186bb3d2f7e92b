#include "external/driver_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

// With the standard library's paths, since Boost's want its compiled library. Then 1.81 forgets three headers.
#define BOOST_PROCESS_USE_STD_FS 1
// clang-format off
#include <boost/optional.hpp>
#include <boost/type_traits/decay.hpp>
#include <boost/type_traits/is_convertible.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/stdio.hpp>
// clang-format on

namespace sandbox::runtime::external {

namespace {

namespace process = boost::process::v2;
using namespace std::chrono_literals;

/// For output that is in the pipes when the driver has ended; what it left behind may hold them for ever.
constexpr auto kLastOutput = 200ms;
/// What the launcher may take to kill everything, before it is killed itself.
constexpr auto kLauncherTime = 8s;

/// The library's own initializer for this wants its compiled part.
struct Environment {
    std::vector<const char*> entries;
    explicit Environment(const std::vector<std::string>& variables) {
        for (const auto& variable : variables) entries.push_back(variable.c_str());
        entries.push_back(nullptr);
    }
    process::error_code on_setup(process::posix::default_launcher& launcher, const std::filesystem::path&,
                                 const char* const*) const {
        launcher.env = entries.data();
        return {};
    }
};

Result<void> check_program(const std::string& path) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0)
        return fail(Code::unavailable, fmt::format("the driver {} is not there ({})", path, std::strerror(errno)));
    if (!S_ISREG(status.st_mode) || ::access(path.c_str(), X_OK) != 0)
        return fail(Code::unavailable, fmt::format("the driver {} is not an executable file", path));
    return {};
}

}  // namespace

struct DriverProcess::Parts {
    explicit Parts(const asio::any_io_executor& executor)
        : in(executor), out(executor), err(executor), ended(executor) {}
    asio::writable_pipe in;
    asio::readable_pipe out;
    asio::readable_pipe err;
    pid_t launcher = -1;                   // until it has been reaped
    asio::posix::stream_descriptor ended;  // its pidfd

    void close() {
        boost::system::error_code ignored;
        in.close(ignored);
        out.close(ignored);
        err.close(ignored);
        ended.close(ignored);
    }
};

DriverProcess::DriverProcess(asio::any_io_executor executor, const DriverProgram& program, DriverOrder order)
    : executor_(std::move(executor)),
      program_(program),
      order_(std::move(order)),
      log_(order_.mask, order_.log),
      parts_(std::make_unique<Parts>(executor_)) {}

DriverProcess::~DriverProcess() {
    // Only when the io thread has ended before it: what is below the launcher dies with it.
    if (parts_->launcher > 0) ::kill(parts_->launcher, SIGKILL);
}

Result<void> DriverProcess::start() {
    if (auto there = check_program(program_.path); !there) return there;
    process::process_stdio stdio{parts_->in, parts_->out, parts_->err};
    if (!parts_->in.is_open() || !parts_->out.is_open() || !parts_->err.is_open())
        return fail(Code::unavailable, "no pipe for the driver: too many open files");
    if (::access(program_.launcher.c_str(), X_OK) != 0)
        return fail(Code::unavailable, fmt::format("there is no sandbox-driver-run program at {}", program_.launcher));
    const std::vector<std::string> arguments{std::to_string(::getpid()), std::to_string(program_.kill_grace.count()),
                                             program_.path, order_.action};
    boost::system::error_code error;
    auto launched = process::default_process_launcher()(executor_, error, std::filesystem::path(program_.launcher),
                                                        arguments, std::move(stdio), Environment(program_.environment));
    if (error) return fail(Code::unavailable, fmt::format("{} can't be run: {}", program_.launcher, error.message()));
    parts_->launcher = launched.id();
    // Its own waiting blocks the thread when the reactor wakes it for nothing, which happens: see watch().
    (void)launched.detach();
    const int pidfd = static_cast<int>(::syscall(SYS_pidfd_open, parts_->launcher, 0));
    if (pidfd < 0) return fail(Code::unavailable, fmt::format("watch the driver: {}", std::strerror(errno)));
    parts_->ended.assign(pidfd);
    return {};
}

Task<Result<DriverRun>> DriverProcess::run() {
    auto self = shared_from_this();
    if (stopping_) {
        result_.end = DriverRun::End::stopped;
        co_return std::move(result_);
    }
    if (auto started = start(); !started) co_return fail(std::move(started.error()));
    reading_ = 2;
    asio::co_spawn(executor_, feed(), asio::detached);
    asio::co_spawn(executor_, read_answer(), asio::detached);
    asio::co_spawn(executor_, read_log(), asio::detached);
    asio::co_spawn(executor_, watch(), asio::detached);

    const auto limit = in(order_.limit);
    while (!ended_ && !stopping_)
        if (!co_await changed_.wait(limit) && !ended_ && !stopping_) end_as(DriverRun::End::past_limit);
    const auto give_up = in(program_.kill_grace + kLauncherTime);
    while (!ended_)
        if (!co_await changed_.wait(give_up) && !ended_) {
            ::kill(parts_->launcher, SIGKILL);
            while (!ended_) co_await changed_.wait(Deadline::max());
        }
    const auto last_output = in(kLastOutput);
    while (reading_ > 0 && co_await changed_.wait(last_output)) continue;
    parts_->close();
    log_.finish();
    result_.words = log_.tail();
    co_return std::move(result_);
}

void DriverProcess::end_as(DriverRun::End end) {
    if (stopping_ || ended_) return;
    stopping_ = true;
    result_.end = end;
    if (parts_->launcher > 0) ::kill(parts_->launcher, SIGTERM);
    changed_.notify_all();
}

void DriverProcess::stop() {
    end_as(DriverRun::End::stopped);
}

void DriverProcess::kill() {
    end_as(DriverRun::End::stopped);
    if (parts_->launcher > 0) ::kill(parts_->launcher, SIGINT);
}

Task<void> DriverProcess::feed() {
    auto self = shared_from_this();
    boost::system::error_code error;  // a driver that does not read its input may well answer all the same
    co_await asio::async_write(parts_->in, asio::buffer(order_.request),
                               asio::redirect_error(asio::use_awaitable, error));
    parts_->in.close(error);
    order_.request = {};
}

Task<void> DriverProcess::read_answer() {
    auto self = shared_from_this();
    std::vector<char> buffer(64 * 1024);
    boost::system::error_code error;
    while (!error) {
        const auto count = co_await parts_->out.async_read_some(asio::buffer(buffer),
                                                                asio::redirect_error(asio::use_awaitable, error));
        if (result_.answer.size() + count > order_.answer_limit) {
            end_as(DriverRun::End::wrote_too_much);
            break;
        }
        result_.answer.append(buffer.data(), count);
    }
    --reading_;
    changed_.notify_all();
}

Task<void> DriverProcess::read_log() {
    auto self = shared_from_this();
    std::array<char, 4096> buffer{};
    boost::system::error_code error;
    while (!error) {
        const auto count = co_await parts_->err.async_read_some(asio::buffer(buffer),
                                                                asio::redirect_error(asio::use_awaitable, error));
        log_.append({buffer.data(), count});
    }
    --reading_;
    changed_.notify_all();
}

Task<void> DriverProcess::watch() {
    auto self = shared_from_this();
    int status = 0;
    // Not every wake-up is true: a descriptor that was closed while a fork held a copy of it (every driver's start is
    // one) stays in the epoll set for a moment, and its events then reach whoever has its place in the reactor.
    while (::waitpid(parts_->launcher, &status, WNOHANG) == 0) {
        boost::system::error_code error;
        co_await parts_->ended.async_wait(asio::posix::stream_descriptor::wait_read,
                                          asio::redirect_error(asio::use_awaitable, error));
        if (error) co_return;
    }
    parts_->launcher = -1;
    ended_ = true;
    // What stop() or the limit decided stays.
    if (!stopping_) {
        const bool by_signal = WIFSIGNALED(status);
        result_.end = by_signal ? DriverRun::End::killed : DriverRun::End::exited;
        result_.status = by_signal ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    changed_.notify_all();
}

}  // namespace sandbox::runtime::external
