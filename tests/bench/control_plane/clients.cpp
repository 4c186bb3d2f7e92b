#include "clients.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace sandbox::bench {

using namespace std::chrono_literals;

namespace {

constexpr auto kCall = 60s;
constexpr int kExecWaitSeconds = 30;

domain::SandboxSpec spec_of(std::size_t number) {
    domain::SandboxSpec spec;
    spec.tenant = "bench";
    spec.image = "bench:1";
    spec.env[Journal::kNumber] = std::to_string(number);
    spec.resources = {.cpu_millis = 100, .memory_mib = 64, .disk_mib = 64, .pids = 16};
    return spec;
}

}  // namespace

Clients::Clients(asio::any_io_executor executor, const Settings& settings, const std::vector<http::Url>& controllers,
                 Journal& journal)
    : executor_(executor), settings_(settings), journal_(journal), tasks_(executor) {
    for (int i = 0; i < settings_.clients; ++i) {
        const auto controller = static_cast<std::size_t>(i) % controllers.size();
        callers_.push_back(
            {.controller = controller,
             .client = std::make_unique<client::Client>(
                 executor_, client::Settings{.server = controllers[controller], .token = {}, .ca_file = {}})});
    }
}

Steady::time_point Clients::Pace::take() {
    if (interval == interval.zero()) return Steady::now();
    const auto due = next;
    next += interval;
    return due;
}

Clients::Pace Clients::pace(std::chrono::seconds time) const {
    const auto now = Steady::now();
    const auto interval = settings_.rate > 0 ? std::chrono::duration<double>(1 / settings_.rate) : 0s;
    return {.interval = std::chrono::duration_cast<Steady::duration>(interval), .next = now, .until = now + time};
}

template <class Work>
Task<void> Clients::all(const std::string& name, Work work) {
    std::size_t left = callers_.size();
    async::Signal ended;
    const auto run = [&left, &ended, &work](Caller& caller) -> Task<void> {
        co_await work(caller);
        --left;
        ended.notify_all();
    };
    for (auto& caller : callers_) tasks_.spawn(name, run(caller));
    while (left > 0) co_await ended.wait(Steady::now() + 1h);
}

Task<void> Clients::create(std::chrono::seconds time, bool counted) {
    auto schedule = pace(time);
    const auto work = [&](Caller& caller) { return create_some(caller, schedule, counted); };
    co_await all("create", work);
    sandboxes_ = journal_.running();
}

Task<void> Clients::create_some(Caller& caller, Pace& pace, bool counted) {
    for (auto due = pace.take(); due < pace.until; due = pace.take()) {
        if (due > Steady::now()) co_await sleep_until(due);
        co_await create_one(caller, due, counted);
    }
}

Task<void> Clients::create_one(Caller& caller, Steady::time_point due, bool counted) {
    const auto number = journal_.begin(due, caller.controller, counted);
    auto answer = co_await caller.client->create(spec_of(number), "", 0, in(kCall));
    if (!answer) {
        journal_.failed("create", answer.error());
        co_return;
    }
    journal_.answered(number, answer->sandbox.id);
    // At a given rate the next one is sent when it is due, whatever became of this one. Without one the workers set
    // the pace: otherwise their queues would only grow.
    if (settings_.rate > 0 && settings_.deletes != Deletes::during) co_return;
    if (!co_await journal_.until_running(number, in(kCall))) {
        journal_.failed("create", "not running in time");
        co_return;
    }
    if (settings_.deletes == Deletes::during) co_await remove_one(caller, answer->sandbox.id);
}

Task<void> Clients::exec(std::chrono::seconds time) {
    if (sandboxes_.empty()) co_return;
    auto schedule = pace(time);
    const auto work = [&](Caller& caller) { return exec_some(caller, schedule); };
    co_await all("exec", work);
}

Task<void> Clients::exec_some(Caller& caller, Pace& pace) {
    domain::Command command;
    command.argv = {"true"};
    for (auto due = pace.take(); due < pace.until; due = pace.take()) {
        if (due > Steady::now()) co_await sleep_until(due);
        const auto id = sandboxes_[next_++ % sandboxes_.size()].first;
        auto answer = co_await caller.client->exec(id, command, "", kExecWaitSeconds, in(kCall));
        if (!answer)
            journal_.failed("exec", answer.error());
        else if (answer->state != domain::OperationState::succeeded)
            journal_.failed("exec", std::string(to_text(answer->state)));
        else
            journal_.execs.add(Steady::now() - due);
    }
}

Task<void> Clients::remove() {
    sandboxes_ = journal_.running();
    next_ = 0;
    const auto work = [&](Caller& caller) { return remove_some(caller); };
    co_await all("delete", work);
    const auto deadline = in(kCall);
    while (journal_.deleted() < removing_) {
        if (co_await journal_.deleting.wait(deadline)) continue;
        journal_.failed("delete", "not stopped in time");
        break;
    }
}

Task<void> Clients::remove_some(Caller& caller) {
    while (next_ < sandboxes_.size()) {
        const auto id = sandboxes_[next_++].first;
        co_await remove_one(caller, id);
    }
}

Task<void> Clients::remove_one(Caller& caller, domain::SandboxId id) {
    auto answer = co_await caller.client->destroy(id, 0, in(kCall));
    if (answer)
        ++removing_;
    else
        journal_.failed("delete", answer.error());
}

Task<void> Clients::sleep_until(Steady::time_point time) {
    asio::steady_timer timer(executor_, time);
    co_await timer.async_wait(asio::use_awaitable);
}

Task<void> Clients::stop() {
    tasks_.cancel();
    co_await tasks_.join(in(30s));
}

}  // namespace sandbox::bench
