#include "cluster.hpp"

namespace sandbox::test {

Cluster::Cluster(Options options) {
    Variables variables{{"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                        {"SANDBOX__SERVER__HEARTBEAT_INTERVAL_SECONDS", "2"},
                        {"SANDBOX__SERVER__ASSIGNMENT_LEASE_SECONDS", std::to_string(kLease.count())},
                        {"SANDBOX__POLICY__MICROVM_RISK_THRESHOLD", "101"},
                        {"SANDBOX__STORE__KIND", "postgres"},
                        {"SANDBOX__STORE__DATABASE_URL", postgres_.url()}};
    if (options.nats) {
        nats_ = std::make_unique<NatsServer>(NatsServer::Options{.jetstream = true, .configuration = ""});
        create_nats_stream(nats_->url(), kStream, R"(["sandbox.events","sandbox.events.nodes"])");
        variables["SANDBOX__BUS__KIND"] = "nats";
        variables["SANDBOX__BUS__NATS_URL"] = nats_->url();
    }
    for (const auto& [name, value] : options.variables) variables[name] = value;
    for (int i = 0; i < options.controllers; ++i) {
        // It must be free again for the same controller when that was killed: no port that outgoing connections get.
        variables["SANDBOX__SERVER__BIND"] = "127.0.0.1:" + std::to_string(lasting_port());
        controllers_.emplace_back(
            Daemon::Options{.variables = variables, .arguments = {"--role", "controller"}, .wait_for_node = false});
    }
}

std::vector<std::string> Cluster::addresses() const {
    std::vector<std::string> all;
    for (const auto& controller : controllers_) all.push_back(controller.address());
    return all;
}

std::chrono::seconds outage() {
    return std::chrono::seconds(repeats("SANDBOX_TEST_OUTAGE_SECONDS", 4));
}

json small_spec(const json& changes) {
    json spec{{"tenant", "acme"},
              {"image", "busybox:1"},
              {"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 16}}}};
    spec.update(changes);
    return {{"spec", spec}};
}

}  // namespace sandbox::test
