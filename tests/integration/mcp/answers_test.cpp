// What is made of a server's answers: a stand-in gives each request the next of them.
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
using ::testing::HasSubstr;
using ::testing::Not;

struct Canned {
    std::string status;
    std::string body;
};

/// Answers one connection after the other, in this order, and says which request each was.
class CannedServer {
public:
    explicit CannedServer(std::vector<Canned> answers)
        : answers_(std::move(answers)), listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        sockaddr_in address{};
        socklen_t size = sizeof address;
        ::listen(listener_, 8);
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size);
        url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
        thread_ = std::thread([this] {
            for (const auto& answer : answers_) give(answer);
        });
    }
    ~CannedServer() {
        ::shutdown(listener_, SHUT_RDWR);
        thread_.join();
        ::close(listener_);
    }
    CannedServer(const CannedServer&) = delete;
    CannedServer& operator=(const CannedServer&) = delete;
    [[nodiscard]] const std::string& url() const noexcept { return url_; }

private:
    void give(const Canned& answer) const {
        const int connection = ::accept(listener_, nullptr, nullptr);
        if (connection < 0) return;
        std::string request;
        char bytes[4096];
        while (request.find("\r\n\r\n") == std::string::npos) {
            const auto got = ::recv(connection, bytes, sizeof bytes, 0);
            if (got <= 0) break;
            request.append(bytes, static_cast<std::size_t>(got));
        }
        const auto text = "HTTP/1.1 " + answer.status + "\r\nContent-Length: " + std::to_string(answer.body.size()) +
                          "\r\nConnection: close\r\n\r\n" + answer.body;
        ::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
        ::shutdown(connection, SHUT_WR);
        while (::recv(connection, bytes, sizeof bytes, 0) > 0) {
        }
        ::close(connection);
    }

    std::vector<Canned> answers_;
    int listener_;
    std::string url_;
    std::thread thread_;
};

Canned error(const std::string& status, const std::string& code, const std::string& message,
             const json& details = json::object()) {
    return {status, json{{"code", code}, {"message", message}, {"request_id", "r"}, {"details", details}}.dump()};
}

const json kId = "00000000-0000-7000-8000-000000000000";

std::string said(const std::vector<Canned>& answers, const std::string& tool, const json& arguments) {
    CannedServer server(answers);
    McpProgram bridge(server.url());
    bridge.initialize();
    const auto result = bridge.tool(tool, arguments);
    EXPECT_EQ(result["isError"], true);
    return result["content"][0]["text"].get<std::string>();
}

TEST(Answers, of_a_server_that_knows_no_such_path_are_about_its_address) {
    const auto wrong = error("404 Not Found", "not_found", "there is no such path");
    for (const auto& [tool, arguments] :
         {std::pair{"sandbox_health", json::object()}, std::pair{"sandbox_list", json{{"tenant", "t"}}},
          std::pair{"sandbox_inspect", json{{"sandbox_id", kId}}},
          std::pair{"sandbox_operation", json{{"operation_id", kId}}}})
        for (const auto& answer :
             {wrong, Canned{"404 Not Found", "<html>no</html>"}, Canned{"200 OK", "<html>hi</html>"}}) {
            const auto text = said({answer}, tool, arguments);
            EXPECT_THAT(text, HasSubstr("SANDBOX_URL")) << tool;
            EXPECT_THAT(text, Not(HasSubstr("sandbox_list shows"))) << tool;
        }
    CannedServer server({wrong});
    McpProgram bridge(server.url());
    bridge.initialize();
    const auto failed = bridge.error("resources/read", {{"uri", "sandbox://operations/" + kId.get<std::string>()}});
    EXPECT_EQ(failed["code"], -32603) << "the operation may well be there";
    EXPECT_THAT(failed["message"].get<std::string>(), HasSubstr("SANDBOX_URL"));
}

TEST(Answers, that_an_operation_is_unknown_say_where_operations_are_found) {
    for (const auto* tool : {"sandbox_operation", "sandbox_wait"}) {
        const auto text =
            said({error("404 Not Found", "not_found", "there is no operation x")}, tool, {{"operation_id", kId}});
        EXPECT_THAT(text, HasSubstr("operation.id"));
        EXPECT_THAT(text, Not(HasSubstr("sandbox_list")));
    }
}

TEST(Answers, that_there_are_no_tunnels_do_not_advise_to_try_again) {
    const auto text = said({error("503 Service Unavailable", "unavailable",
                                  "tunnels are not available in this version: create the sandbox without exposures")},
                           "sandbox_create", {{"tenant", "t"}, {"image", "i"}});
    EXPECT_THAT(text, HasSubstr("without exposures"));
    EXPECT_THAT(text, Not(HasSubstr("ry again")));
}

// The gates count hosts; the hosts say which resource it is.
TEST(Answers, that_only_the_reserve_has_room_name_the_resource) {
    const json total{{"cpu_millis", 4000}, {"memory_mib", 8000}, {"disk_mib", 100000}, {"pids", 1000}};
    auto available = total;
    available["disk_mib"] = 12000;
    const json node{{"id", kId},
                    {"name", "n"},
                    {"region", "r"},
                    {"zone", "z"},
                    {"capacity", {{"total", total}, {"available", available}}},
                    {"last_seen", "2026-11-30T00:00:00Z"}};
    const auto refused = error("503 Service Unavailable", "no_capacity", "none of 1 nodes",
                               {{"nodes", 1}, {"rejected", {{"reserve", 1}}}});
    const auto text = said({refused, {"200 OK", json{{"nodes", {node}}}.dump()}}, "sandbox_create",
                           {{"tenant", "t"}, {"image", "i"}});
    EXPECT_THAT(text, HasSubstr("short is disk_mib (10240 asked, at most 7000 to be had"));
    EXPECT_THAT(text, HasSubstr("Do not weaken isolation"));
}

}  // namespace
}  // namespace sandbox::test
