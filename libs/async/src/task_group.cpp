#include <list>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/base/log.hpp>

namespace sandbox::async {

struct TaskGroup::State {
    struct Running {
        explicit Running(std::string n) : name(std::move(n)) {}
        std::string name;
        asio::cancellation_signal cancel;
    };

    explicit State(asio::any_io_executor e) : executor(std::move(e)) {}

    asio::any_io_executor executor;
    std::list<std::shared_ptr<Running>> tasks;
    Signal ended;
    bool cancelled = false;

    // Held by the completion handler: leaves the list when the task has ended, or was destroyed with its context.
    struct Entry {
        std::shared_ptr<State> state;
        std::list<std::shared_ptr<Running>>::iterator place;
        Entry(std::shared_ptr<State> s, std::shared_ptr<Running> running)
            : state(std::move(s)), place(state->tasks.insert(state->tasks.end(), std::move(running))) {}
        Entry(const Entry&) = delete;
        Entry& operator=(const Entry&) = delete;
        ~Entry() { state->tasks.erase(place); }
    };

    // A context that was stopped, or has run dry, runs none of them any more; its destruction frees them.
    [[nodiscard]] bool context_finished() const {
        const auto* io = executor.target<asio::io_context::executor_type>();
        return io != nullptr && io->context().stopped();
    }
};

namespace {

void log_failure(const std::string& name, const std::exception_ptr& failure) {
    try {
        std::rethrow_exception(failure);
    } catch (const boost::system::system_error& error) {
        if (error.code() == asio::error::operation_aborted) return;
        log::error("task failed", {{"task", name}, {"error", error.what()}});
    } catch (const std::exception& error) {
        log::error("task failed", {{"task", name}, {"error", error.what()}});
    } catch (...) {
        log::error("task failed", {{"task", name}, {"error", "unknown exception"}});
    }
}

}  // namespace

TaskGroup::TaskGroup(asio::any_io_executor executor) : state_(std::make_shared<State>(std::move(executor))) {}

TaskGroup::~TaskGroup() {
    if (state_->tasks.empty() || state_->context_finished()) return;
    broken_invariant("TaskGroup destroyed while \"" + state_->tasks.front()->name + "\" runs; await join() first");
}

void TaskGroup::spawn(std::string name, Task<void> task) {
    if (state_->cancelled) return;
    auto running = std::make_shared<State::Running>(std::move(name));
    auto entry = std::make_unique<State::Entry>(state_, running);
    auto on_end = [running, entry = std::move(entry)](const std::exception_ptr& failure) mutable {
        auto state = entry->state;
        entry.reset();
        if (failure) log_failure(running->name, failure);
        state->ended.notify_all();
    };
    asio::co_spawn(state_->executor, std::move(task),
                   asio::bind_cancellation_slot(running->cancel.slot(), std::move(on_end)));
}

void TaskGroup::cancel() {
    state_->cancelled = true;
    auto tasks = state_->tasks;  // a task may end, and leave the list, while it is told
    for (auto& running : tasks) running->cancel.emit(asio::cancellation_type::terminal);
}

Task<bool> TaskGroup::join(Deadline deadline) {
    auto state = state_;
    while (!state->tasks.empty()) {
        if (!co_await state->ended.wait(deadline)) co_return state->tasks.empty();
    }
    co_return true;
}

std::size_t TaskGroup::running() const noexcept {
    return state_->tasks.size();
}

}  // namespace sandbox::async
