#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/async/signal.hpp>
#include <sandbox/base/time.hpp>
#include <sandbox/client/client.hpp>

namespace sandbox::bench {

using Steady = std::chrono::steady_clock;

/// How long something took, many times.
class Latencies {
public:
    void add(std::chrono::nanoseconds time) {
        values_.push_back(std::chrono::duration<double, std::milli>(time).count());
    }
    [[nodiscard]] std::size_t count() const noexcept { return values_.size(); }
    /// In milliseconds, the value below which the share `q` lies; 0 when there is none.
    [[nodiscard]] double quantile(double q) const;

private:
    std::vector<double> values_;
};

/// What clients and workers saw, put together: both are in this process, so a create is followed from the request to
/// the worker's report without asking the controllers anything. One thread.
class Journal {
public:
    struct Create {
        Steady::time_point due;  // when it was to be sent
        std::size_t controller = 0;
        bool counted = false;  // not of the warm-up
        std::optional<Steady::time_point> answered;
        std::optional<Steady::time_point> running;
        domain::SandboxId id{};
        async::Signal* waiter = nullptr;  // woken when it runs
    };

    /// A create is about to be sent; its number travels with it (see number_of).
    std::size_t begin(Steady::time_point due, std::size_t controller, bool counted);
    /// The client has its 201.
    void answered(std::size_t number, domain::SandboxId id);
    /// A worker's long poll, begun at `asked`, has brought this.
    void leased(const domain::Assignment& assignment, Timestamp asked, std::size_t controller);
    /// The controller has taken the worker's report.
    void completed(const domain::Assignment& assignment);
    void failed(const std::string& what, const client::Failure& failure);
    void failed(const std::string& what, const std::string& why) { ++errors_[what + ": " + why]; }

    /// Waits until its worker has reported; false at the deadline.
    Task<bool> until_running(std::size_t number, Deadline deadline);
    /// Creates that were answered and whose worker has reported, and how long they took.
    struct Creates {
        std::size_t done = 0;
        Latencies answer;
        Latencies running;
    };
    [[nodiscard]] Creates counted(Steady::time_point until) const;
    /// All that run, warm-up included.
    [[nodiscard]] std::vector<std::pair<domain::SandboxId, std::size_t>> running() const;
    [[nodiscard]] std::size_t deleted() const noexcept { return deleted_; }

    /// Woken by every completed delete.
    async::Signal deleting;
    Latencies execs;
    /// From the assignment's own created_at to the worker that was waiting for it.
    Latencies assigned_here;       // the request had come to the worker's controller
    Latencies assigned_elsewhere;  // another controller had taken it
    [[nodiscard]] const std::map<std::string, std::size_t>& errors() const noexcept { return errors_; }

    /// The variable of a create's env that holds its number.
    static constexpr const char* kNumber = "BENCH_NUMBER";

private:
    std::deque<Create> creates_;
    std::size_t deleted_ = 0;
    std::map<std::string, std::size_t> errors_;
};

/// This machine's time, as assignments carry it.
[[nodiscard]] inline Timestamp wall_time() {
    return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

}  // namespace sandbox::bench
