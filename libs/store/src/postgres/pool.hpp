#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include <sandbox/async/task.hpp>

#include "postgres/connection.hpp"

namespace sandbox::store::postgres {

/// Threads that call the database, each with a connection while it does. Connections are opened when they are needed,
/// used again, and thrown away once they have failed. Used from the io thread, but for what says otherwise.
///
/// Every call ends by its deadline, and within kAnswerWithin, whatever the server and the network do: a job that has
/// not begun by then never does, and one whose connection hangs is left behind and its connection cut.
class Pool {
public:
    Pool(asio::any_io_executor io, Access access, std::size_t threads);
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    /// Runs `job` (Result<T>(Connection&)) on a thread of the pool. It must own what it uses, since it may outlive the
    /// call. Errors: unavailable when there is no connection or no answer in time; those of the job.
    template <class Job>
    Task<std::invoke_result_t<Job&, Connection&>> run(Deadline deadline, Job job) {
        return carry_out(deadline, std::move(job), false);
    }
    /// The same for a job that only reads: when its connection is cut it is done once more, on another.
    template <class Job>
    Task<std::invoke_result_t<Job&, Connection&>> read(Deadline deadline, Job job) {
        return carry_out(deadline, std::move(job), true);
    }

    /// A connection for the caller to keep, opened and set up on a thread of the pool.
    using SetUp = std::function<Result<void>(Connection&)>;
    Task<Result<std::unique_ptr<Connection>>> connect(Deadline deadline, SetUp set_up);

    /// Ends all calls under way with unavailable, and refuses new ones. Waits for the threads.
    void close();

private:
    /// One call, seen from both sides.
    struct Call;
    using Act = std::function<void(Connection&)>;

    template <class Job>
    Task<std::invoke_result_t<Job&, Connection&>> carry_out(Deadline deadline, Job job, bool repeatable) {
        using Answer = std::invoke_result_t<Job&, Connection&>;
        auto answer = std::make_shared<std::optional<Answer>>();
        std::function<void(Connection&)> act = [answer, job = std::move(job)](Connection& connection) mutable {
            answer->emplace(job(connection));
        };
        auto done = co_await perform(deadline, std::move(act), repeatable);
        if (!done) co_return fail(std::move(done.error()));
        co_return std::move(**answer);
    }

    Task<Result<void>> perform(Deadline deadline, Act act, bool repeatable);
    Task<Result<void>> wait_for(std::shared_ptr<Call> call, Deadline deadline);
    // On a pool thread:
    [[nodiscard]] Result<void> with_connection(Call& call, const Act& act, bool repeatable);
    [[nodiscard]] std::exception_ptr try_out(Call& call, const Act& act, Connection& connection);
    [[nodiscard]] Result<std::unique_ptr<Connection>> take_connection();
    [[nodiscard]] Result<std::unique_ptr<Connection>> open();
    void give_back(std::unique_ptr<Connection> connection);
    // Any thread:
    void cut_off_hanging(std::chrono::steady_clock::duration longer_than);

    asio::any_io_executor io_;
    const Access access_;
    std::atomic<bool> closed_ = false;

    std::mutex mutex_;  // guards what follows
    std::vector<std::unique_ptr<Connection>> idle_;
    std::set<Call*> at_work_;
    std::chrono::steady_clock::time_point not_before_;  // the next attempt to connect
    std::chrono::milliseconds back_off_{0};
    std::string why_down_;

    asio::thread_pool threads_;
};

}  // namespace sandbox::store::postgres
