#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/messages.hpp>

#include "fd.hpp"
#include "out_queue.hpp"
#include "poller.hpp"

namespace sandbox::guest {

/// One TCP connection to a port of the sandbox's own loopback, on behalf of the host.
class Connection {
public:
    /// Tries 127.0.0.1, then ::1.
    Connection(std::uint64_t id, const Dial& dial);

    void data(std::string_view bytes, OutQueue& out);
    void end_of_data(OutQueue& out);
    void credit(std::uint32_t bytes) { send_credit_.grant(bytes); }

    void watch(Poller& poller, const OutQueue& out);
    void handle(const Poller& poller, OutQueue& out);

    /// `close` has been sent: forget it.
    [[nodiscard]] bool over() const { return over_; }

private:
    enum class State { connecting, open };

    bool connect_to(int family);
    void connected(OutQueue& out);
    void receive(OutQueue& out);
    void send_pending(OutQueue& out);
    void close(int error, OutQueue& out);

    std::uint64_t id_;
    std::uint16_t port_;
    Fd socket_;
    State state_ = State::connecting;
    int family_ = 0;
    int error_ = 0;
    SendCredit send_credit_;
    ReceiveCredit receive_credit_{kInputWindow};
    std::string pending_;
    bool host_ended_ = false;
    bool shut_down_ = false;
    bool service_ended_ = false;
    bool over_ = false;
    Poller::Slot slot_ = Poller::kNone;
};

}  // namespace sandbox::guest
