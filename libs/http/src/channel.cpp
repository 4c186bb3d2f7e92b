#include "channel.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sandbox::http {

namespace {

// After so many operations without a wait, others get their turn.
constexpr unsigned kStreak = 32;
constexpr auto kFarewellTime = std::chrono::seconds(10);

std::string reason(int error) {
    return std::error_code(error, std::system_category()).message();
}

Step failed_step(int error) {
    if (error == EAGAIN || error == EWOULDBLOCK) return {Step::Kind::want_read};
    return {Step::Kind::failed, 0, "connection lost: " + reason(error)};
}

}  // namespace

Channel::Channel(asio::any_io_executor executor, int descriptor)
    : descriptor_(executor, descriptor), reader_(executor), writer_(executor) {
    descriptor_.non_blocking(true);
}

Channel::~Channel() = default;

Step Channel::receive(std::span<char> buffer) {
    while (true) {
        auto got = ::recv(descriptor_.native_handle(), buffer.data(), buffer.size(), 0);
        if (got > 0) return {Step::Kind::done, static_cast<std::size_t>(got)};
        if (got == 0) return {Step::Kind::end};
        if (errno != EINTR) return failed_step(errno);
    }
}

Step Channel::send(std::string_view bytes) {
    while (true) {
        auto sent = ::send(descriptor_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent >= 0) return {Step::Kind::done, static_cast<std::size_t>(sent)};
        if (errno == EINTR) continue;
        auto step = failed_step(errno);
        if (step.kind == Step::Kind::want_read) step.kind = Step::Kind::want_write;
        return step;
    }
}

Step Channel::try_open() {
    // A connect in progress is over when the socket can be written.
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(descriptor(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return {Step::Kind::failed, 0, reason(error)};
    sockaddr_storage peer{};
    size = sizeof peer;
    if (::getpeername(descriptor(), reinterpret_cast<sockaddr*>(&peer), &size) == 0) return {};
    if (errno == ENOTCONN) return {Step::Kind::want_write};
    return {Step::Kind::failed, 0, reason(errno)};
}

Step Channel::try_read(std::span<char> buffer) {
    return receive(buffer);
}

Step Channel::try_write(std::string_view bytes) {
    return send(bytes);
}

Channel::Peek Channel::try_peek() {
    char byte = 0;
    auto got = ::recv(descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got > 0) return Peek::bytes;
    return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) ? Peek::quiet : Peek::end;
}

void Channel::on_timer(Side& side) {
    side.armed = Deadline::max();
    if (side.deadline == Deadline::max()) return;
    if (std::chrono::steady_clock::now() < side.deadline) {
        arm(side);
        return;
    }
    side.expired = true;
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
}

void Channel::arm(Side& side) {
    if (side.armed <= side.deadline) return;  // fires sooner, and looks again then; max means not armed
    side.armed = side.deadline;
    side.timer.expires_at(side.deadline);
    side.timer.async_wait([weak = weak_from_this(), &side](const boost::system::error_code& error) {
        if (error) return;
        if (auto self = weak.lock()) self->on_timer(side);
    });
}

Task<Result<void>> Channel::wait(std::shared_ptr<Channel> self, Side& side, Step::Kind want, Deadline deadline) {
    self->streak_ = 0;
    side.expired = false;
    side.interrupted = false;
    side.deadline = deadline;
    if (deadline <= std::chrono::steady_clock::now()) co_return fail(Code::deadline_exceeded, "timed out");
    if (deadline != Deadline::max()) self->arm(side);

    boost::system::error_code error;
    side.waiting = true;
    auto type = want == Step::Kind::want_read ? asio::posix::stream_descriptor::wait_read
                                              : asio::posix::stream_descriptor::wait_write;
    co_await self->descriptor_.async_wait(type, asio::redirect_error(asio::use_awaitable, error));
    side.waiting = false;
    side.deadline = Deadline::max();

    if (side.interrupted) co_return fail(Code::cancelled, "cancelled");
    if (self->closed()) co_return fail(Code::unavailable, "the connection was closed");
    if (side.expired) co_return fail(Code::deadline_exceeded, "timed out");
    auto cancellation = co_await asio::this_coro::cancellation_state;
    if (cancellation.cancelled() != asio::cancellation_type::none) co_return fail(Code::cancelled, "cancelled");
    // operation_aborted else: the other side's timer or interrupt woke us too; the caller tries and waits again.
    if (error && error != asio::error::operation_aborted) {
        co_return fail(Code::unavailable, "connection lost: " + error.message());
    }
    co_return Result<void>{};
}

Task<Result<std::size_t>> Channel::read_some(std::shared_ptr<Channel> self, std::span<char> buffer, Deadline deadline) {
    while (true) {
        if (self->closed()) co_return fail(Code::unavailable, "the connection was closed");
        auto step = self->try_read(buffer);
        if (step.kind == Step::Kind::done) {
            if (++self->streak_ >= kStreak) {
                self->streak_ = 0;
                co_await asio::post(asio::use_awaitable);
            }
            co_return step.bytes;
        }
        if (step.kind == Step::Kind::end) co_return std::size_t{0};
        if (step.kind == Step::Kind::failed) co_return fail(Code::unavailable, std::move(step.what));
        auto waited = co_await wait(self, self->reader_, step.kind, deadline);
        if (!waited) co_return fail(std::move(waited.error()));
    }
}

Task<Result<void>> Channel::write(std::shared_ptr<Channel> self, std::string_view bytes, Deadline deadline,
                                  std::size_t* written) {
    while (!bytes.empty()) {
        if (self->closed()) co_return fail(Code::unavailable, "the connection was closed");
        if (self->write_ended_) co_return fail(Code::unavailable, "this direction was ended before");
        auto step = self->try_write(bytes);
        if (step.kind == Step::Kind::done) {
            bytes.remove_prefix(step.bytes);
            if (written != nullptr) *written += step.bytes;
            if (++self->streak_ >= kStreak) {
                self->streak_ = 0;
                co_await asio::post(asio::use_awaitable);
            }
            continue;
        }
        if (step.kind == Step::Kind::end) co_return fail(Code::unavailable, "the peer has closed the connection");
        if (step.kind == Step::Kind::failed) co_return fail(Code::unavailable, std::move(step.what));
        auto waited = co_await wait(self, self->writer_, step.kind, deadline);
        if (!waited) co_return fail(std::move(waited.error()));
    }
    co_return Result<void>{};
}

Task<Result<void>> Channel::wait_readable(std::shared_ptr<Channel> self, Deadline deadline) {
    if (self->closed()) co_return fail(Code::unavailable, "the connection was closed");
    if (self->has_buffered()) co_return Result<void>{};
    co_return co_await wait(self, self->reader_, Step::Kind::want_read, deadline);
}

Task<Result<void>> Channel::open(std::shared_ptr<Channel> self, Deadline deadline) {
    while (true) {
        if (self->closed()) co_return fail(Code::unavailable, "the connection was closed");
        auto step = self->try_open();
        if (step.kind == Step::Kind::done) co_return Result<void>{};
        if (step.kind == Step::Kind::end) co_return fail(Code::unavailable, "the peer has closed the connection");
        if (step.kind == Step::Kind::failed) co_return fail(Code::unavailable, std::move(step.what));
        auto waited = co_await wait(self, self->reader_, step.kind, deadline);
        if (!waited) co_return fail(std::move(waited.error()));
    }
}

Task<void> Channel::linger(std::shared_ptr<Channel> self, std::size_t limit, Deadline deadline) {
    if (self->closed()) co_return;
    self->try_farewell();
    ::shutdown(self->descriptor(), SHUT_WR);
    std::string discarded(16 * 1024, '\0');
    for (std::size_t total = 0; total < limit && !self->closed();) {
        auto step = self->receive(discarded);
        if (step.kind == Step::Kind::done) {
            total += step.bytes;
            continue;
        }
        if (step.kind != Step::Kind::want_read) co_return;
        auto waited = co_await wait(self, self->reader_, step.kind, deadline);
        if (!waited) co_return;
    }
}

void Channel::interrupt() {
    if (!reader_.waiting) return;
    reader_.interrupted = true;
    boost::system::error_code ignored;
    descriptor_.cancel(ignored);
}

Task<void> Channel::say_farewell(std::shared_ptr<Channel> self) {
    auto deadline = in(kFarewellTime);
    while (!self->closed()) {
        auto step = self->try_farewell();
        if (step.kind != Step::Kind::want_write) break;
        auto waited = co_await wait(self, self->writer_, step.kind, deadline);
        if (!waited) break;
    }
    if (!self->closed()) ::shutdown(self->descriptor(), SHUT_WR);
}

void Channel::shutdown_write() {
    if (closed() || write_ended_) return;
    write_ended_ = true;
    if (try_farewell().kind == Step::Kind::want_write) {
        asio::co_spawn(descriptor_.get_executor(), say_farewell(shared_from_this()), asio::detached);
        return;
    }
    ::shutdown(descriptor(), SHUT_WR);
}

void Channel::close() {
    if (closed()) return;
    if (!write_ended_) try_farewell();
    boost::system::error_code ignored;
    descriptor_.close(ignored);
    reader_.timer.cancel();
    writer_.timer.cancel();
}

ChannelStream::ChannelStream(std::shared_ptr<Channel> channel, std::string already_read, std::shared_ptr<void> token)
    : channel_(std::move(channel)), already_read_(std::move(already_read)), token_(std::move(token)) {}

ChannelStream::~ChannelStream() {
    channel_->close();
}

Task<Result<std::size_t>> ChannelStream::take(std::size_t bytes) {
    co_return bytes;
}

Task<Result<std::size_t>> ChannelStream::read_some(std::span<char> buffer, Deadline deadline) {
    auto left = already_read_.size() - taken_;
    if (left == 0) return Channel::read_some(channel_, buffer, deadline);
    auto bytes = std::min(left, buffer.size());
    std::copy_n(already_read_.data() + taken_, bytes, buffer.data());
    taken_ += bytes;
    if (taken_ == already_read_.size()) {
        already_read_ = {};
        taken_ = 0;
    }
    return take(bytes);
}

Task<Result<void>> ChannelStream::write(std::string_view bytes, Deadline deadline) {
    return Channel::write(channel_, bytes, deadline);
}

void ChannelStream::shutdown_write() {
    channel_->shutdown_write();
}

void ChannelStream::close() {
    channel_->close();
}

Result<int> start_connect(const void* address, std::size_t size) {
    const auto* peer = static_cast<const sockaddr*>(address);
    int descriptor = ::socket(peer->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return fail(Code::unavailable, reason(errno));
    set_no_delay(descriptor);
    if (::connect(descriptor, peer, static_cast<socklen_t>(size)) == 0 || errno == EINPROGRESS) return descriptor;
    int error = errno;
    ::close(descriptor);
    return fail(error == EAGAIN ? Code::resource_exhausted : Code::unavailable, reason(error));
}

void set_no_delay(int descriptor) {
    int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace sandbox::http
