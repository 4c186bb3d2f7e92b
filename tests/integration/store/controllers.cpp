#include "controllers.hpp"

#include <atomic>
#include <thread>

namespace sandbox::store {

test::PostgresServer& Controllers::server() {
    static test::PostgresServer server;
    return server;
}

Controllers::Controllers() {
    static int databases = 0;
    database_ = "controllers_" + std::to_string(++databases);
    server().query("postgres", "create database " + database_);
}

Controllers::~Controllers() = default;

Store& Controllers::start() {
    auto store = create_postgres_store(
        io_.get_executor(), {.url = Secret(server().url(database_)), .max_connections = 8}, settings_, random_);
    if (!store) throw std::runtime_error(store.error().message());
    stores_.push_back(std::move(*store));
    return *stores_.back();
}

void Controllers::end(Store& store) {
    store.close();
}

bool Controllers::run_until(const std::function<bool()>& condition) {
    const auto until = in(60s);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) return false;
        io_.restart();
        io_.run_one_for(10ms);
    }
    return true;
}

void Controllers::run_beside(const std::function<void()>& work) {
    // The work stays on the main thread: what it starts would end with another one.
    std::atomic<bool> done = false;
    std::thread beside([&] {
        while (!done) {
            io_.restart();
            io_.run_one_for(10ms);
        }
    });
    work();
    done = true;
    beside.join();
}

domain::NodeId Controllers::add_node(Store& store, std::int64_t max_sandboxes,
                                     std::map<std::string, std::string> labels) {
    domain::Node node;
    node.id =
        domain::NodeId::make(std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()), random_);
    node.name = "node";
    node.region = "local";
    node.zone = "local-a";
    node.labels = std::move(labels);
    node.capacity.total = {.cpu_millis = 1'000'000, .memory_mib = 1'000'000, .disk_mib = 10'000'000, .pids = 1'000'000};
    node.capacity.available = node.capacity.total;
    node.capacity.max_sandboxes = max_sandboxes;
    node.supported_tiers = {domain::Tier::container};
    node.incarnation = domain::Incarnation::make({}, random_);
    node.features = {"stdin", "cancel", "inventory"};
    return value(store.register_node(node, in(10s))).node.id;
}

domain::SandboxSpec Controllers::small_sandbox() {
    domain::SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "debian:12";
    spec.resources = {.cpu_millis = 100, .memory_mib = 64, .disk_mib = 64, .pids = 16};
    return spec;
}

}  // namespace sandbox::store
