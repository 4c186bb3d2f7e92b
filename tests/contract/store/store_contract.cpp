#include "store_contract.hpp"

#include <algorithm>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace sandbox::store::contract {

domain::SandboxSpec small_sandbox() {
    domain::SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "debian:12";
    spec.resources = {.cpu_millis = 500, .memory_mib = 256, .disk_mib = 1024, .pids = 64};
    return spec;
}

domain::Command command(std::vector<std::string> argv) {
    domain::Command command;
    command.argv = std::move(argv);
    return command;
}

Deadline at_once() {
    return std::chrono::steady_clock::now();
}

domain::Completion failure_of(const domain::Assignment& assignment, std::string error) {
    auto report = success_of(assignment);
    report.success = false;
    report.error = std::move(error);
    if (kind_of(assignment.kind) != OperationKind::exec) report.sandbox_state = SandboxState::failed;
    return report;
}

domain::Completion exit_of(const domain::Assignment& assignment, std::int64_t exit_code, std::string stdout_text) {
    auto report = success_of(assignment);
    report.success = exit_code == 0;
    if (exit_code != 0) report.error = "command exited with status " + std::to_string(exit_code);
    report.output.emplace();
    report.output->exit_code = exit_code;
    report.output->stdout_bytes = static_cast<std::int64_t>(stdout_text.size());
    report.output->stdout_text = std::move(stdout_text);
    return report;
}

domain::InFlight in_flight(const domain::Assignment& assignment, std::string phase) {
    return {.assignment_id = assignment.id, .attempt = assignment.attempt, .phase = std::move(phase)};
}

domain::InventoryItem runs(const domain::SandboxId& id) {
    domain::InventoryItem item;
    item.sandbox_id = id;
    return item;
}

domain::InventoryItem exited(const domain::SandboxId& id, std::int64_t exit_code) {
    auto item = runs(id);
    item.running = false;
    item.exit_code = exit_code;
    return item;
}

Rejections rejections(const Error& error) {
    const auto details = nlohmann::json::parse(error.details());
    auto counts = details.at("rejected").get<Rejections>();
    counts["nodes"] = details.at("nodes").get<std::int64_t>();
    return counts;
}

StoreContract::StoreContract() : backend_(GetParam().create(io_)) {}
StoreContract::~StoreContract() = default;

Store& StoreContract::store() {
    if (!store_) store_ = backend_->open(settings);
    return *store_;
}

void StoreContract::live_through(std::chrono::seconds duration, const std::vector<domain::NodeId>& alive) {
    for (auto left = duration; left > 0s;) {
        const auto step = std::min(left, 10s);
        left -= step;
        advance(step);
        for (const auto& node : alive) beat(node);
        sweep();
    }
}

domain::Node StoreContract::describe(const NodeOptions& options) {
    domain::Node node;
    node.id = domain::NodeId::make(now(), random_);
    node.name = options.name;
    node.region = "local";
    node.zone = "local-a";
    node.labels = options.labels;
    node.capacity.total = options.total;
    node.capacity.available = options.total;
    node.capacity.max_sandboxes = options.max_sandboxes;
    node.supported_tiers = {domain::Tier::container};
    node.pressure = 0.1F;
    node.incarnation = domain::Incarnation::make(now(), random_);
    node.features = options.features;
    return node;
}

domain::NodeId StoreContract::register_node(const NodeOptions& options) {
    return value(store().register_node(describe(options), in(5s))).node.id;
}

void StoreContract::restart(const domain::NodeId& id) {
    auto node = value(store().node(id, in(5s)));
    node.incarnation = domain::Incarnation::make(now(), random_);
    value(store().register_node(node, in(5s)));
}

domain::NodeId StoreContract::register_older_worker(const std::optional<domain::NodeId>& again) {
    auto node = describe({.features = {}, .name = "older"});
    if (again) node.id = *again;
    node.incarnation.reset();
    return value(store().register_node(node, in(5s))).node.id;
}

domain::Heartbeat StoreContract::report_of(const domain::NodeId& id) {
    domain::Heartbeat report;
    report.capacity = capacity(id);
    report.pressure = 0.1F;
    return report;
}

HeartbeatAnswer StoreContract::beat(const domain::NodeId& node) {
    return beat(node, {});
}

HeartbeatAnswer StoreContract::beat(const domain::NodeId& node, std::vector<domain::InFlight> in_flight) {
    auto report = report_of(node);
    report.in_flight = std::move(in_flight);
    return value(store().heartbeat(node, report, in(5s)));
}

HeartbeatAnswer StoreContract::beat_holding(const domain::NodeId& node, std::vector<domain::InventoryItem> inventory) {
    auto report = report_of(node);
    report.in_flight.emplace();
    report.inventory = std::move(inventory);
    return value(store().heartbeat(node, report, in(5s)));
}

std::vector<domain::Assignment> StoreContract::lease(const domain::NodeId& node, std::size_t limit) {
    return value(store().lease(node, limit, at_once())).assignments;
}

domain::Assignment StoreContract::lease_one(const domain::NodeId& node) {
    auto assignments = lease(node, 1);
    if (assignments.empty()) throw std::runtime_error("there is nothing to lease");
    return assignments.front();
}

std::vector<domain::OperationId> StoreContract::told_to_cancel(const domain::NodeId& node) {
    return value(store().lease(node, 100, at_once())).cancel;
}

Placed StoreContract::place(const domain::SandboxSpec& spec) {
    return value(store().place(spec, {}, in(5s)));
}

domain::SandboxId StoreContract::running_sandbox(const domain::SandboxSpec& spec) {
    const auto placed = place(spec);
    for (const auto& assignment : lease(placed.sandbox.node_id)) complete(success_of(assignment));
    return placed.sandbox.id;
}

std::optional<std::string> StoreContract::why_failed(const domain::OperationId& id) {
    const auto operation = this->operation(id);
    return operation.state == OperationState::failed ? operation.error : std::nullopt;
}

std::vector<std::pair<std::string, domain::SandboxId>> StoreContract::events() {
    std::vector<std::pair<std::string, domain::SandboxId>> taken;
    while (true) {
        const auto logged = value(store().unpublished(100, at_once()));
        if (logged.empty()) return taken;
        for (const auto& one : logged)
            if (!one.event.event_type.starts_with("node."))
                taken.emplace_back(one.event.event_type, one.event.sandbox_id);
        value(store().published(logged.back().sequence, in(5s)));
    }
}

std::vector<std::string> StoreContract::event_types() {
    std::vector<std::string> types;
    for (const auto& [type, sandbox] : events()) types.push_back(type);
    return types;
}

INSTANTIATE_TEST_SUITE_P(, StoreContract, testing::ValuesIn(implementations()),
                         [](const auto& test) { return test.param.name; });

}  // namespace sandbox::store::contract
