// Requests per second over loopback, and bytes per second of an upgraded stream, client and server on one thread each,
// beside what bare sockets do with the same bytes in the same run. Prints what it measured.

#include <arpa/inet.h>
#include <chrono>
#include <cstdio>
#include <netinet/tcp.h>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include <sandbox/base/random.hpp>
#include <sandbox/http/client.hpp>
#include <sandbox/http/router.hpp>
#include <sandbox/http/server.hpp>

namespace sandbox::http {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kTime = 2s;
constexpr std::size_t kStreamBytes = 1024UL * 1024 * 1024;

double seconds_since(Clock::time_point begin) {
    return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Processor time of all threads, which a busy machine does not blur as it does the clock's.
double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One measurement: how often something was done, by the clock and by the processor.
class Measured {
public:
    void report(const std::string& what, std::size_t times) const {
        auto clock = seconds_since(begin_);
        auto cpu = cpu_seconds() - cpu_;
        fmt::print("{:<22} {:>9.0f}/s {:>8.1f} us of the processor each\n", what, static_cast<double>(times) / clock,
                   cpu * 1e6 / static_cast<double>(times));
    }

private:
    Clock::time_point begin_ = Clock::now();
    double cpu_ = cpu_seconds();
};

Response plain_error(unsigned status, std::string message, const std::string&) {
    Response response;
    response.status = status;
    response.body = std::move(message);
    return response;
}

/// The server on a thread of its own.
class Served {
public:
    Served() : router_(plain_error), server_(io_.get_executor(), {}, router_, random_) {
        auto hello = [](Request) -> Task<Response> {
            Response response;
            response.body = R"({"status":"ok"})";
            co_return response;
        };
        router_.add({.method = "GET", .pattern = "/hello", .body_limit = 0, .handler = hello, .guard = {}});
        auto pour = [this](Request) -> Task<Response> {
            Response response;
            response.status = 101;
            response.on_upgrade = [this](std::unique_ptr<Stream> stream) {
                asio::co_spawn(io_, write_all(std::move(stream)), asio::detached);
            };
            co_return response;
        };
        router_.add({.method = "GET", .pattern = "/pour", .body_limit = 0, .handler = pour, .guard = {}});
        if (auto listening = server_.listen(); !listening) broken_invariant(listening.error().message());
        server_.start();
        thread_ = std::thread([this] { io_.run(); });
    }
    ~Served() {
        asio::co_spawn(io_, server_.stop(in(1s)), asio::detached);
        thread_.join();
    }

    [[nodiscard]] std::string address() const { return server_.address(); }

private:
    static Task<void> write_all(std::unique_ptr<Stream> stream) {
        std::string block(256 * 1024, 'x');
        for (std::size_t sent = 0; sent < kStreamBytes; sent += block.size()) {
            auto written = co_await stream->write(block, in(10s));
            if (!written) co_return;
        }
        stream->shutdown_write();
        std::string end(1, '\0');
        co_await stream->read_some(end, in(10s));
    }

    asio::io_context io_{1};
    SystemRandom random_;
    Router router_;
    Server server_;
    std::thread thread_;
};

Task<void> ask(Client& client, Clock::time_point end, std::size_t& answers) {
    while (Clock::now() < end) {
        Request request;
        request.target = "/hello";
        auto response = co_await client.send(std::move(request), in(5s));
        if (!response || response->status != 200) broken_invariant("a request failed");
        ++answers;
    }
}

void measure_requests(const std::string& address, int connections) {
    asio::io_context io(1);
    Client client(io.get_executor(), {.server = *Url::parse("http://" + address), .max_idle_connections = 1000});
    std::size_t answers = 0;
    Measured measured;
    auto begin = Clock::now();
    for (int i = 0; i < connections; ++i) asio::co_spawn(io, ask(client, begin + kTime, answers), asio::detached);
    io.run();
    measured.report(fmt::format("requests, {} at once", connections), answers);
}

void measure_stream(const std::string& address) {
    asio::io_context io(1);
    Client client(io.get_executor(), {.server = *Url::parse("http://" + address)});
    std::size_t total = 0;
    Measured measured;
    auto drink = [&]() -> Task<void> {
        Request request;
        request.target = "/pour";
        auto stream = co_await client.upgrade(std::move(request), "bytes", in(5s));
        if (!stream) broken_invariant(stream.error().message());
        std::string buffer(256 * 1024, '\0');
        while (true) {
            auto got = co_await (*stream)->read_some(buffer, in(10s));
            if (!got || *got == 0) co_return;
            total += *got;
        }
    };
    asio::co_spawn(io, drink(), asio::detached);
    io.run();
    measured.report("MiB of a raw stream", total / 1024 / 1024);
}

// The floor: the same bytes there and back between two threads with blocking sockets, and nothing else.
void measure_bare_sockets() {
    int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener, reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener, 1);
    ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
    const std::string request = "GET /hello HTTP/1.1\r\nHost: 127.0.0.1:12345\r\n\r\n";
    const std::string answer(190, 'x');
    auto exchange = [](int descriptor, const std::string& out, std::size_t expected) {
        std::string buffer(expected, '\0');
        if (!out.empty() && ::send(descriptor, out.data(), out.size(), MSG_NOSIGNAL) < 0) return false;
        return ::recv(descriptor, buffer.data(), expected, MSG_WAITALL) == static_cast<ssize_t>(expected);
    };
    std::thread server([&] {
        int peer = ::accept(listener, nullptr, nullptr);
        int on = 1;
        ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (exchange(peer, {}, request.size())) {
            while (exchange(peer, answer, request.size())) {
            }
        }
        ::close(peer);
    });
    int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ::connect(client, reinterpret_cast<sockaddr*>(&address), size);
    int on = 1;
    ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::size_t answers = 0;
    Measured measured;
    auto begin = Clock::now();
    while (Clock::now() < begin + kTime && exchange(client, request, answer.size())) ++answers;
    measured.report("bare sockets' requests", answers);
    ::close(client);
    server.join();
    ::close(listener);
}

// What an idle connection costs the server: the process's growth over many of them, the clients' descriptors included.
void measure_idle_memory(const std::string& address) {
    constexpr int kConnections = 400;
    auto resident = [] {
        long pages = 0, total = 0;
        FILE* file = std::fopen("/proc/self/statm", "r");
        if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &pages) != 2) pages = 0;
        if (file != nullptr) std::fclose(file);
        return pages * ::sysconf(_SC_PAGESIZE);
    };
    sockaddr_in peer{};
    peer.sin_family = AF_INET;
    peer.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    peer.sin_port = htons(static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1))));
    const std::string request = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    std::vector<int> clients;
    auto before = resident();
    for (int i = 0; i < kConnections; ++i) {
        int client = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ::connect(client, reinterpret_cast<sockaddr*>(&peer), sizeof peer);
        char buffer[1024];
        if (::send(client, request.data(), request.size(), 0) > 0) (void)!::recv(client, buffer, sizeof buffer, 0);
        clients.push_back(client);
    }
    fmt::print("idle connections, {}: {:>9.1f} KiB each\n", kConnections,
               static_cast<double>(resident() - before) / kConnections / 1024);
    for (int client : clients) ::close(client);
}

}  // namespace
}  // namespace sandbox::http

int main() {
    using namespace sandbox::http;
    measure_bare_sockets();
    Served served;
    measure_idle_memory(served.address());
    for (int connections : {1, 8, 64}) measure_requests(served.address(), connections);
    measure_stream(served.address());
    return 0;
}
