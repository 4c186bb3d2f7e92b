#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sandbox/aegis/aegis.hpp>
#include <sandbox/async/signal.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/store/store.hpp>

#include "memory/records.hpp"

namespace sandbox::store::memory {

/// Everything that the memory store holds, and the steps that change it. Each public member runs from start to end
/// without giving way, which on the one io thread makes it a transaction. `now` is the same throughout a step.
class State {
public:
    State(Settings settings, Random& random, Timestamp now);

    // placement.cpp
    [[nodiscard]] Result<Placed> place(domain::SandboxSpec spec, Timestamp now);
    [[nodiscard]] Result<domain::Sandbox> extend(domain::SandboxId id, std::int64_t ttl_seconds, Timestamp now);
    [[nodiscard]] Result<domain::Operation> exec(domain::SandboxId id, domain::Command command, Timestamp now);

    // teardown.cpp
    [[nodiscard]] Result<Deletion> destroy(domain::SandboxId id, Timestamp now);
    [[nodiscard]] Result<domain::Operation> cancel(domain::OperationId id, Timestamp now);

    // nodes.cpp
    [[nodiscard]] Registered register_node(domain::Node node, Timestamp now);
    [[nodiscard]] Result<HeartbeatAnswer> heartbeat(domain::NodeId id, domain::Heartbeat report, Timestamp now);
    [[nodiscard]] Result<domain::Node> drain(domain::NodeId id, bool draining, Timestamp now);

    // leases.cpp
    /// What the node should do now; both lists may be empty.
    [[nodiscard]] Leased lease(NodeRecord& node, std::size_t limit, Timestamp now);
    void release(const std::vector<domain::AssignmentId>& ids, Timestamp now);

    // reports.cpp
    [[nodiscard]] Result<void> complete(domain::Completion report, Timestamp now);

    // sweep.cpp
    [[nodiscard]] Swept sweep(Timestamp now);

    // listing.cpp
    [[nodiscard]] Page<domain::Sandbox> sandboxes(const SandboxFilter& filter) const;
    [[nodiscard]] Page<domain::Operation> operations(const OperationFilter& filter) const;
    [[nodiscard]] std::vector<domain::Node> nodes() const;
    [[nodiscard]] Statistics statistics() const;

    // state.cpp: look-ups. Errors: not_found.
    [[nodiscard]] Result<SandboxRecord*> find(domain::SandboxId id);
    [[nodiscard]] Result<OperationRecord*> find(domain::OperationId id);
    [[nodiscard]] Result<NodeRecord*> find(domain::NodeId id);

    // outbox.cpp
    [[nodiscard]] std::vector<LoggedEvent> unpublished(std::size_t limit) const;
    void published(std::uint64_t last_sequence);
    [[nodiscard]] EventPage events(const EventFilter& filter) const;
    async::Signal outbox_grew;
    async::Signal log_grew;

    /// Those that wait for a node's work or an operation's end.
    void wake_waiters();

private:
    /// How an operation ends: succeeded when there is no error.
    struct Ending {
        std::optional<std::string> error;
        std::optional<domain::Output> output;
    };
    /// How an operation ends that nobody will report on: an exec's output says 137, as for a killed one.
    [[nodiscard]] static Ending ended_without_report(const OperationRecord& record, std::string error);

    // state.cpp: the steps that all verbs are made of
    OperationRecord& enqueue(SandboxRecord& sandbox, domain::Work work, Timestamp now);
    void end(OperationRecord& record, Ending ending, Timestamp now);
    /// Ends what is open but for `kept`.
    void end_open(SandboxRecord& sandbox, const std::string& error, const OperationRecord* kept, Timestamp now);
    /// Changes the state when the state machine allows it, and with it the ledger and the indexes.
    bool move(SandboxRecord& sandbox, domain::SandboxState next, Timestamp now);
    /// The sandbox has failed and everything under way in it.
    void fail_sandbox(SandboxRecord& sandbox, const std::string& reason, Timestamp now);
    /// Back to its node's queue, or ended when its sandbox is being deleted: then only the teardown is still wanted.
    void queue_again(OperationRecord& record, Timestamp now);
    void hold(SandboxRecord& sandbox);
    void give_back(SandboxRecord& sandbox);
    void follow_ledger(NodeRecord& node);
    [[nodiscard]] NodeRecord& node_of(const SandboxRecord& sandbox);
    [[nodiscard]] SandboxRecord& sandbox_of(const OperationRecord& record);
    [[nodiscard]] OperationRecord& operation_at(const domain::OperationId& id);

    // teardown.cpp
    OperationRecord& tear_down(SandboxRecord& sandbox, Timestamp now);
    void finish_teardown(SandboxRecord& sandbox, OperationRecord& deletion, Timestamp now);
    void want_cancelled(OperationRecord& record);

    // nodes.cpp
    void take_capacity(NodeRecord& node, const domain::Capacity& report);
    void settle_restart(NodeRecord& node, Timestamp now);
    void come_back(NodeRecord& node, Timestamp now);

    // leases.cpp
    void take_lease(NodeRecord& node, OperationRecord& record, Timestamp now);
    void renew(OperationRecord& record, Timestamp until);
    void renew_in_flight(NodeRecord& node, const std::vector<domain::InFlight>& in_flight, Timestamp now);
    void renew_all(NodeRecord& node, Timestamp now);
    void forget_lease(OperationRecord& record);
    /// Queued again as if it had never been given; one that is to be cancelled ends.
    void give_back(OperationRecord& record, Timestamp now);
    /// Commands that were given to a worker and never reached it: it would list them.
    void give_back_undelivered(NodeRecord& node, const std::vector<domain::InFlight>& in_flight, Timestamp now);

    // inventory.cpp
    [[nodiscard]] std::vector<domain::SandboxId> settle_inventory(NodeRecord& node,
                                                                  const std::vector<domain::InventoryItem>& inventory,
                                                                  Timestamp now);
    /// Whether the runtime should remove it.
    [[nodiscard]] bool settle_item(NodeRecord& node, const domain::InventoryItem& item, Timestamp now);
    void settle_missing(NodeRecord& node, const std::vector<domain::InventoryItem>& inventory, Timestamp now);
    [[nodiscard]] bool is_orphan(const NodeRecord& node, const domain::SandboxId& id, Timestamp now) const;

    // sweep.cpp
    [[nodiscard]] bool is_lost(const NodeRecord& node, Timestamp now) const;
    void lose(NodeRecord& node, Timestamp now, Swept& swept);

    // retention.cpp
    void prune(Timestamp now, Swept& swept);
    void forget(SandboxRecord& sandbox);
    void forget(OperationRecord& record);
    /// Counts the output of an operation that has ended, and lets the oldest outputs go when they are too much.
    void keep_output(OperationRecord& record);
    void forget_output(OperationRecord& record);

    // outbox.cpp
    void tell(const SandboxRecord& sandbox, std::string_view type, Timestamp now,
              std::map<std::string, std::string> attributes = {});
    void tell(const NodeRecord& node, std::string_view type, Timestamp now);
    void append(domain::Event event);

    Settings settings_;
    Random& random_;
    Timestamp counting_from_;   // no node is lost for a silence before this
    Timestamp listening_from_;  // nor silent
    Timestamp last_sweep_;

    aegis::Fleet fleet_;
    std::unordered_map<domain::NodeId, NodeRecord> nodes_;
    std::unordered_map<domain::SandboxId, SandboxRecord> sandboxes_;
    std::unordered_map<domain::OperationId, OperationRecord> operations_;
    std::unordered_map<domain::AssignmentId, domain::OperationId> by_assignment_;
    std::uint64_t queue_places_ = 0;

    std::set<ListKey> sandbox_list_;
    std::set<ListKey> operation_list_;
    std::set<std::pair<Timestamp, domain::SandboxId>> expiries_;  // live sandboxes
    std::set<std::pair<Timestamp, domain::OperationId>> leases_;  // those that are queued again when they run out
    std::set<std::pair<Timestamp, domain::SandboxId>> ended_sandboxes_;  // oldest end first
    std::set<std::pair<Timestamp, domain::OperationId>> ended_operations_;
    std::set<std::pair<Timestamp, domain::OperationId>> outputs_;
    std::size_t output_bytes_ = 0;

    std::deque<LoggedEvent> outbox_;  // numbered as they come: one process, one order
    std::deque<LoggedEvent> log_;     // published, without gaps
    std::uint64_t last_sequence_;     // begins at the time, in milliseconds: less than a thousand events a second
};

}  // namespace sandbox::store::memory
