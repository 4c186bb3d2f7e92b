#pragma once

#include <string>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::http {

/// A server that answers the n-th request of its m-th connection with given bytes, whatever was asked; an empty answer,
/// or the end of the list, closes the connection instead.
template <class Protocol = asio::ip::tcp>
class ScriptedServer {
public:
    using Answers = std::vector<std::string>;

    ScriptedServer(asio::io_context& io, std::vector<Answers> connections,
                   typename Protocol::endpoint endpoint = loopback())
        : acceptor_(io, endpoint), connections_(std::move(connections)) {
        asio::co_spawn(io, accept_all(), asio::detached);
    }

    [[nodiscard]] std::string address() const
        requires std::same_as<Protocol, asio::ip::tcp>
    {
        return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
    }

    std::vector<std::string> requests;  // the heads, in order
    std::size_t accepted = 0;

private:
    static typename Protocol::endpoint loopback() {
        if constexpr (std::same_as<Protocol, asio::ip::tcp>)
            return {asio::ip::make_address("127.0.0.1"), 0};
        else
            return {};
    }

    Task<void> accept_all() {
        while (true) {
            boost::system::error_code error;
            typename Protocol::socket socket(acceptor_.get_executor());
            co_await acceptor_.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return;
            auto answers = accepted < connections_.size() ? connections_[accepted] : Answers{};
            ++accepted;
            asio::co_spawn(acceptor_.get_executor(), serve(std::move(socket), std::move(answers)), asio::detached);
        }
    }

    Task<void> serve(typename Protocol::socket socket, Answers answers) {
        std::string read;
        boost::system::error_code error;
        for (const auto& answer : answers) {
            auto size = co_await asio::async_read_until(socket, asio::dynamic_buffer(read), "\r\n\r\n",
                                                        asio::redirect_error(asio::use_awaitable, error));
            if (error) co_return;
            requests.push_back(read.substr(0, size));
            read.erase(0, size);
            if (answer.empty()) co_return;
            co_await asio::async_write(socket, asio::buffer(answer), asio::redirect_error(asio::use_awaitable, error));
        }
    }

    typename Protocol::acceptor acceptor_;
    std::vector<Answers> connections_;
};

}  // namespace sandbox::http
