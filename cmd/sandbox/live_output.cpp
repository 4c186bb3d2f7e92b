#include "live_output.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <climits>

namespace sandbox::cli {
namespace {

/// What a pipe that is ready takes without blocking.
constexpr std::size_t kReadyBytes = PIPE_BUF;

bool is_ready() {
    pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
    return ::poll(&output, 1, 0) > 0;
}

/// A file is always ready, and Asio refuses to wait for it.
bool can_be_waited_for() {
    struct stat status{};
    if (::fstat(STDOUT_FILENO, &status) != 0) return false;
    return S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode) || ::isatty(STDOUT_FILENO) == 1;
}

}  // namespace

LiveOutput::LiveOutput(asio::any_io_executor executor) {
    if (!can_be_waited_for()) return;
    const int copy = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    if (copy >= 0) descriptor_.emplace(std::move(executor), copy);
}

void LiveOutput::write_some() {
    while (!left_.empty() && problem_ == 0 && is_ready()) {
        const auto written = ::write(STDOUT_FILENO, left_.data(), std::min(left_.size(), kReadyBytes));
        if (written > 0)
            left_.erase(0, static_cast<std::size_t>(written));
        else if (written < 0 && errno == EAGAIN)
            return;
        else if (written < 0 && errno != EINTR)
            problem_ = errno;
    }
}

bool LiveOutput::offer(std::string_view bytes) {
    left_ += bytes;
    write_some();
    return left_.empty() && problem_ == 0;
}

Task<bool> LiveOutput::drain() {
    while (problem_ == 0 && !left_.empty()) {
        if (descriptor_)
            co_await descriptor_->async_wait(asio::posix::stream_descriptor::wait_write, asio::use_awaitable);
        write_some();
    }
    co_return problem_ == 0;
}

Task<void> LiveOutput::unread() {
    asio::steady_timer never(co_await asio::this_coro::executor, Deadline::max());
    if (descriptor_)
        co_await descriptor_->async_wait(asio::posix::stream_descriptor::wait_error, asio::use_awaitable);
    else
        co_await never.async_wait(asio::use_awaitable);
    problem_ = EPIPE;
}

}  // namespace sandbox::cli
