#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/aegis/aegis.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/event.hpp>
#include <sandbox/domain/node.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>

namespace sandbox::store {

/// The deployment's settings that the store's verbs follow.
struct Settings {
    aegis::Policy aegis;
    std::chrono::seconds lease{30};
    std::chrono::seconds node_lost{300};
    std::chrono::seconds orphan_grace{600};
    std::int64_t max_ttl_seconds = 86400;
    std::chrono::hours retention{30 * 24};      // 0 keeps all
    std::chrono::hours output_retention{168};   // command outputs go earlier
    std::size_t max_ended_records = 10'000;     // memory store only
    std::size_t max_idempotency_keys = 10'000;  // memory store only
    /// Memory store only: past it the oldest outputs go before their time.
    std::size_t max_output_bytes_kept = 512ULL * 1024 * 1024;
};

/// An Idempotency-Key with a digest of method, path and body. The same key with another fingerprint is a conflict;
/// the same of both gives the first answer again, for 24 hours.
struct Idempotency {
    std::string key;
    std::string fingerprint;
};
using MaybeIdempotency = std::optional<Idempotency>;

struct Placed {
    domain::Sandbox sandbox;
    domain::Operation operation;
};

struct Registered {
    domain::Node node;
};

/// What a heartbeat tells the worker: sandboxes to remove from its runtime, operations to kill.
struct HeartbeatAnswer {
    std::vector<domain::SandboxId> remove;
    std::vector<domain::OperationId> cancel;
};

/// A lease answer takes no more commands once their standard input is this much.
inline constexpr std::size_t kMaxLeaseInputBytes = 48ULL * 1024 * 1024;

struct Leased {
    std::vector<domain::Assignment> assignments;
    std::vector<domain::OperationId> cancel;
};

struct Deletion {
    domain::Operation operation;
    bool finished = false;  // the sandbox was stopped already: nothing was enqueued
};

/// A place in a listing, newest first: what comes after this record.
struct Cursor {
    Timestamp created_at;
    Uuid id;
};

struct SandboxFilter {
    std::optional<std::string> tenant;
    std::vector<domain::SandboxState> states;  // empty: any
    std::optional<std::size_t> limit;
    std::optional<Cursor> after;
};

struct OperationFilter {
    std::optional<domain::SandboxId> sandbox_id;
    std::vector<domain::OperationState> states;
    std::optional<std::size_t> limit;
    std::optional<Cursor> after;
};

template <class T>
struct Page {
    std::vector<T> items;
    std::optional<Cursor> next;  // set when there is more
};

/// An event with its number in the log: numbers only grow, over restarts too, and are given when it is published.
struct LoggedEvent {
    std::uint64_t sequence = 0;
    domain::Event event;
};

/// A part of the event log.
struct EventFilter {
    std::uint64_t after = 0;  // a sequence number
    std::optional<std::string> tenant;
    std::size_t limit = 1000;
};
struct EventPage {
    std::vector<LoggedEvent> events;
    /// The `after` that goes on from here. A page of fewer than `limit` has looked at the whole log: then it is at
    /// least the newest number that there was, whoever's event that is.
    std::uint64_t next = 0;
};

/// What one sweep did.
struct Swept {
    std::size_t expired = 0;
    std::size_t lost_nodes = 0;
    std::size_t lost_sandboxes = 0;
    std::size_t releases = 0;  // creates and deletes whose lease ran out, queued again
    std::size_t pruned = 0;
};

/// Numbers for /metrics.
struct Statistics {
    std::map<domain::SandboxState, std::size_t> sandboxes;
    std::map<domain::OperationState, std::size_t> operations;
    std::size_t nodes = 0;
    std::size_t stale_nodes = 0;
    std::size_t pending_assignments = 0;
    std::size_t outbox = 0;  // events not yet published
    std::optional<Timestamp> oldest_unpublished;
};

/// The control plane's truth. Every member is one transaction: it happens whole or not at all, and concurrent callers,
/// in this process or another, see it in some order. Members run on the io thread and resume there.
/// Errors: unavailable when the backend does not answer by the deadline; the others are named at each member.
class Store {
public:
    virtual ~Store() = default;

    /// "memory" or "postgres", as Health says it.
    [[nodiscard]] virtual std::string_view kind() const noexcept = 0;
    /// Ends what goes on in the background; calls that are under way or come later fail with unavailable.
    virtual void close() {}
    /// From now on lease gives nothing new and wait_operation the operation as it is, both at once: also the calls that
    /// are under way. For a controller that stops.
    virtual void stop_waiting() = 0;
    /// Whether the backend answers.
    virtual Task<Result<void>> ping(Deadline deadline) = 0;

    // --- nodes -------------------------------------------------------------------------------------------------
    /// Adds the node or replaces what it says of itself; draining set by an operator stays. A new incarnation means
    /// that its process has restarted: its execs under way become failed with `interrupted`, its creates and deletes
    /// are queued again.
    virtual Task<Result<Registered>> register_node(domain::Node node, Deadline deadline) = 0;
    /// Takes the node's report: last_seen, pressure, images, use beyond the ledger; renews the leases in flight, takes
    /// their phases, and takes back commands that never got there; settles the inventory. Errors: not_found.
    virtual Task<Result<HeartbeatAnswer>> heartbeat(domain::NodeId node, domain::Heartbeat report,
                                                    Deadline deadline) = 0;
    virtual Task<Result<std::vector<domain::Node>>> nodes(Deadline deadline) = 0;
    /// Errors: not_found.
    virtual Task<Result<domain::Node>> node(domain::NodeId id, Deadline deadline) = 0;
    /// Errors: not_found, conflict (idempotency).
    virtual Task<Result<domain::Node>> drain(domain::NodeId id, bool draining, MaybeIdempotency once,
                                             Deadline deadline) = 0;

    // --- sandboxes ---------------------------------------------------------------------------------------------
    /// Chooses a node and reserves its capacity, and writes sandbox, operation, assignment and event. The spec is
    /// valid. Tries the next best node when another controller was faster. Errors: resource_exhausted with
    /// {"nodes","rejected"} in the details; conflict (idempotency).
    virtual Task<Result<Placed>> place(domain::SandboxSpec spec, MaybeIdempotency once, Deadline deadline) = 0;
    virtual Task<Result<Page<domain::Sandbox>>> sandboxes(SandboxFilter filter, Deadline deadline) = 0;
    /// Errors: not_found.
    virtual Task<Result<domain::Sandbox>> sandbox(domain::SandboxId id, Deadline deadline) = 0;
    /// The expiry becomes the later of the present one and now + ttl. Errors: not_found; conflict when the sandbox is
    /// stopping, stopped or failed, or idempotency; invalid_argument over max_ttl_seconds.
    virtual Task<Result<domain::Sandbox>> extend(domain::SandboxId id, std::int64_t ttl_seconds, MaybeIdempotency once,
                                                 Deadline deadline) = 0;
    /// Enqueues the teardown. Pending operations of the sandbox fail with `cancelled`, running execs are to be killed.
    /// Asked again while it runs: the same operation; when stopped: the finished one. The sandbox of a lost node is
    /// stopped at once. Errors: not_found, conflict (idempotency).
    virtual Task<Result<Deletion>> destroy(domain::SandboxId id, MaybeIdempotency once, Deadline deadline) = 0;

    // --- operations --------------------------------------------------------------------------------------------
    /// Enqueues one command. Errors: not_found; conflict when the sandbox is not running, when its node lacks a
    /// feature that the command needs (stdin), or idempotency.
    virtual Task<Result<domain::Operation>> exec(domain::SandboxId id, domain::Command command, MaybeIdempotency once,
                                                 Deadline deadline) = 0;
    /// A pending operation fails at once with `cancelled`; a running exec is to be killed. An ended operation is
    /// returned as it is. Errors: not_found; conflict when anything else is running, or idempotency.
    virtual Task<Result<domain::Operation>> cancel(domain::OperationId id, MaybeIdempotency once,
                                                   Deadline deadline) = 0;
    /// Errors: not_found.
    virtual Task<Result<domain::Operation>> operation(domain::OperationId id, Deadline deadline) = 0;
    /// Without their outputs.
    virtual Task<Result<Page<domain::Operation>>> operations(OperationFilter filter, Deadline deadline) = 0;
    /// The operation as soon as it has ended, or as it is at the deadline. Errors: not_found.
    virtual Task<Result<domain::Operation>> wait_operation(domain::OperationId id, Deadline deadline) = 0;

    // --- the worker's side ---------------------------------------------------------------------------------------
    /// Takes up to `limit` pending assignments under lease, as soon as there are any or something to cancel, or nothing
    /// at the deadline. Errors: not_found for an unknown node.
    virtual Task<Result<Leased>> lease(domain::NodeId node, std::size_t limit, Deadline deadline) = 0;
    /// Hands back leases that were not begun. Unknown ids are ignored.
    virtual Task<Result<void>> release(std::vector<domain::AssignmentId> ids, Deadline deadline) = 0;
    /// Takes a report: the first of an assignment counts, a repeated one or one of an older attempt changes nothing.
    /// Errors: not_found for an unknown assignment; conflict when the ids do not belong together.
    virtual Task<Result<void>> complete(domain::Completion report, Deadline deadline) = 0;

    // --- background ----------------------------------------------------------------------------------------------
    /// Expires what is due, fails what lost nodes held, queues again what lost its lease, deletes what is old. To be
    /// called at least every few seconds: when nobody has swept for half of node_lost, the controllers were away, and
    /// the nodes' silence counts from now.
    virtual Task<Result<Swept>> sweep(Deadline deadline) = 0;
    /// Events not yet published, oldest first, as soon as there are any, or none at the deadline. One publisher at a
    /// time: they stay until published() names the last of them.
    virtual Task<Result<std::vector<LoggedEvent>>> unpublished(std::size_t limit, Deadline deadline) = 0;
    virtual Task<Result<void>> published(std::uint64_t last_sequence, Deadline deadline) = 0;
    /// Published events with a higher number, oldest first, as soon as there are any, or none at the deadline. Those of
    /// nodes (event_type "node.…", without tenant and sandbox) are among them.
    virtual Task<Result<EventPage>> events(EventFilter filter, Deadline deadline) = 0;
    virtual Task<Result<Statistics>> statistics(Deadline deadline) = 0;
};

}  // namespace sandbox::store
