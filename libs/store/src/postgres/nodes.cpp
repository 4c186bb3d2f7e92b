// Nodes that register, report and drain.
#include <nlohmann/json.hpp>

#include <sandbox/base/log.hpp>
#include <sandbox/base/text.hpp>

#include "postgres/json.hpp"
#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

constexpr std::size_t kMaxPhaseBytes = 64;

constexpr Statement kRegister{"register_node", "select code, message, body, notes from register_node($1, $2, $3)"};
constexpr Statement kDrain{"drain", "select code, message, body, notes from drain($1, $2, $3, $4)"};
constexpr Statement kHeartbeat{
    "heartbeat", "select known, remove, cancel, strangers, orphans, notes from heartbeat($1, $2, $3, $4)"};

struct RegisteredNode {
    domain::Node node;
    bool restarted = false;
};

RegisteredNode registered_of(const std::string& body) {
    const auto json = json_of(body);
    return {.node = record_of(json.at("node"), domain::read_node), .restarted = json.at("restarted").get<bool>()};
}

domain::Node node_of(const std::string& body) {
    return record_of(body, domain::read_node);
}

/// What the controller has never heard of may belong to a restored backup, so it is given time, with a warning.
void warn_of_strangers(const domain::NodeId& node, const Row& row, std::chrono::seconds grace) {
    if (row.at(3) && *row.at(3) != "0")
        log::warn("a node holds sandboxes that are not known here; they are removed after the grace time",
                  {{"node", node.text()}, {"sandboxes", *row.at(3)}, {"grace_seconds", std::to_string(grace.count())}});
    if (row.at(4))
        log::warn("removing sandboxes that are not known here", {{"node", node.text()}, {"sandboxes", *row.at(4)}});
}

}  // namespace

Task<Result<Registered>> PostgresStore::register_node(domain::Node node, Deadline deadline) {
    const auto id = node.id;
    std::vector<Value> parameters{id.text(), dump_json(node),
                                  node.incarnation ? Value(node.incarnation->text()) : std::nullopt};
    auto registered = co_await call_for(kRegister, std::move(parameters), registered_of, deadline);
    if (!registered) co_return fail(std::move(registered.error()));
    // What still waits for work was asked by a process that is gone.
    if (registered->restarted) ++board_->node(id)->polls;
    co_return Registered{.node = std::move(registered->node)};
}

Task<Result<domain::Node>> PostgresStore::drain(domain::NodeId id, bool draining, MaybeIdempotency once,
                                                Deadline deadline) {
    std::vector<Value> parameters{id.text(), draining ? "true" : "false", key_of(once), fingerprint_of(once, "drain")};
    co_return co_await call_for(kDrain, std::move(parameters), node_of, deadline);
}

Task<Result<HeartbeatAnswer>> PostgresStore::heartbeat(domain::NodeId id, domain::Heartbeat report, Deadline deadline) {
    if (report.in_flight)
        for (auto& item : *report.in_flight) item.phase = shortened(item.phase, kMaxPhaseBytes);
    std::vector<Value> parameters{id.text(), dump_json(report), interval(settings_.lease),
                                  interval(settings_.orphan_grace)};
    auto rows = co_await read(kHeartbeat, std::move(parameters), deadline);
    if (!rows) co_return fail(std::move(rows.error()));
    const auto& row = rows->at(0);
    if (!is_true(row.at(0))) co_return fail(Code::not_found, "no node " + id.text() + " is registered");
    warn_of_strangers(id, row, settings_.orphan_grace);

    const auto text = row.at(5).value_or("");
    const auto notes = Notes::parse(text);
    // Most heartbeats change the node's own ledger, once, and nothing else: others read that when they look, and no
    // event comes of it.
    if (notes.work.empty() && notes.ended.empty() && notes.gone.empty() && notes.ledgers.size() <= 1)
        fleet_->take(notes);
    else
        watch_->changed(text);
    fleet_->heard_from(id, report);
    co_return HeartbeatAnswer{.remove = ids_in<domain::SandboxId>(row.at(1)),
                              .cancel = ids_in<domain::OperationId>(row.at(2))};
}

}  // namespace sandbox::store::postgres
