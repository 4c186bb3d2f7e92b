#pragma once

#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Owns background tasks: each is started on the executor, cancelled together, and waited for before the owner goes.
/// A task that throws anything but operation_aborted is logged with its name (the one catch at its root). One thread.
class TaskGroup {
public:
    explicit TaskGroup(asio::any_io_executor executor);
    ~TaskGroup();  // aborts when tasks are left: join() must have been awaited, or the io_context be stopped
    TaskGroup(const TaskGroup&) = delete;
    TaskGroup& operator=(const TaskGroup&) = delete;

    void spawn(std::string name, Task<void> task);
    /// Asks every task to end (terminal cancellation); tasks spawned later do not begin.
    void cancel();
    /// Waits until all have ended, at most until the deadline; false when some have not.
    Task<bool> join(Deadline deadline);
    [[nodiscard]] std::size_t running() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sandbox::async
