#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/async/task.hpp>
#include <sandbox/base/time.hpp>

namespace sandbox::async {

/// Wall time that can also be waited for. Injected, so that tests advance it.
class Clock : public TimeSource {
public:
    /// Resumes when now() >= time. Throws boost::system::system_error(operation_aborted) when the task is cancelled.
    virtual Task<void> sleep_until(Timestamp time) = 0;
};

/// The machine's clock.
class SystemClock final : public Clock {
public:
    [[nodiscard]] Timestamp now() const override;
    Task<void> sleep_until(Timestamp time) override;
};

/// A clock that stands until it is moved. For tests; one thread.
class ManualClock final : public Clock {
public:
    explicit ManualClock(Timestamp start);
    ~ManualClock() override;
    [[nodiscard]] Timestamp now() const override;
    Task<void> sleep_until(Timestamp time) override;
    /// Moves time on and wakes the sleepers that are due.
    void advance(std::chrono::microseconds by);

private:
    struct State;
    std::shared_ptr<State> state_;
};

}  // namespace sandbox::async
