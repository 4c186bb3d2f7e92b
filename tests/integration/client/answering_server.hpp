#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <support/run_task.hpp>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/http/server.hpp>

namespace sandbox::test {

/// A real HTTP server on loopback that answers what the test says and keeps what it was asked.
class AnsweringServer : public http::Service {
public:
    AnsweringServer() : server_(io.get_executor(), http::ServerSettings{.tls = std::nullopt}, *this, random_) {
        if (auto listening = server_.listen(); !listening) throw std::runtime_error(listening.error().message());
        server_.start();
    }

    asio::io_context io{1};
    std::vector<http::Request> requests;
    /// The next answers in turn; the last one is given again and again.
    std::deque<http::Response> answers;
    /// Every answer is held back for so long.
    std::chrono::milliseconds delay{0};

    void answer(unsigned status, std::string body) {
        http::Response response;
        response.status = status;
        response.body = std::move(body);
        answers.push_back(std::move(response));
    }

    [[nodiscard]] client::Settings settings(std::string token = "") const {
        return {.server = *http::Url::parse("http://" + server_.address()),
                .token = Secret(std::move(token)),
                .ca_file = std::nullopt};
    }

    std::expected<std::size_t, http::Response> admit(http::Request&) override { return 1024 * 1024; }
    Task<http::Response> handle(http::Request request) override {
        requests.push_back(std::move(request));
        asio::steady_timer timer(io, delay);
        co_await timer.async_wait(asio::use_awaitable);
        auto response = answers.front();
        if (answers.size() > 1) answers.pop_front();
        co_return response;
    }
    http::Response error(unsigned status, std::string message, const std::string&) override {
        http::Response response;
        response.status = status;
        response.body = std::move(message);
        return response;
    }

private:
    SystemRandom random_;
    http::Server server_;
};

}  // namespace sandbox::test
