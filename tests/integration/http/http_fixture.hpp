#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <support/run_task.hpp>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sandbox/async/signal.hpp>
#include <sandbox/base/id.hpp>
#include <sandbox/http/client.hpp>
#include <sandbox/http/router.hpp>
#include <sandbox/http/server.hpp>

namespace sandbox::http {

using namespace std::chrono_literals;
using asio::ip::tcp;

/// A client that writes and reads bytes as they are told.
class RawConnection {
public:
    RawConnection(asio::io_context& io, const std::string& address) : io_(io), socket_(io) {
        auto colon = address.rfind(':');
        auto port = static_cast<std::uint16_t>(std::stoul(address.substr(colon + 1)));
        socket_.connect(tcp::endpoint(asio::ip::make_address("127.0.0.1"), port));
    }

    void send(std::string bytes) {
        auto task = [](tcp::socket& socket, std::string b) -> Task<void> {
            boost::system::error_code ignored;  // a server that refuses may close before it has read all
            co_await asio::async_write(socket, asio::buffer(b), asio::redirect_error(asio::use_awaitable, ignored));
        };
        test::run(io_, task(socket_, std::move(bytes)));
    }

    void end_writing() { socket_.shutdown(tcp::socket::shutdown_send); }
    void close() { socket_.close(); }

    /// Everything up to the server's end (`ended()` then), or to `until`, or what has come after the patience.
    std::string read(std::string until = {}, std::chrono::milliseconds patience = 5s) {
        return test::run(io_, read_until(std::move(until), patience));
    }
    [[nodiscard]] bool ended() const { return ended_; }
    [[nodiscard]] bool reset() const { return reset_; }

private:
    Task<std::string> read_until(std::string until, std::chrono::milliseconds patience) {
        asio::steady_timer timer(io_, patience);
        // The time may run out in the very moment in which the last byte comes: nobody is there any more then.
        auto waiting = std::make_shared<bool>(true);
        timer.async_wait([this, waiting](const boost::system::error_code& error) {
            if (!error && *waiting) socket_.cancel();
        });
        std::string piece(64 * 1024, '\0');
        while (until.empty() || read_.find(until) == std::string::npos) {
            boost::system::error_code error;
            auto got =
                co_await socket_.async_read_some(asio::buffer(piece), asio::redirect_error(asio::use_awaitable, error));
            read_.append(piece, 0, got);
            if (error == asio::error::operation_aborted) break;
            reset_ = error == asio::error::connection_reset;
            ended_ = static_cast<bool>(error);
            if (error) break;
        }
        timer.cancel();
        *waiting = false;
        auto end = until.empty() ? std::string::npos : read_.find(until);
        auto take = end == std::string::npos ? read_.size() : end + until.size();
        auto text = read_.substr(0, take);
        read_.erase(0, take);
        co_return text;
    }

    asio::io_context& io_;
    tcp::socket socket_;
    std::string read_;
    bool ended_ = false;
    bool reset_ = false;
};

/// A server on loopback with a few routes, and clients of it, on one thread.
class HttpTest : public testing::Test {
protected:
    HttpTest() { add_routes(); }

    ~HttpTest() override {
        client_.reset();
        if (server_) test::run(io_, server_->stop(in(1s)));
    }

    void start(ServerSettings settings = {}) {
        server_.emplace(io_.get_executor(), std::move(settings), router_, random_);
        auto listening = server_->listen();
        ASSERT_TRUE(listening) << listening.error().message();
        server_->start();
    }

    RawConnection raw() { return RawConnection(io_, server_->address()); }

    /// Sends the bytes on a connection of their own; what comes until the server closes it or the patience is over.
    std::string ask_raw(std::string bytes) {
        auto connection = raw();
        connection.send(std::move(bytes));
        return connection.read();
    }

    Client& client() {
        if (!client_) client_.emplace(io_.get_executor(), client_settings());
        return *client_;
    }
    virtual ClientSettings client_settings() {
        ClientSettings settings;
        settings.server = *Url::parse("http://" + server_->address());
        return settings;
    }

    Result<Response> send(std::string method, std::string target, std::string body = {}) {
        Request request;
        request.method = std::move(method);
        request.target = std::move(target);
        request.body = std::move(body);
        return test::run(io_, client().send(std::move(request), in(10s)));
    }

    /// Lets the context work until the condition holds; false when it does not within two seconds.
    template <class Condition>
    bool eventually(Condition condition) {
        auto end = in(2s);
        io_.restart();
        while (!condition() && std::chrono::steady_clock::now() < end) io_.run_one_for(10ms);
        return condition();
    }

    void add(std::string method, std::string pattern, Handler handler, std::size_t body_limit = 0) {
        router_.add({.method = std::move(method),
                     .pattern = std::move(pattern),
                     .body_limit = body_limit,
                     .handler = std::move(handler),
                     .guard = {}});
    }

    static Response json_error(unsigned status, std::string message, const std::string& request_id) {
        Response response;
        response.status = status;
        response.headers.add("Content-Type", "application/json");
        response.body = fmt::format(R"({{"message":"{}","request_id":"{}"}})", message, request_id);
        return response;
    }

    void add_routes();

    static constexpr std::size_t kBodyLimit = 64 * 1024;

    asio::io_context io_{1};
    SeededRandom random_{1};
    Router router_{json_error};
    async::Signal go_;  // what /wait and /lease wait for
    int waiting_ = 0;
    int cancelled_ = 0;
    int undelivered_ = 0;
    std::vector<std::unique_ptr<Stream>> taken_;
    std::optional<Server> server_;
    std::optional<Client> client_;
};

inline Response text(std::string body) {
    Response response;
    response.body = std::move(body);
    return response;
}

inline void HttpTest::add_routes() {
    add("GET", "/hello", [](Request) -> Task<Response> { co_return text("hello"); });
    add(
        "POST", "/echo", [](Request request) -> Task<Response> { co_return text(std::move(request.body)); },
        kBodyLimit);
    add("GET", "/fails", [](Request) -> Task<Response> {
        throw std::runtime_error("the inner secret");
        co_return Response{};
    });
    add("GET", "/empty", [](Request) -> Task<Response> {
        Response response;
        response.status = 204;
        co_return response;
    });
    add("GET", "/request", [](Request request) -> Task<Response> {
        auto body = request.path + " from " + request.remote_address;
        for (const auto& [name, value] : request.query) body += " " + name + "=" + value;
        co_return text(std::move(body));
    });
    add("GET", "/wait", [this](Request) -> Task<Response> {
        ++waiting_;
        try {
            co_await go_.wait(Deadline::max());
        } catch (const boost::system::system_error&) {
            ++cancelled_;
            throw;
        }
        co_return text("waited");
    });
    // Holds on through a cancellation, as one does that has already taken something for its answer.
    add("GET", "/lease", [this](Request) -> Task<Response> {
        ++waiting_;
        try {
            co_await go_.wait(Deadline::max());
        } catch (const boost::system::system_error&) {
            ++cancelled_;
        }
        auto response = text("leased");
        response.on_undelivered = [this] { ++undelivered_; };
        co_return response;
    });
    add("GET", "/stream", [this](Request) -> Task<Response> {
        Response response;
        response.stream = [this](BodyWriter& writer) -> Task<void> {
            for (int i = 0; i < 3; ++i) {
                auto written = co_await writer.write("piece " + std::to_string(i) + "\n");
                if (!written) co_return;
            }
            ++waiting_;
            co_await go_.wait(in(20ms));
            co_await writer.write("last\n");
        };
        co_return response;
    });
    add("GET", "/upgrade", [this](Request request) -> Task<Response> {
        if (!request.headers.has_token("Connection", "upgrade")) co_return json_error(400, "no upgrade", "");
        Response response;
        response.status = 101;
        response.headers.add("Upgrade", "bytes");
        response.on_upgrade = [this](std::unique_ptr<Stream> stream) { taken_.push_back(std::move(stream)); };
        co_return response;
    });
}

}  // namespace sandbox::http
