// A connection that is lost under a request that starts something.
#include <netinet/in.h>
#include <string>
#include <support/mcp_program.hpp>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using nlohmann::json;

/// A server that hears the first request and is gone, and answers the second.
class FlakyServer {
public:
    explicit FlakyServer(std::string answer)
        : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        ::listen(listener_, 8);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this] {
            for (int i = 0; i < 2; ++i) hear(i);
        });
    }
    ~FlakyServer() {
        thread_.join();
        ::close(listener_);
    }
    FlakyServer(const FlakyServer&) = delete;
    FlakyServer& operator=(const FlakyServer&) = delete;

    [[nodiscard]] const std::string& url() const noexcept { return url_; }
    /// What was asked; after both.
    const std::vector<std::string>& heard() {
        thread_.join();
        thread_ = std::thread([] {});
        return heard_;
    }

private:
    void hear(int number) {
        const int connection = ::accept(listener_, nullptr, nullptr);
        std::string request;
        char bytes[4096];
        while (request.find("\"argv\"") == std::string::npos) {
            const auto got = ::recv(connection, bytes, sizeof bytes, 0);
            if (got <= 0) break;
            request.append(bytes, static_cast<std::size_t>(got));
        }
        heard_.push_back(std::move(request));
        if (number == 1) ::send(connection, answer_.data(), answer_.size(), MSG_NOSIGNAL);
        ::close(connection);
    }

    std::string answer_;
    int listener_;
    std::string url_;
    std::vector<std::string> heard_;
    std::thread thread_;
};

std::string header(const std::string& request, const std::string& name) {
    const auto begin = request.find(name + ": ");
    if (begin == std::string::npos) return "";
    const auto value = begin + name.size() + 2;
    return request.substr(value, request.find("\r\n", value) - value);
}

// Whether the server has heard it is unknown: asked again with the same key it is done once.
TEST(LostConnection, a_command_is_asked_for_again_with_the_same_key) {
    const std::string body = R"({"code":"conflict","message":"it does not run","request_id":"","details":{}})";
    FlakyServer server("HTTP/1.1 409 Conflict\r\nContent-Type: application/json\r\nContent-Length: " +
                       std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
    McpProgram bridge(server.url());
    bridge.initialize();

    const auto result =
        bridge.tool("sandbox_exec", {{"sandbox_id", "00000000-0000-7000-8000-000000000000"}, {"argv", {"true"}}});

    EXPECT_THAT(result["content"][0]["text"].get<std::string>(), ::testing::HasSubstr("it does not run"));
    const auto& heard = server.heard();
    ASSERT_EQ(heard.size(), 2U);
    EXPECT_FALSE(header(heard[0], "Idempotency-Key").empty());
    EXPECT_EQ(header(heard[0], "Idempotency-Key"), header(heard[1], "Idempotency-Key"));
}

}  // namespace
}  // namespace sandbox::test
