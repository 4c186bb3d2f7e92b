#include "pipes.hpp"

#include <algorithm>
#include <cerrno>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace sandbox::mcp {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kReadAtOnce = 64 * 1024;
/// What a pipe that is ready for writing takes without blocking (PIPE_BUF).
constexpr std::size_t kWriteAtOnce = 4096;

bool is_socket(int descriptor) {
    struct stat status{};
    return ::fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode);
}

}  // namespace

Input::Input(asio::any_io_executor executor, int descriptor, OnBytes on_bytes, std::function<void()> on_end)
    : descriptor_(std::move(executor), descriptor),
      on_bytes_(std::move(on_bytes)),
      on_end_(std::move(on_end)),
      buffer_(kReadAtOnce) {}

void Input::start() {
    await();
}

void Input::resume() {
    paused_ = false;
    await();
}

void Input::stop() {
    stopped_ = true;
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
}

void Input::await() {
    if (stopped_ || paused_ || waiting_) return;
    waiting_ = true;
    descriptor_.async_wait(asio::posix::stream_descriptor::wait_read, [this](boost::system::error_code error) {
        waiting_ = false;
        if (stopped_ || error == asio::error::operation_aborted) return;
        // A file can't be waited for, and never blocks.
        read();
    });
}

void Input::read() {
    const auto got = ::read(descriptor_.native_handle(), buffer_.data(), buffer_.size());
    if (got > 0) {
        on_bytes_({buffer_.data(), static_cast<std::size_t>(got)});
        await();
    } else if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
        await();
    } else {
        stopped_ = true;
        on_end_();
    }
}

Output::Output(asio::any_io_executor executor, int descriptor)
    : descriptor_(std::move(executor), descriptor), socket_(is_socket(descriptor)) {}

void Output::send(std::string line) {
    if (broken_) return;
    line += '\n';
    backlog_ += line.size();
    lines_.push_back(std::move(line));
    if (!waiting_) write();
}

long Output::write_some(std::string_view bytes) const {
    const int descriptor = const_cast<asio::posix::stream_descriptor&>(descriptor_).native_handle();
    if (socket_) return ::send(descriptor, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    pollfd ready{.fd = descriptor, .events = POLLOUT, .revents = 0};
    if (::poll(&ready, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return ::write(descriptor, bytes.data(), std::min(bytes.size(), kWriteAtOnce));
}

void Output::write() {
    while (!lines_.empty()) {
        const auto put = write_some(std::string_view(lines_.front()).substr(written_));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0 && errno == EAGAIN) {
            waiting_ = true;
            descriptor_.async_wait(asio::posix::stream_descriptor::wait_write, [this](boost::system::error_code error) {
                waiting_ = false;
                if (error == asio::error::operation_aborted) return;
                write();
                if (backlog_ == 0 && on_drained) on_drained();
            });
            return;
        }
        if (put < 0) {
            broken_ = true;
            lines_.clear();
            backlog_ = 0;
            if (on_broken) on_broken();
            return;
        }
        written_ += static_cast<std::size_t>(put);
        backlog_ -= static_cast<std::size_t>(put);
        if (written_ == lines_.front().size()) {
            lines_.pop_front();
            written_ = 0;
        }
    }
}

}  // namespace sandbox::mcp
