// Connections to services on the sandbox's loopback. The sandboxes of these tests share the machine's, so the service
// is the test.
#include <array>
#include <cerrno>
#include <netinet/in.h>
#include <optional>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "host.hpp"

namespace sandbox::guest::test {
namespace {

using namespace std::chrono_literals;

/// A listening socket on one loopback address.
class Service {
public:
    explicit Service(int family = AF_INET) : listener_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_storage address{};
        address.ss_family = static_cast<sa_family_t>(family);
        socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
        if (family == AF_INET)
            reinterpret_cast<sockaddr_in&>(address).sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        else
            reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_loopback;
        usable = bind(listener_, reinterpret_cast<sockaddr*>(&address), length) == 0 && listen(listener_, 300) == 0;
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
        port = ntohs(reinterpret_cast<sockaddr_in&>(address).sin_port);
    }
    ~Service() { close(listener_); }

    int accept_one() const { return accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }

    std::uint16_t port = 0;
    bool usable = false;

private:
    int listener_;
};

std::string receive_all(int fd) {
    std::string all;
    std::array<char, 65536> buffer{};
    for (ssize_t count = 0; (count = recv(fd, buffer.data(), buffer.size(), 0)) > 0;)
        all.append(buffer.data(), static_cast<std::size_t>(count));
    return all;
}

class Connections : public testing::Test {
protected:
    Sandbox sandbox;
    Host host{sandbox};
};

// Bytes both ways, each direction ended by itself, and then closed in order.
TEST_F(Connections, carry_bytes_both_ways_and_close_in_order) {
    const Service service;
    const auto id = host.dial(service.port);
    const int peer = service.accept_one();
    host.send(FrameType::data, id, "ping");
    host.send(FrameType::end_of_data, id);
    EXPECT_EQ(receive_all(peer), "ping");
    ASSERT_EQ(send(peer, "pong", 4, 0), 4);
    ASSERT_TRUE(host.wait([&] { return host.link(id).received == "pong"; }));
    EXPECT_FALSE(host.link(id).ended);
    close(peer);

    ASSERT_TRUE(host.wait([&] { return host.link(id).closed.has_value(); }));
    EXPECT_TRUE(host.link(id).connected && host.link(id).ended);
    EXPECT_EQ(host.link(id).closed, 0);
}

TEST_F(Connections, a_refused_one_says_so) {
    std::uint16_t port = 0;
    {
        const Service service;
        port = service.port;
    }
    const auto id = host.dial(port);

    ASSERT_TRUE(host.wait([&] { return host.link(id).closed.has_value(); }));
    EXPECT_EQ(host.link(id).closed, ECONNREFUSED);
    EXPECT_FALSE(host.link(id).connected);
}

TEST_F(Connections, a_service_on_the_other_loopback_is_found) {
    const Service service(AF_INET6);
    ASSERT_TRUE(service.usable) << "this test needs ::1 on the loopback interface";
    const auto id = host.dial(service.port);

    EXPECT_TRUE(host.wait([&] { return host.link(id).connected; }));
}

// A host that reads nothing gets its window and no more, and the service is slowed down; the guest does not grow.
TEST_F(Connections, a_slow_host_slows_the_service_down) {
    const Service service;
    const auto id = host.dial(service.port);
    host.link(id).grant = false;
    const int peer = service.accept_one();
    std::jthread sender([&] {
        const std::string bytes(20'000'000, 'x');
        for (std::size_t done = 0; done < bytes.size();) {
            const auto count = send(peer, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
            if (count <= 0) break;
            done += static_cast<std::size_t>(count);
        }
        shutdown(peer, SHUT_WR);
    });
    ASSERT_TRUE(host.wait([&] { return host.link(id).received.size() == Host::kWindow; }));
    EXPECT_FALSE(host.wait([&] { return host.link(id).received.size() > Host::kWindow; }, 300ms));
    EXPECT_LT(sandbox.memory_kib(), 2048U);

    host.link(id).grant = true;
    host.grant(id, Stream::connection, Host::kWindow);
    EXPECT_TRUE(host.wait([&] { return host.link(id).ended; }));
    EXPECT_EQ(host.link(id).received.size(), 20'000'000U);
    close(peer);
}

// What the service does not read waits in the guest, but never more than the window.
TEST_F(Connections, data_beyond_the_credit_closes_it) {
    const Service service;
    const auto id = host.dial(service.port);
    const int peer = service.accept_one();
    for (int i = 0; i < 200 && !host.link(id).closed; ++i) {
        host.send(FrameType::data, id, std::string(kMaxPayload, 'x'));
        (void)host.wait([&] { return host.link(id).closed.has_value(); }, 5ms);
    }

    EXPECT_EQ(host.link(id).closed, EPROTO);
    EXPECT_LT(sandbox.memory_kib(), 2048U);
    close(peer);
}

TEST_F(Connections, a_reset_is_told_and_a_close_from_the_host_reaches_the_service) {
    const Service service;
    const auto reset = host.dial(service.port);
    const int first = service.accept_one();
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(first, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(first);
    ASSERT_TRUE(host.wait([&] { return host.link(reset).closed.has_value(); }));
    EXPECT_EQ(host.link(reset).closed, ECONNRESET);

    const auto closed = host.dial(service.port);
    const int second = service.accept_one();
    ASSERT_TRUE(host.wait([&] { return host.link(closed).connected; }));
    std::string frame;
    append_close(frame, closed, {});
    host.send_raw(frame);
    EXPECT_EQ(receive_all(second), "");
    close(second);
}

// One more than it holds is refused; and none stays when the host goes.
TEST_F(Connections, are_bounded_and_end_with_the_session) {
    const Service service;
    ASSERT_TRUE(host.settle());
    const auto files = sandbox.open_files();
    std::vector<std::uint64_t> ids;
    for (std::size_t i = 0; i <= kMaxConnections; ++i) ids.push_back(host.dial(service.port));
    ASSERT_TRUE(host.wait([&] { return host.link(ids.back()).closed.has_value(); }));
    EXPECT_EQ(host.link(ids.back()).closed, EMFILE);
    ASSERT_TRUE(host.wait([&] { return host.link(ids.front()).connected; }));

    Host next(sandbox);
    EXPECT_EQ(sandbox.open_files(), files);
}

}  // namespace
}  // namespace sandbox::guest::test
