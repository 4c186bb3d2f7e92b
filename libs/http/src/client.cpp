#include <fmt/format.h>

#include <sandbox/http/client.hpp>

#include "client_connection.hpp"
#include "response_head.hpp"
#include "text.hpp"

namespace sandbox::http {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kIdleTime = std::chrono::seconds(60);  // half of what our own server waits
constexpr std::size_t kErrorBodyBytes = 64 * 1024;
constexpr std::size_t kOneWriteBytes = 64 * 1024;

bool may_repeat(const Request& request) {
    return request.method == "GET" || request.method == "HEAD" || request.method == "DELETE";
}

bool is_token(std::string_view text) {
    return !text.empty() && is_visible_ascii(text) && text.find_first_of("()<>@,;:\\\"/[]?={}") == std::string::npos;
}

Result<std::string> request_head(const Request& request, const Url& server, std::string_view upgrade_to) {
    if (!is_token(request.method) || !request.target.starts_with('/') || !is_visible_ascii(request.target)) {
        return fail(Code::invalid_argument, "the request's method or target is malformed");
    }
    auto head = fmt::format("{} {}{} HTTP/1.1\r\n", request.method, server.path_prefix, request.target);
    append_field(head, "Host", server.host_header());
    for (const auto& [name, value] : request.headers.all()) {
        bool own = equal_without_case(name, "Host") || equal_without_case(name, "Content-Length") ||
                   equal_without_case(name, "Transfer-Encoding") || equal_without_case(name, "Connection");
        if (!is_token(name)) return fail(Code::invalid_argument, "a header's name is malformed");
        if (!own) append_field(head, name, value);
    }
    bool wants_length = request.method == "POST" || request.method == "PUT" || request.method == "PATCH";
    if (!request.body.empty() || wants_length) {
        append_field(head, "Content-Length", std::to_string(request.body.size()));
    }
    if (!upgrade_to.empty()) {
        append_field(head, "Connection", "Upgrade");
        append_field(head, "Upgrade", upgrade_to);
    }
    head += "\r\n";
    return head;
}

Code code_of(unsigned status) {
    if (status == 404) return Code::not_found;
    if (status == 409) return Code::conflict;
    return Code::unavailable;
}

}  // namespace

struct Client::Impl {
    Impl(asio::any_io_executor e, ClientSettings s) : executor(std::move(e)), settings(std::move(s)) {}

    asio::any_io_executor executor;
    ClientSettings settings;
    std::shared_ptr<TlsContext> tls;
    std::vector<std::unique_ptr<ClientConnection>> idle;
    bool closed = false;

    std::unique_ptr<ClientConnection> take_idle();
    void keep(std::unique_ptr<ClientConnection> connection);
    static Task<Result<std::unique_ptr<ClientConnection>>> open(std::shared_ptr<Impl> self, Deadline deadline);
    /// Sends the request and reads the answer's head. What could be written of the request is told in `written`.
    static Task<Result<Response>> begin(std::shared_ptr<Impl> self, ClientConnection& connection,
                                        const Request& request, std::string_view upgrade_to, Deadline deadline,
                                        std::size_t& written);
    static Task<Result<void>> collect(ClientConnection& connection, Response& response, std::size_t limit,
                                      Deadline deadline);
    static Task<Result<Response>> send(std::shared_ptr<Impl> self, Request request, Deadline deadline);
    static Task<Result<Response>> stream(std::shared_ptr<Impl> self, Request request,
                                         std::function<bool(std::string_view)> on_data, Deadline deadline);
    static Task<Result<std::unique_ptr<Stream>>> upgrade(std::shared_ptr<Impl> self, Request request,
                                                         std::string protocol, Deadline deadline);

    // Says which server it was.
    [[nodiscard]] std::unexpected<Error> failed(Error error) const {
        return fail(std::move(error).in(settings.server.text()));
    }
};

std::unique_ptr<ClientConnection> Client::Impl::take_idle() {
    while (!idle.empty()) {
        auto connection = std::move(idle.back());
        idle.pop_back();
        if (Clock::now() - connection->idle_since < kIdleTime && connection->quiet()) return connection;
    }
    return nullptr;
}

void Client::Impl::keep(std::unique_ptr<ClientConnection> connection) {
    if (closed || !connection->reusable() || idle.size() >= settings.max_idle_connections) return;
    connection->idle_since = Clock::now();
    idle.push_back(std::move(connection));
}

Task<Result<std::unique_ptr<ClientConnection>>> Client::Impl::open(std::shared_ptr<Impl> self, Deadline deadline) {
    if (self->settings.server.scheme == Url::Scheme::https && !self->tls) {
        auto made = TlsContext::for_client(self->settings.ca_file);
        if (!made) co_return fail(Code::unavailable, made.error().message());
        self->tls = std::move(*made);
    }
    auto channel = co_await connect(self->executor, self->settings, self->tls, deadline);
    if (!channel) co_return fail(std::move(channel.error()));
    co_return std::make_unique<ClientConnection>(std::move(*channel));
}

Task<Result<Response>> Client::Impl::begin(std::shared_ptr<Impl> self, ClientConnection& connection,
                                           const Request& request, std::string_view upgrade_to, Deadline deadline,
                                           std::size_t& written) {
    auto head = request_head(request, self->settings.server, upgrade_to);
    if (!head) co_return fail(std::move(head.error()));
    std::string_view rest = request.body;
    if (rest.size() <= kOneWriteBytes) {
        *head += rest;
        rest = {};
    }
    auto sent = co_await connection.write(*head, deadline, written);
    if (sent) sent = co_await connection.write(rest, deadline, written);
    // A server that refuses a body may answer and close before it has taken all of it.
    if (!sent && (written == 0 || sent.error().code() != Code::unavailable)) co_return fail(std::move(sent.error()));
    auto response = co_await connection.read_head(request.method == "HEAD", deadline);
    if (!response && !sent) co_return fail(std::move(sent.error()));
    co_return response;
}

Task<Result<void>> Client::Impl::collect(ClientConnection& connection, Response& response, std::size_t limit,
                                         Deadline deadline) {
    bool stopped = false;
    BodySink sink = [&](std::string_view bytes) {
        if (bytes.size() > limit - response.body.size()) return false;
        response.body += bytes;
        return true;
    };
    auto read = co_await connection.read_body(sink, stopped, deadline);
    if (stopped) co_return fail(Code::unavailable, fmt::format("the answer is larger than {} bytes", limit));
    co_return read;
}

Task<Result<Response>> Client::Impl::send(std::shared_ptr<Impl> self, Request request, Deadline deadline) {
    while (true) {
        auto connection = self->take_idle();
        bool kept = connection != nullptr;
        if (!kept) {
            auto opened = co_await open(self, deadline);
            if (!opened) co_return fail(std::move(opened.error()));
            connection = std::move(*opened);
        }
        std::size_t written = 0;
        auto response = co_await begin(self, *connection, request, {}, deadline, written);
        if (!response) {
            bool again = kept && response.error().code() == Code::unavailable && !connection->got_any() &&
                         (written == 0 || may_repeat(request));
            if (again) continue;
            co_return self->failed(std::move(response.error()));
        }
        auto read = co_await collect(*connection, *response, self->settings.response_limit_bytes, deadline);
        if (!read) co_return self->failed(std::move(read.error()));
        self->keep(std::move(connection));
        co_return response;
    }
}

Task<Result<Response>> Client::Impl::stream(std::shared_ptr<Impl> self, Request request,
                                            std::function<bool(std::string_view)> on_data, Deadline deadline) {
    auto connection = co_await open(self, deadline);
    if (!connection) co_return fail(std::move(connection.error()));
    std::size_t written = 0;
    auto response = co_await begin(self, **connection, request, {}, deadline, written);
    if (!response) co_return self->failed(std::move(response.error()));
    Result<void> read;
    if (response->status / 100 == 2) {
        bool stopped = false;
        read = co_await (*connection)->read_body(on_data, stopped, deadline);
    } else {
        read = co_await collect(**connection, *response, self->settings.response_limit_bytes, deadline);
    }
    if (!read) co_return self->failed(std::move(read.error()));
    co_return response;
}

Task<Result<std::unique_ptr<Stream>>> Client::Impl::upgrade(std::shared_ptr<Impl> self, Request request,
                                                            std::string protocol, Deadline deadline) {
    auto connection = co_await open(self, deadline);
    if (!connection) co_return fail(std::move(connection.error()));
    std::size_t written = 0;
    auto response = co_await begin(self, **connection, request, protocol, deadline, written);
    if (!response) co_return self->failed(std::move(response.error()));
    if (response->status == 101 || response->status == 200) co_return (*connection)->into_stream();

    auto read = co_await collect(**connection, *response, kErrorBodyBytes, deadline);
    if (!read) response->body.clear();
    auto text = response->body.empty() ? std::string(reason_phrase(response->status)) : response->body;
    co_return self->failed(Error(code_of(response->status), fmt::format("{} {}", response->status, text)));
}

Client::Client(asio::any_io_executor executor, ClientSettings settings)
    : impl_(std::make_shared<Impl>(std::move(executor), std::move(settings))) {}

Client::~Client() {
    close();
}

Task<Result<Response>> Client::send(Request request, Deadline deadline) {
    return Impl::send(impl_, std::move(request), deadline);
}

Task<Result<Response>> Client::stream(Request request, std::function<bool(std::string_view)> on_data,
                                      Deadline deadline) {
    return Impl::stream(impl_, std::move(request), std::move(on_data), deadline);
}

Task<Result<std::unique_ptr<Stream>>> Client::upgrade(Request request, std::string protocol, Deadline deadline) {
    return Impl::upgrade(impl_, std::move(request), std::move(protocol), deadline);
}

void Client::close() {
    impl_->closed = true;
    impl_->idle.clear();
}

}  // namespace sandbox::http
