#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/aegis/aegis.hpp>

#include "postgres/answer.hpp"
#include "postgres/pool.hpp"

namespace sandbox::store::postgres {

/// Asks the database to place sandboxes, several of one node in one transaction: a node's ledger stays locked until its
/// transaction is on disk, so that one by one they would wait for the disk each. Nodes do not wait for each other. One
/// thread.
class Placements : public std::enable_shared_from_this<Placements> {
public:
    Placements(asio::any_io_executor io, std::shared_ptr<Pool> pool, const aegis::Policy& policy)
        : io_(std::move(io)), pool_(std::move(pool)), policy_(policy) {}

    /// A choice of the fleet's: the node, and the request as JSON for place_all(). Errors: unavailable.
    Task<Result<Answer>> place(domain::NodeId node, std::string request, Deadline deadline);

private:
    struct Request;
    class Leaving;
    using Batch = std::vector<std::shared_ptr<Request>>;
    using Queue = std::deque<std::shared_ptr<Request>>;

    Task<void> run(std::shared_ptr<Placements> self, domain::NodeId node);
    Task<void> carry_out(const Batch& batch);
    Task<Result<std::vector<Answer>>> ask_for(const Batch& batch);

    asio::any_io_executor io_;
    std::shared_ptr<Pool> pool_;
    aegis::Policy policy_;
    std::map<domain::NodeId, Queue> waiting_;  // of a node: while run() is at it
};

}  // namespace sandbox::store::postgres
