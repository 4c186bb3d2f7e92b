#pragma once

#include <memory>

#include <sandbox/async/task.hpp>

namespace sandbox::async {

/// Wakes tasks that wait for "something changed": long polls, queues, shutdown. Level-free: a notify wakes who waits
/// now; who comes later checks its condition first. One thread. Waiters may outlive it (they wake as if timed out).
class Signal {
public:
    Signal();
    ~Signal();
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    /// true when notified, false when the deadline passed. Throws system_error(operation_aborted) when cancelled.
    Task<bool> wait(Deadline deadline);
    void notify_all();
    [[nodiscard]] std::size_t waiting() const noexcept;

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sandbox::async
