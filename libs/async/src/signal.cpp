#include <list>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <sandbox/async/signal.hpp>

namespace sandbox::async {

struct Signal::State {
    enum class Woken { no, notified, abandoned };

    struct Waiter {
        asio::steady_timer timer;  // expires at the deadline; cancelled to wake its task sooner
        Woken woken = Woken::no;
    };

    std::list<Waiter*> waiters;
    bool abandoned = false;

    void wake_all(Woken how) {
        for (auto* waiter : waiters) {
            if (waiter->woken != Woken::no) continue;
            waiter->woken = how;
            waiter->timer.cancel();
        }
    }

    // The waiter lives in the coroutine's frame: a frame that is destroyed while it waits takes its entry along.
    struct Registration {
        std::shared_ptr<State> state;
        std::list<Waiter*>::iterator place;
        Registration(std::shared_ptr<State> s, Waiter* waiter)
            : state(std::move(s)), place(state->waiters.insert(state->waiters.end(), waiter)) {}
        Registration(const Registration&) = delete;
        Registration& operator=(const Registration&) = delete;
        ~Registration() { state->waiters.erase(place); }
    };

    static Task<bool> wait(std::shared_ptr<State> state, Deadline deadline) {
        Waiter waiter{asio::steady_timer(co_await asio::this_coro::executor, deadline)};
        if (state->abandoned) co_return false;
        Registration registration(state, &waiter);
        boost::system::error_code error;
        co_await waiter.timer.async_wait(asio::redirect_error(asio::use_awaitable, error));
        if (waiter.woken != Woken::no) co_return waiter.woken == Woken::notified;
        if (error) throw boost::system::system_error(error);
        co_return false;
    }
};

Signal::Signal() : state_(std::make_shared<State>()) {}

Signal::~Signal() {
    state_->abandoned = true;
    state_->wake_all(State::Woken::abandoned);
}

Task<bool> Signal::wait(Deadline deadline) {
    return State::wait(state_, deadline);
}

void Signal::notify_all() {
    state_->wake_all(State::Woken::notified);
}

std::size_t Signal::waiting() const noexcept {
    return static_cast<std::size_t>(std::ranges::count(state_->waiters, State::Woken::no, &State::Waiter::woken));
}

}  // namespace sandbox::async
