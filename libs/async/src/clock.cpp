#include <list>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/system_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/clock.hpp>

namespace sandbox::async {

Timestamp SystemClock::now() const {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
}

Task<void> SystemClock::sleep_until(Timestamp time) {
    asio::system_timer timer(co_await asio::this_coro::executor);
    // A wall clock that is set back while we sleep makes the timer early, hence the loop.
    while (now() < time) {
        timer.expires_at(time);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

struct ManualClock::State {
    struct Sleeper {
        Timestamp due;
        asio::steady_timer timer;  // never expires; cancelled to wake its task
        bool woken = false;
    };

    Timestamp now;
    std::list<Sleeper*> sleepers;

    // The sleeper lives in the coroutine's frame: a frame that is destroyed while it sleeps takes its entry along.
    struct Registration {
        std::shared_ptr<State> state;
        std::list<Sleeper*>::iterator place;
        Registration(std::shared_ptr<State> s, Sleeper* sleeper)
            : state(std::move(s)), place(state->sleepers.insert(state->sleepers.end(), sleeper)) {}
        Registration(const Registration&) = delete;
        Registration& operator=(const Registration&) = delete;
        ~Registration() { state->sleepers.erase(place); }
    };

    static Task<void> sleep(std::shared_ptr<State> state, Timestamp due) {
        if (state->now >= due) co_return;
        Sleeper sleeper{due, asio::steady_timer(co_await asio::this_coro::executor, Deadline::max())};
        Registration registration(state, &sleeper);
        boost::system::error_code error;
        co_await sleeper.timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (!sleeper.woken) throw boost::system::system_error(asio::error::operation_aborted);
    }
};

ManualClock::ManualClock(Timestamp start) : state_(std::make_shared<State>()) {
    state_->now = start;
}

ManualClock::~ManualClock() = default;

Timestamp ManualClock::now() const {
    return state_->now;
}

Task<void> ManualClock::sleep_until(Timestamp time) {
    return State::sleep(state_, time);
}

void ManualClock::advance(std::chrono::microseconds by) {
    state_->now += by;
    for (auto* sleeper : state_->sleepers) {
        if (sleeper->due > state_->now || sleeper->woken) continue;
        sleeper->woken = true;
        sleeper->timer.cancel();
    }
}

}  // namespace sandbox::async
