#include "postgres/pool.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <sys/socket.h>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/base/log.hpp>

namespace sandbox::store::postgres {

using std::chrono::steady_clock;

namespace {

constexpr std::chrono::milliseconds kFirstBackOff{50};
constexpr std::chrono::milliseconds kLongestBackOff{1000};

Error no_answer() {
    return Error(Code::unavailable, "PostgreSQL did not answer in time");
}

Error closed() {
    return Error(Code::unavailable, "the store is closed");
}

}  // namespace

struct Pool::Call {
    explicit Call(const asio::any_io_executor& io) : timer(io) {}

    // io thread
    asio::steady_timer timer;  // expires when the caller stops waiting; cancelled when there is a result
    std::optional<Result<void>> result;
    // both
    std::atomic<bool> abandoned = false;
    // under the pool's mutex, while at work
    steady_clock::time_point began;
    int socket = -1;
};

Pool::Pool(asio::any_io_executor io, Access access, std::size_t threads)
    : io_(std::move(io)), access_(std::move(access)), threads_(threads) {}

Pool::~Pool() {
    close();
}

void Pool::close() {
    closed_ = true;
    cut_off_hanging({});
    threads_.join();
    idle_.clear();
}

Task<Result<void>> Pool::perform(Deadline deadline, Act act, bool repeatable) {
    if (closed_) co_return fail(closed());
    auto call = std::make_shared<Call>(io_);
    asio::post(threads_, [this, call, act = std::move(act), repeatable]() mutable {
        if (call->abandoned) return;
        auto result = with_connection(*call, act, repeatable);
        asio::post(io_, [call, result = std::move(result)]() mutable {
            call->result = std::move(result);
            call->timer.cancel();
        });
    });
    co_return co_await wait_for(std::move(call), deadline);
}

Task<Result<void>> Pool::wait_for(std::shared_ptr<Call> call, Deadline deadline) {
    call->timer.expires_at(std::min(deadline, steady_clock::now() + kAnswerWithin));
    const auto [error] = co_await call->timer.async_wait(asio::as_tuple(asio::use_awaitable));
    if (call->result) co_return std::move(*call->result);
    call->abandoned = true;
    const auto state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none) throw boost::system::system_error(error);
    cut_off_hanging(kAnswerWithin);
    co_return fail(no_answer());
}

Task<Result<std::unique_ptr<Connection>>> Pool::connect(Deadline deadline, SetUp set_up) {
    if (closed_) co_return fail(closed());
    auto call = std::make_shared<Call>(io_);
    auto opened = std::make_shared<Result<std::unique_ptr<Connection>>>(fail(no_answer()));
    asio::post(threads_, [this, call, opened, set_up = std::move(set_up)] {
        if (call->abandoned) return;
        *opened = open();
        if (*opened)
            if (auto done = set_up(***opened); !done) *opened = fail(std::move(done.error()));
        asio::post(io_, [call] {
            call->result.emplace();
            call->timer.cancel();
        });
    });
    auto done = co_await wait_for(std::move(call), deadline);
    if (!done) co_return fail(std::move(done.error()));
    co_return std::move(*opened);
}

std::exception_ptr Pool::try_out(Call& call, const Act& act, Connection& connection) {
    {
        const std::lock_guard lock(mutex_);
        call.began = steady_clock::now();
        call.socket = connection.socket();
        at_work_.insert(&call);
    }
    std::exception_ptr failure;
    try {
        act(connection);
    } catch (...) {
        failure = std::current_exception();
    }
    // From here on nobody cuts the socket any more: it may be another connection's soon.
    const std::lock_guard lock(mutex_);
    at_work_.erase(&call);
    return failure;
}

Result<void> Pool::with_connection(Call& call, const Act& act, bool repeatable) {
    while (true) {
        if (closed_) return fail(closed());
        auto connection = take_connection();
        if (!connection) return fail(std::move(connection.error()));
        const auto failure = try_out(call, act, **connection);
        const bool broken = (*connection)->broken();
        if (!failure && !broken) {
            give_back(*std::move(connection));
            return {};
        }
        if (broken && std::exchange(repeatable, false) && !call.abandoned) continue;
        if (!failure) return {};  // the act has said so itself
        try {
            std::rethrow_exception(failure);
        } catch (const std::exception& thrown) {
            log::error("what the database holds could not be read", {{"error", thrown.what()}});
            return fail(Code::internal, std::string("what the database holds could not be read: ") + thrown.what());
        }
    }
}

Result<std::unique_ptr<Connection>> Pool::take_connection() {
    while (true) {
        std::unique_ptr<Connection> connection;
        {
            const std::lock_guard lock(mutex_);
            if (idle_.empty()) break;
            connection = std::move(idle_.back());
            idle_.pop_back();
        }
        if (connection->seems_alive()) return connection;
    }
    return open();
}

/// While the server is away nobody waits for it in vain: between two attempts to reach it, calls fail at once.
Result<std::unique_ptr<Connection>> Pool::open() {
    {
        const std::lock_guard lock(mutex_);
        if (steady_clock::now() < not_before_) return fail(Code::unavailable, why_down_);
    }
    auto connection = Connection::open(access_);
    const std::lock_guard lock(mutex_);
    if (connection) {
        if (back_off_.count() > 0) log::info("PostgreSQL answers again", {{"at", access_.description}});
        back_off_ = {};
        not_before_ = {};
        return connection;
    }
    if (back_off_.count() == 0) log::warn("no connection", {{"error", connection.error().message()}});
    back_off_ = std::clamp(back_off_ * 2, kFirstBackOff, kLongestBackOff);
    not_before_ = steady_clock::now() + back_off_;
    why_down_ = connection.error().message();
    return connection;
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
}

/// A server that stands still, or a network that swallows everything, would hold the thread for ever: with its socket
/// shut down the client library gives up.
void Pool::cut_off_hanging(steady_clock::duration longer_than) {
    const std::lock_guard lock(mutex_);
    const auto now = steady_clock::now();
    for (const auto* call : at_work_)
        if (call->socket >= 0 && now - call->began >= longer_than) ::shutdown(call->socket, SHUT_RDWR);
}

}  // namespace sandbox::store::postgres
