#pragma once

#include <memory>
#include <vector>

#include <sandbox/async/task_group.hpp>
#include <sandbox/client/client.hpp>

#include "journal.hpp"
#include "settings.hpp"

namespace sandbox::bench {

/// The simulated operators, each with a kept-alive connection to one controller. Lives on the io thread.
class Clients {
public:
    Clients(asio::any_io_executor executor, const Settings& settings, const std::vector<http::Url>& controllers,
            Journal& journal);

    /// Creates until the time is up, then waits for those under way.
    Task<void> create(std::chrono::seconds time, bool counted);
    /// Execs in the sandboxes that run, for so long.
    Task<void> exec(std::chrono::seconds time);
    /// Deletes all that runs and waits until the workers have done it.
    Task<void> remove();
    Task<void> stop();

private:
    struct Caller {
        std::size_t controller = 0;
        std::unique_ptr<client::Client> client;
    };
    /// When requests are due, for all clients together.
    struct Pace {
        Steady::duration interval;  // 0: at once
        Steady::time_point next;
        Steady::time_point until;

        Steady::time_point take();
    };

    [[nodiscard]] Pace pace(std::chrono::seconds time) const;
    /// Runs one task for each client, to the end.
    template <class Work>
    Task<void> all(const std::string& name, Work work);
    Task<void> create_some(Caller& caller, Pace& pace, bool counted);
    Task<void> create_one(Caller& caller, Steady::time_point due, bool counted);
    Task<void> exec_some(Caller& caller, Pace& pace);
    Task<void> remove_some(Caller& caller);
    Task<void> remove_one(Caller& caller, domain::SandboxId id);
    Task<void> sleep_until(Steady::time_point time);

    asio::any_io_executor executor_;
    const Settings& settings_;
    Journal& journal_;
    std::vector<Caller> callers_;
    std::vector<std::pair<domain::SandboxId, std::size_t>> sandboxes_;  // those that run
    std::size_t next_ = 0;                                              // of sandboxes_
    std::size_t removing_ = 0;                                          // deletes that were taken
    async::TaskGroup tasks_;
};

}  // namespace sandbox::bench
