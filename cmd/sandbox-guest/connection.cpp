#include "connection.hpp"

#include <cerrno>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace sandbox::guest {

Connection::Connection(std::uint64_t id, const Dial& dial) : id_(id), port_(dial.port), send_credit_(dial.credit) {
    if (!connect_to(AF_INET)) (void)connect_to(AF_INET6);
}

// Whether the connection is made or under way.
bool Connection::connect_to(int family) {
    family_ = family;
    socket_ = Fd(socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket_) {
        error_ = errno;
        return false;
    }
    const int on = 1;
    setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port_);
    v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port_);
    v6.sin6_addr = in6addr_loopback;
    const auto* address =
        family == AF_INET ? reinterpret_cast<const sockaddr*>(&v4) : reinterpret_cast<const sockaddr*>(&v6);
    const socklen_t length = family == AF_INET ? sizeof v4 : sizeof v6;
    if (::connect(socket_.get(), address, length) == 0 || errno == EINPROGRESS) return true;
    // The first family's reason is the better one: ::1 may not exist at all.
    if (error_ == 0) error_ = errno;
    socket_.reset();
    return false;
}

void Connection::connected(OutQueue& out) {
    int error = 0;
    socklen_t length = sizeof error;
    getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &error, &length);
    if (error == 0) {
        state_ = State::open;
        append_frame(out.bytes(), FrameType::connected, id_);
        send_pending(out);
        return;
    }
    if (error_ == 0) error_ = error;
    socket_.reset();
    if (family_ == AF_INET) (void)connect_to(AF_INET6);
}

void Connection::watch(Poller& poller, const OutQueue& out) {
    slot_ = Poller::kNone;
    if (!socket_) {
        poller.wake_at(TimePoint{});  // couldn't connect; handle() says so
        return;
    }
    short events = 0;
    if (state_ == State::connecting || !pending_.empty()) events |= POLLOUT;
    if (state_ == State::open && !service_ended_ && send_credit_.left() != 0 && out.has_room()) events |= POLLIN;
    if (events != 0) slot_ = poller.watch(socket_.get(), events);
}

void Connection::handle(const Poller& poller, OutQueue& out) {
    const auto events = poller.events(slot_);
    if (socket_ && events != 0) {
        if (state_ == State::connecting) {
            connected(out);
        } else {
            if (!pending_.empty()) send_pending(out);
            if (!over_ && !service_ended_ && send_credit_.left() != 0 && out.has_room()) receive(out);
        }
    }
    if (!socket_ && !over_) close(error_, out);
}

void Connection::receive(OutQueue& out) {
    const auto count = out.read_frame(socket_.get(), FrameType::data, id_, send_credit_.left());
    if (count > 0) {
        send_credit_.spend(static_cast<std::size_t>(count));
    } else if (count == 0) {
        service_ended_ = true;
        append_frame(out.bytes(), FrameType::end_of_data, id_);
        if (shut_down_) close(0, out);
    } else if (errno != EAGAIN && errno != EINTR) {
        close(errno, out);
    }
}

void Connection::data(std::string_view bytes, OutQueue& out) {
    if (over_ || host_ended_) return;
    if (!receive_credit_.receive(bytes.size())) {
        close(EPROTO, out);
        return;
    }
    pending_.append(bytes);
    if (state_ == State::open) send_pending(out);
}

void Connection::end_of_data(OutQueue& out) {
    if (over_) return;
    host_ended_ = true;
    if (state_ == State::open) send_pending(out);
}

void Connection::send_pending(OutQueue& out) {
    std::size_t done = 0;
    while (done < pending_.size()) {
        const auto count = send(socket_.get(), pending_.data() + done, pending_.size() - done, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0 && errno != EAGAIN) {
            close(errno, out);
            return;
        }
        if (count < 0) break;
        done += static_cast<std::size_t>(count);
    }
    pending_.erase(0, done);
    if (const auto granted = receive_credit_.consume(done); granted != 0)
        append_credit(out.bytes(), id_, {.stream = Stream::connection, .bytes = granted});
    if (!pending_.empty() || !host_ended_ || shut_down_) return;
    shutdown(socket_.get(), SHUT_WR);
    shut_down_ = true;
    if (service_ended_) close(0, out);
}

void Connection::close(int error, OutQueue& out) {
    over_ = true;
    socket_.reset();
    append_close(out.bytes(), id_, {.error = error});
}

}  // namespace sandbox::guest
