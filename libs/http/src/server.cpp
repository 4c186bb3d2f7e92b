#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <netdb.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <unordered_set>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/async/signal.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/http/server.hpp>

#include "address.hpp"
#include "server_connection.hpp"
#include "tls.hpp"

namespace sandbox::http {

namespace {

constexpr std::size_t kRefusalsAtOnce = 64;  // clients past max_connections that are told so
constexpr auto kAcceptPause = std::chrono::milliseconds(100);
constexpr auto kLastCall = std::chrono::seconds(5);  // for cancelled handlers to end

}  // namespace

struct Server::Impl : std::enable_shared_from_this<Server::Impl> {
    Impl(asio::any_io_executor e, std::shared_ptr<ServerContext> c)
        : executor(e), context(std::move(c)), listener(e), pause(e) {}

    asio::any_io_executor executor;
    std::shared_ptr<ServerContext> context;
    std::shared_ptr<TlsContext> tls;
    asio::posix::stream_descriptor listener;
    asio::steady_timer pause;
    std::string address;
    std::unordered_set<std::shared_ptr<ServerConnection>> running;
    std::shared_ptr<std::size_t> open = std::make_shared<std::size_t>(0);  // descriptors, those taken over included
    async::Signal ended;

    static Task<void> accept_all(std::shared_ptr<Impl> self);
    int accept_one();
    void take(int descriptor, std::string remote);
    void close_listener() {
        boost::system::error_code ignored;
        listener.close(ignored);
        pause.cancel();
    }
};

// 0 when a connection was taken, else why not.
int Server::Impl::accept_one() {
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    int descriptor =
        ::accept4(listener.native_handle(), reinterpret_cast<sockaddr*>(&peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor < 0) return errno;
    if (*open >= context->settings.max_connections + kRefusalsAtOnce) {
        ::close(descriptor);
        return 0;
    }
    set_no_delay(descriptor);
    take(descriptor, ip_text(peer));
    return 0;
}

void Server::Impl::take(int descriptor, std::string remote) {
    bool refuse = *open >= context->settings.max_connections;
    ++*open;
    std::shared_ptr<void> token(nullptr, [count = open](void*) { --*count; });
    std::shared_ptr<Channel> channel;
    if (tls)
        channel = std::make_shared<TlsChannel>(executor, descriptor, tls);
    else
        channel = std::make_shared<Channel>(executor, descriptor);
    auto connection =
        std::make_shared<ServerConnection>(context, std::move(channel), std::move(remote), std::move(token), refuse);
    running.insert(connection);
    auto on_end = [self = shared_from_this(), connection](const std::exception_ptr& failure) {
        self->running.erase(connection);
        self->ended.notify_all();
        if (!failure) return;
        connection->cancel();
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& error) {
            log::error("connection failed", {{"error", error.what()}});
        }
    };
    asio::co_spawn(executor, ServerConnection::run(connection), std::move(on_end));
}

Task<void> Server::Impl::accept_all(std::shared_ptr<Impl> self) {
    while (self->listener.is_open()) {
        boost::system::error_code error;
        auto wait = asio::posix::stream_descriptor::wait_read;
        co_await self->listener.async_wait(wait, asio::redirect_error(asio::use_awaitable, error));
        if (!self->listener.is_open()) co_return;
        int failed = 0;
        for (int i = 0; i < 64 && failed == 0; ++i) failed = self->accept_one();
        bool passing = failed == EAGAIN || failed == EWOULDBLOCK || failed == ECONNABORTED || failed == EINTR;
        if (failed == 0 || passing) continue;
        // Out of descriptors or memory: waiting connections stay in the backlog until some are free again.
        log::warn("can't accept connections", {{"error", std::error_code(failed, std::system_category()).message()}});
        self->pause.expires_after(kAcceptPause);
        co_await self->pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
    }
}

Server::Server(asio::any_io_executor executor, ServerSettings settings, Service& service, Random& random)
    : impl_(std::make_shared<Impl>(
          executor, std::make_shared<ServerContext>(ServerContext{std::move(settings), service, random}))) {}

Server::~Server() {
    impl_->context->stopping = true;
    impl_->close_listener();
    auto running = impl_->running;
    for (const auto& connection : running) connection->cancel();
}

Result<void> Server::listen() {
    auto& impl = *impl_;
    if (auto loaded = reload_tls(); !loaded) return loaded;
    auto bound = bind_and_listen(impl.context->settings.bind);
    if (!bound) return fail(std::move(bound.error()));
    impl.listener.assign(bound->descriptor);
    impl.address = std::move(bound->address);
    return {};
}

std::string Server::address() const {
    return impl_->address;
}

void Server::start() {
    asio::co_spawn(impl_->executor, Impl::accept_all(impl_), asio::detached);
}

Result<void> Server::reload_tls() {
    const auto& files = impl_->context->settings.tls;
    if (!files) return {};
    auto loaded = TlsContext::for_server(*files);
    if (!loaded) return fail(std::move(loaded.error()));
    impl_->tls = std::move(*loaded);
    return {};
}

Task<void> Server::stop(Deadline deadline) {
    auto impl = impl_;
    impl->context->stopping = true;
    impl->close_listener();
    auto finishing = impl->running;
    for (const auto& connection : finishing) connection->finish();
    while (!impl->running.empty()) {
        if (!co_await impl->ended.wait(deadline)) break;
    }
    auto late = impl->running;
    for (const auto& connection : late) connection->cancel();
    auto last_call = in(kLastCall);
    while (!impl->running.empty()) {
        if (co_await impl->ended.wait(last_call)) continue;
        log::error("requests did not end when cancelled", {{"count", std::to_string(impl->running.size())}});
        break;
    }
}

std::size_t Server::connections() const noexcept {
    return *impl_->open;
}

}  // namespace sandbox::http
