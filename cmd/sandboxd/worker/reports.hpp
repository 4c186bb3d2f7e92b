#pragma once

#include <functional>

#include <sandbox/async/signal.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/client/client.hpp>

#include "job.hpp"

namespace sandbox::sandboxd {

/// Carries results to the controller until they are settled: acknowledged, or of work that it does not know (404) or
/// has given away (409). While it is away, they wait here. Big ones go one at a time, since their JSON costs several
/// times their size. Lives on the io thread; client and random must outlive it.
class Reports final : public Reporter {
public:
    Reports(client::WorkerClient& client, Random& random);

    /// Awaited before the result of a create or delete goes out, so that it and the heartbeats tell the same of the
    /// node's free capacity. May be empty.
    std::function<Task<void>()> before_capacity_changes;

    Task<void> report(JobPtr job, domain::Completion completion) override;

private:
    enum class Next { settled, again, later };
    Task<client::Answer<void>> send(const domain::Completion& completion);
    [[nodiscard]] Next after(const client::Failure& failure, domain::Completion& completion) const;

    client::WorkerClient& client_;
    Random& random_;
    bool big_one_under_way_ = false;
    async::Signal changed_;
};

/// Cuts what is kept of both streams to about half, as a runtime would have, and says so. False when there is nothing
/// left to cut.
bool cut_output(domain::Output& output);

}  // namespace sandbox::sandboxd
