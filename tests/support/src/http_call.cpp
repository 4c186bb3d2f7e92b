#include "support/http_call.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <sandbox/http/client.hpp>

#include "support/run_task.hpp"

namespace sandbox::test {

using namespace std::chrono_literals;

Reply call(const std::string& address, const std::string& method, const std::string& target, std::string body,
           const std::map<std::string, std::string>& headers) {
    asio::io_context io(1);
    auto url = http::Url::parse("http://" + address);
    if (!url) throw std::runtime_error(url.error().message());
    http::Client client(io.get_executor(), {.server = *url, .ca_file = {}});
    http::Request request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    for (const auto& [name, value] : headers) request.headers.add(name, value);
    auto response = run(io, client.send(std::move(request), in(60s)));
    client.close();
    if (!response) throw std::runtime_error(method + " " + target + ": " + response.error().message());
    Reply reply{response->status, {}, std::move(response->body)};
    for (const auto& [name, value] : response->headers.all()) {
        std::string lower = name;
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        reply.headers[lower] = value;
    }
    return reply;
}

std::string send_raw(const std::string& address, std::string_view bytes) {
    asio::io_context io(1);
    asio::ip::tcp::socket socket(io);
    const auto colon = address.rfind(':');
    socket.connect({asio::ip::make_address(address.substr(0, colon)),
                    static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)))});
    boost::system::error_code ignored;
    asio::write(socket, asio::buffer(bytes), ignored);  // a server that refuses early may close before it has read all
    std::string received;
    std::array<char, 16384> buffer{};
    std::function<void()> read = [&] {
        socket.async_read_some(asio::buffer(buffer), [&](boost::system::error_code error, std::size_t size) {
            if (error) return;
            received.append(buffer.data(), size);
            read();
        });
    };
    read();
    io.run_for(2s);
    return received;
}

}  // namespace sandbox::test
