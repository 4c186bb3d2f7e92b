// What operators ask of a sandbox that there is.
#include <nlohmann/json.hpp>

#include "postgres/json.hpp"
#include "postgres/store.hpp"

namespace sandbox::store::postgres {

namespace {

constexpr Statement kExtend{"extend", "select code, message, body, notes from extend($1, $2, $3, $4, $5)"};
constexpr Statement kExec{"exec", "select code, message, body, notes from exec($1, $2, $3, $4, $5, $6)"};
constexpr Statement kDestroy{"destroy", "select code, message, body, notes from destroy($1, $2, $3, $4)"};
constexpr Statement kCancel{"cancel", "select code, message, body, notes from cancel($1, $2, $3)"};

domain::Sandbox sandbox_of(const std::string& body) {
    return record_of(body, domain::read_sandbox);
}

domain::Operation operation_of(const std::string& body) {
    return record_of(body, domain::read_operation);
}

Deletion deletion_of(const std::string& body) {
    const auto json = json_of(body);
    return {.operation = record_of(json.at("operation"), domain::read_operation),
            .finished = json.at("finished").get<bool>()};
}

}  // namespace

Task<Result<domain::Sandbox>> PostgresStore::extend(domain::SandboxId id, std::int64_t ttl_seconds,
                                                    MaybeIdempotency once, Deadline deadline) {
    std::vector<Value> parameters{id.text(), std::to_string(ttl_seconds), std::to_string(settings_.max_ttl_seconds),
                                  key_of(once), fingerprint_of(once, "extend")};
    co_return co_await call_for(kExtend, std::move(parameters), sandbox_of, deadline);
}

Task<Result<Deletion>> PostgresStore::destroy(domain::SandboxId id, MaybeIdempotency once, Deadline deadline) {
    std::vector<Value> parameters{id.text(), interval(settings_.node_lost), key_of(once),
                                  fingerprint_of(once, "destroy")};
    co_return co_await call_for(kDestroy, std::move(parameters), deletion_of, deadline);
}

Task<Result<domain::Operation>> PostgresStore::exec(domain::SandboxId id, domain::Command command,
                                                    MaybeIdempotency once, Deadline deadline) {
    const nlohmann::json work{{"kind", "exec"}, {"command", command}};
    std::vector<Value> parameters{id.text(),
                                  dump_json(work),
                                  dump_json(command.argv),
                                  command.stdin_bytes ? "true" : "false",
                                  key_of(once),
                                  fingerprint_of(once, "exec")};
    co_return co_await call_for(kExec, std::move(parameters), operation_of, deadline);
}

Task<Result<domain::Operation>> PostgresStore::cancel(domain::OperationId id, MaybeIdempotency once,
                                                      Deadline deadline) {
    std::vector<Value> parameters{id.text(), key_of(once), fingerprint_of(once, "cancel")};
    co_return co_await call_for(kCancel, std::move(parameters), operation_of, deadline);
}

}  // namespace sandbox::store::postgres
