#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include <sandbox/async/signal.hpp>
#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>

/// What the memory store keeps of each thing: the domain's entity and what only the store needs to know of it.
namespace sandbox::store::memory {

/// A record's place in a listing: by its creation, then by its id. Listings walk it backwards.
using ListKey = std::pair<Timestamp, Uuid>;

/// An operation with its one assignment.
struct OperationRecord {
    domain::Operation operation;
    domain::Assignment assignment;
    std::uint64_t queue_place = 0;         // kept when it is queued again
    bool cancel_wanted = false;            // a running exec that is to be killed
    std::shared_ptr<async::Signal> ended;  // made by the first who waits for the end
};

/// Deletes first: they wait for no number of other sandboxes' commands. Then by queue place.
using QueueKey = std::tuple<bool, std::uint64_t, domain::OperationId>;
[[nodiscard]] inline QueueKey queue_key(const OperationRecord& record) {
    return {record.operation.kind != domain::OperationKind::destroy, record.queue_place, record.operation.id};
}

struct SandboxRecord {
    domain::Sandbox sandbox;
    std::set<ListKey> operations;                 // all that are still kept
    std::set<domain::OperationId> open;           // those that have not ended
    std::optional<domain::OperationId> deletion;  // the latest teardown
    int inventories_missed = 0;                   // in a row, while running
    Timestamp ended_at;                           // when it became stopped or failed
};

struct NodeRecord {
    domain::Node node;                     // capacity.available and running_sandboxes follow the ledger below
    domain::Resources held{0, 0, 0, 0};    // by the live sandboxes
    domain::Resources beyond{0, 0, 0, 0};  // in use beyond the ledger as it stood at the last report
    std::unordered_set<domain::SandboxId> live;
    bool drained = false;  // by an operator
    bool stale = false;    // and its event is out
    bool lost = false;

    std::set<QueueKey> pending;
    std::set<domain::OperationId> leased;
    std::set<domain::OperationId> cancels_untold;  // not yet in any lease answer
    std::uint64_t polls = 0;                       // the newest lease call's number: only that one takes work
    async::Signal work;

    std::map<domain::SandboxId, Timestamp> strangers;  // in its inventory, unknown here; since when
    std::set<domain::SandboxId> abandoned;             // ended while the node was lost
};

/// A worker that predates incarnations, inventories and leases renewed one by one.
[[nodiscard]] inline bool is_older_worker(const NodeRecord& record) noexcept {
    return !record.node.incarnation;
}

}  // namespace sandbox::store::memory
