// What sandboxes reach over their networks, and what they don't.
#include <chrono>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker/names.hpp"
#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
namespace docker = runtime::docker;

class DockerNetworkTest : public DockerTest {
protected:
    /// Whether the sandbox gets an answer from the listener of the host at its gateway.
    bool reaches(domain::SandboxId id, const asio::ip::tcp::acceptor& listener, const std::string& network) {
        auto gateway = wait(engine_.find_networks(network, in(10s)))->front().gateway;
        auto line = fmt::format("nc -w 2 {} {} < /dev/null", gateway, listener.local_endpoint().port());
        auto result = exec(id, shell_command(line));
        return result && result->output.stdout_text == "hello\n";
    }
    /// A listener of this host on every address, which nobody else can know of.
    asio::ip::tcp::acceptor greeter() {
        asio::ip::tcp::acceptor listener(io_, asio::ip::tcp::endpoint(asio::ip::tcp::v4(), 0));
        greet_next(listener);
        return listener;
    }
    static void greet_next(asio::ip::tcp::acceptor& listener) {
        listener.async_accept([](boost::system::error_code error, asio::ip::tcp::socket visitor) {
            if (!error) asio::write(visitor, asio::buffer("hello\n", 6), error);
        });
    }
    domain::SandboxSpec restricted() {
        auto spec = small();
        spec.network = domain::Network::restricted_egress;
        return spec;
    }
};

// An internal network alone would let a sandbox reach every listener of the host through the gateway.
TEST_F(DockerNetworkTest, a_restricted_sandbox_does_not_reach_the_host) {
    EXPECT_THAT(wait(runtime_->probe(in(10s)))->features, Contains("network_guard"));
    auto listener = greeter();
    EXPECT_FALSE(reaches(running(restricted()), listener, restricted_network_));
}

TEST_F(DockerNetworkTest, an_open_sandbox_does_not_reach_the_host) {
    auto listener = greeter();
    auto spec = small();
    spec.network = domain::Network::open_egress;
    auto id = running(spec);
    EXPECT_EQ(shell(id, "ls /sys/class/net"), "eth0\nlo\n");
    EXPECT_FALSE(reaches(id, listener, std::string(docker::kOpenNetwork)));
}

TEST_F(DockerNetworkTest, a_restricted_sandbox_reaches_what_is_allowed) {
    auto listener = greeter();
    auto other = greeter();
    wait(runtime_->stop(in(5s)));
    auto allowing = settings();
    allowing.restricted_allow = {fmt::format("gateway:{}", listener.local_endpoint().port())};
    runtime_ = runtime::create_docker_runtime(io_.get_executor(), allowing);
    auto id = running(restricted());
    EXPECT_TRUE(reaches(id, listener, restricted_network_));
    EXPECT_FALSE(reaches(id, other, restricted_network_));
}

TEST_F(DockerNetworkTest, restricted_sandboxes_do_not_reach_each_other) {
    auto one = running(restricted());
    auto other = running(restricted());
    shell(one, "echo hi > /workspace/index.html; httpd -p 8080 -h /workspace");
    auto address = shell(one, "ip -4 addr show dev eth0 | sed -n 's/.*inet \\([0-9.]*\\).*/\\1/p'");
    while (address.ends_with('\n')) address.pop_back();
    EXPECT_EQ(shell(one, "wget -q -O - http://" + address + ":8080/"), "hi\n");
    EXPECT_NE(exec(other, {"wget", "-q", "-T", "2", "-O", "-", "http://" + address + ":8080/"})->output.exit_code, 0);
}

}  // namespace
}  // namespace sandbox::test
