// Choosing a node from what is known, and having the database decide whether that still holds.
#include <nlohmann/json.hpp>

#include "no_capacity.hpp"
#include "postgres/json.hpp"
#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

/// Other controllers would have to be faster each time.
constexpr int kMostTries = 10;

constexpr Statement kRecall{"recall_only", "select code, message, body, notes from recall_only($1, $2)"};

/// What place_all() wants to know.
std::string request_of(const domain::SandboxSpec& spec, const aegis::Decision& decision, std::int64_t registration,
                       const MaybeIdempotency& once) {
    nlohmann::json request{{"node", decision.node.text()},
                           {"registration", registration},
                           {"spec", spec},
                           {"isolation", to_text(decision.tier)},
                           {"risk", decision.risk},
                           {"reasons", decision.reasons},
                           {"key", nullptr},
                           {"fingerprint", nullptr}};
    if (once) {
        request["key"] = *key_of(once);
        request["fingerprint"] = *fingerprint_of(once, "place");
    }
    return dump_json(request);
}

Placed placed_of(const std::string& body) {
    const auto json = json_of(body);
    return {.sandbox = record_of(json.at("sandbox"), domain::read_sandbox),
            .operation = record_of(json.at("operation"), domain::read_operation)};
}

}  // namespace

Task<Result<Placed>> PostgresStore::place(domain::SandboxSpec spec, MaybeIdempotency once, Deadline deadline) {
    std::optional<domain::NodeId> taken;  // by the database's word, at the last try
    bool read_again = false;
    for (int tries = 0; tries < kMostTries; ++tries) {
        if (fleet_->due())
            if (auto fresh = co_await fleet_->refresh(deadline); !fresh) co_return fail(std::move(fresh.error()));
        auto outcome = fleet_->place(spec, !read_again);
        const auto* decision = std::get_if<aegis::Decision>(&outcome);
        if (decision == nullptr && read_again)
            co_return co_await refuse(std::get<aegis::Refusal>(outcome), once, deadline);
        if (decision == nullptr || taken == decision->node) {
            // What looks full, or was taken for another reason than its ledger's, is looked at once more; from then on
            // what others are only asking for does not count.
            if (auto fresh = co_await fleet_->refresh(deadline); !fresh) co_return fail(std::move(fresh.error()));
            read_again = decision == nullptr;
            taken.reset();
            continue;
        }
        const FleetCache::Hold hold(fleet_, decision->node, spec.resources);
        auto answer = co_await placements_->place(
            decision->node, request_of(spec, *decision, fleet_->registration(decision->node), once), deadline);
        if (!answer) co_return fail(std::move(answer.error()));
        if (answer->code == "taken") {
            watch_->changed_here(Notes::parse(answer->notes));
            taken = decision->node;
            continue;
        }
        if (!answer->ok()) co_return fail(answer->error());
        auto placed = placed_of(answer->body);
        // Empty notes: somebody else's answer again.
        if (!answer->notes.empty()) {
            watch_->changed(answer->notes);
            fleet_->add_live(placed.sandbox.id, placed.sandbox.node_id, spec.tenant, spec.labels);
        }
        co_return placed;
    }
    co_return fail(Code::unavailable, "other controllers took every node that was chosen: try again");
}

/// Nothing fits. A request that was answered before gets its answer all the same.
Task<Result<Placed>> PostgresStore::refuse(aegis::Refusal refusal, MaybeIdempotency once, Deadline deadline) {
    if (!once) co_return fail(no_capacity(refusal));
    auto job = [once](Connection& connection) {
        return ask(connection, kRecall, {key_of(once), fingerprint_of(once, "place")});
    };
    auto answer = co_await pool_->run(deadline, std::move(job));
    if (!answer) co_return fail(std::move(answer.error()));
    if (answer->code.empty()) co_return fail(no_capacity(refusal));
    if (!answer->ok()) co_return fail(answer->error());
    co_return placed_of(answer->body);
}

}  // namespace sandbox::store::postgres
