#include "wiring.hpp"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/file.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <sandbox/async/clock.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/version.hpp>
#include <sandbox/client/client.hpp>
#include <sandbox/events/event_bus.hpp>
#include <sandbox/events/nats_bus.hpp>
#include <sandbox/http/server.hpp>
#include <sandbox/runtime/docker.hpp>
#include <sandbox/runtime/external.hpp>
#include <sandbox/store/memory_store.hpp>
#include <sandbox/store/postgres_store.hpp>

#include "controller/controller.hpp"
#include "worker/worker.hpp"

namespace sandbox::sandboxd {

namespace {

/// For what is under way when the daemon is told to stop.
constexpr std::chrono::seconds kShutdownGrace{10};
/// For what was cancelled to notice it.
constexpr std::chrono::seconds kLastWords{2};

store::Settings store_settings(const config::Config& config) {
    store::Settings settings;
    settings.aegis.microvm_risk_threshold = static_cast<int>(config.policy.microvm_risk_threshold);
    settings.aegis.heartbeat_timeout = std::chrono::seconds(config.server.heartbeat_timeout_seconds);
    settings.lease = std::chrono::seconds(config.server.assignment_lease_seconds);
    settings.node_lost = std::chrono::seconds(config.server.node_lost_seconds);
    settings.orphan_grace = std::chrono::seconds(config.server.orphan_grace_seconds);
    settings.max_ttl_seconds = config.policy.max_ttl_seconds;
    settings.retention = std::chrono::hours(24 * config.policy.retention_days);
    settings.output_retention = std::chrono::hours(config.policy.output_retention_hours);
    return settings;
}

ControllerSettings controller_settings(const config::Config& config) {
    ControllerSettings settings;
    settings.api_token = config.server.api_token;
    settings.previous_api_token = config.server.previous_api_token;
    settings.node_token = config.server.node_token;
    settings.previous_node_token = config.server.previous_node_token;
    settings.metrics_public = config.server.metrics_public;
    settings.limits = {.max_ttl_seconds = config.policy.max_ttl_seconds,
                       .max_exposures = config.tunnel.max_per_sandbox};
    settings.request_body_limit_bytes = static_cast<std::size_t>(config.server.request_body_limit_bytes);
    settings.exec_body_limit_bytes = static_cast<std::size_t>(config.server.exec_body_limit_bytes);
    settings.max_output_bytes = config.policy.max_output_bytes;
    const auto third = std::max<std::int64_t>(1, config.server.assignment_lease_seconds / 3);
    settings.heartbeat_interval = std::chrono::seconds(std::min(config.server.heartbeat_interval_seconds, third));
    return settings;
}

std::unique_ptr<events::EventBus> create_bus(const config::Bus& bus) {
    if (bus.kind == config::BusKind::memory) return events::create_memory_bus();
    return events::create_nats_bus(
        {.servers = bus.nats_url, .subject = bus.subject, .credentials_file = bus.credentials_file});
}

/// The address by which this machine reaches a listener of its own: wildcards become loopback.
std::string own_address(const std::string& address) {
    const auto colon = address.rfind(':');
    const auto host = address.substr(0, colon);
    const auto port = address.substr(colon);
    if (host == "0.0.0.0") return "127.0.0.1" + port;
    if (host == "[::]") return "[::1]" + port;
    return address;
}

/// Written whole or not at all, for whoever waits for the file to appear.
Result<void> write_address_file(const std::string& path, const std::string& address) {
    const auto draft = path + ".new";
    std::ofstream file(draft, std::ios::trunc);
    file << address << '\n';
    file.close();
    if (!file || std::rename(draft.c_str(), path.c_str()) != 0)
        return fail(Code::invalid_argument, "server.address_file: " + path + " can't be written");
    return {};
}

/// Held as long as the daemon lives: two workers on one state directory would be one node, and each would end what the
/// other runs.
Result<void> lock_state_directory(const std::string& directory) {
    const auto path = directory + "/lock";
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);  // closed with the process, on purpose
    if (file < 0) return fail(Code::invalid_argument, "node.state_dir: " + path + " can't be opened");
    if (::flock(file, LOCK_EX | LOCK_NB) != 0)
        return fail(Code::invalid_argument, "node.state_dir: " + directory +
                                                " is another running sandboxd's; give this one a directory of its own");
    return {};
}

/// A program of ours that the worker needs: where it was told, else beside this one, else where it is installed.
Result<std::string> find_program(const std::string& name, const std::optional<std::string>& told) {
    std::error_code error;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    std::vector<std::filesystem::path> places{here / name, here.parent_path() / "libexec/sandbox" / name};
    if (told) places = {*told};
    for (const auto& place : places)
        if (::access(place.c_str(), R_OK | X_OK) == 0 && !std::filesystem::is_directory(place, error))
            return place.string();
    return fail(Code::invalid_argument, "there is no " + name + " program at " + places.front().string() +
                                            "; install it beside sandboxd" + (told ? " or name it" : ""));
}

/// The parts of one daemon. Everything lives on one io thread, in the order of the members, and goes in the reverse.
class Daemon {
public:
    explicit Daemon(const config::Config& config) : config_(config) {}

    int run() {
        if (auto started = start(); !started) {
            std::fprintf(stderr, "sandboxd: %s\n", started.error().message().c_str());
            // Nothing has been served: there is nothing to take down in order.
            std::_Exit(started.error().code() == Code::invalid_argument ? 2 : 1);
        }
        asio::co_spawn(io_, run_until_signalled(), asio::detached);
        while (!stopped_) io_.run_one();
        // The parts go first, and their idle connections' timers with them; then what was cancelled ends, quickly.
        worker_.reset();
        runtime_.reset();
        client_.reset();
        if (store_) store_->close();
        io_.restart();
        io_.run_for(kLastWords);
        if (!io_.stopped()) {
            log::warn("something did not end in time; leaving without it");
            std::_Exit(0);
        }
        return 0;
    }

private:
    [[nodiscard]] bool has_controller() const { return config_.role != config::Role::worker; }
    [[nodiscard]] bool has_worker() const { return config_.role != config::Role::controller; }

    Result<void> start() {
        log::info("sandboxd starts", {{"version", std::string(version())},
                                      {"commit", std::string(commit())},
                                      {"role", std::string(domain::name_in(config::kRoleNames, config_.role))}});
        if (config_.dev)
            log::warn(
                "DEVELOPMENT MODE: no tokens, loopback only, nothing is kept, and risky work runs in plain containers");
        if (has_worker())
            if (auto locked = lock_state_directory(config_.node.state_dir); !locked) return locked;
        if (has_controller())
            if (auto done = start_controller(); !done) return done;
        if (has_worker())
            if (auto done = start_worker(); !done) return done;
        return {};
    }

    Result<void> open_store() {
        if (config_.store.kind == config::StoreKind::memory) {
            store_ = store::create_memory_store(store_settings(config_), clock_, random_);
            return {};
        }
        const store::PostgresSettings postgres{
            .url = config_.store.database_url,
            .max_connections = static_cast<std::size_t>(config_.store.max_connections)};
        auto store = store::create_postgres_store(io_.get_executor(), postgres, store_settings(config_), random_);
        if (!store) return fail(std::move(store.error()));
        store_ = std::move(*store);
        return {};
    }

    Result<void> start_controller() {
        if (auto opened = open_store(); !opened) return opened;
        bus_ = create_bus(config_.bus);
        controller_ =
            std::make_unique<Controller>(io_.get_executor(), controller_settings(config_), *store_, *bus_, clock_);

        http::ServerSettings settings;
        settings.bind = config_.server.bind;
        settings.max_connections = static_cast<std::size_t>(config_.server.max_connections);
        if (config_.server.tls_cert_file)
            settings.tls = http::TlsFiles{*config_.server.tls_cert_file, config_.server.tls_key_file.value_or("")};
        server_ = std::make_unique<http::Server>(io_.get_executor(), settings, controller_->service(), random_);
        if (auto listening = server_->listen(); !listening) return listening;
        server_->start();
        if (settings.tls && has_worker() && !config_.node.control_plane_url) {
            // The certificate names the public host, not this machine's loopback: our own worker gets a way in without
            // it.
            http::ServerSettings loopback;
            loopback.bind = "127.0.0.1:0";
            own_server_ = std::make_unique<http::Server>(io_.get_executor(), loopback, controller_->service(), random_);
            if (auto listening = own_server_->listen(); !listening) return listening;
            own_server_->start();
        }
        controller_->start();
        log::info("listening", {{"address", server_->address()}, {"tls", settings.tls ? "on" : "off"}});
        if (config_.server.address_file) return write_address_file(*config_.server.address_file, server_->address());
        return {};
    }

    Result<http::Url> control_plane_url() const {
        if (config_.node.control_plane_url) return http::Url::parse(*config_.node.control_plane_url);
        if (own_server_) return http::Url::parse("http://" + own_server_->address());
        if (server_) return http::Url::parse("http://" + own_address(server_->address()));
        return http::Url::parse("http://127.0.0.1:8080");
    }

    Result<void> start_worker() {
        auto url = control_plane_url();
        if (!url) return fail(std::move(url.error()).in("node.control_plane_url"));
        const bool own_token = config_.node.token.empty() && has_controller();
        client_ = std::make_unique<client::WorkerClient>(
            io_.get_executor(), client::Settings{.server = *url,
                                                 .token = own_token ? config_.server.node_token : config_.node.token,
                                                 .ca_file = config_.node.ca_file});
        auto settings = WorkerSettings::from(config_);
        if (!settings) return fail(std::move(settings.error()));
        auto runtime = config_.node.runtime == config::RuntimeKind::docker ? make_docker_runtime(settings->node_id)
                                                                           : make_external_runtime();
        if (!runtime) return fail(std::move(runtime.error()));
        runtime_ = std::move(*runtime);
        worker_ =
            std::make_unique<Worker>(io_.get_executor(), std::move(*settings), *runtime_, *client_, clock_, random_);
        worker_->start();
        return {};
    }

    Result<std::unique_ptr<runtime::Runtime>> make_docker_runtime(domain::NodeId node_id) {
        const auto& node = config_.node;
        auto engine = http::Url::parse(node.docker_host);
        if (!engine) return fail(std::move(engine.error()).in("node.docker_host"));
        auto guest = find_program("sandbox-guest", node.guest_path);
        if (!guest) return fail(std::move(guest.error()).in("node.guest_path"));
        return runtime::create_docker_runtime(
            io_.get_executor(),
            runtime::DockerSettings{.engine = *engine,
                                    .oci_runtime = node.docker_runtime,
                                    .tiers = node.isolation_tiers.value_or(std::vector{domain::Tier::container}),
                                    .restricted_network = node.docker_restricted_network,
                                    .guest_path = std::move(*guest),
                                    .state_dir = node.state_dir,
                                    .node_id = node_id,
                                    .image_pull_timeout = std::chrono::seconds(node.image_pull_timeout_seconds),
                                    .restricted_allow = node.restricted_allow});
    }

    Result<std::unique_ptr<runtime::Runtime>> make_external_runtime() {
        const auto& node = config_.node;
        auto launcher = find_program("sandbox-driver-run", std::nullopt);
        if (!launcher) return fail(std::move(launcher.error()).in("node.runtime"));
        return runtime::create_external_runtime(io_.get_executor(),
                                                runtime::ExternalSettings{.driver = node.external_driver.value_or(""),
                                                                          .launcher = std::move(*launcher),
                                                                          .state_dir = node.state_dir,
                                                                          .node_name = node.name,
                                                                          .tiers = node.isolation_tiers});
    }

    Task<void> run_until_signalled() {
        while (true) {
            const int signal = co_await signals_.async_wait(asio::use_awaitable);
            if (signal != SIGHUP) break;
            reload();
        }
        signals_.remove(SIGHUP);
        log::info("stopping");
        // A second one means now.
        signals_.async_wait([](boost::system::error_code error, int) {
            if (!error) std::_Exit(130);
        });
        co_await stop();
        signals_.cancel();
        stopped_ = true;
    }

    void reload() {
        if (!server_ || !config_.server.tls_cert_file) return;
        auto reloaded = server_->reload_tls();
        if (reloaded)
            log::info("TLS certificate reloaded");
        else
            log::error("TLS certificate not reloaded, the former one stays", {{"error", reloaded.error().message()}});
    }

    /// Worker first, so that its leases go back while the controller still listens; then the server, then the loops.
    Task<void> stop() {
        const auto deadline = in(kShutdownGrace);
        if (controller_) controller_->begin_stop();
        if (worker_) co_await worker_->stop(deadline);
        if (server_) co_await server_->stop(deadline);
        if (own_server_) co_await own_server_->stop(deadline);
        if (controller_) co_await controller_->stop(deadline);
        log::info("stopped");
    }

    const config::Config& config_;
    asio::io_context io_{1};
    async::SystemClock clock_;
    SystemRandom random_;
    std::unique_ptr<store::Store> store_;
    std::unique_ptr<events::EventBus> bus_;
    std::unique_ptr<Controller> controller_;
    std::unique_ptr<http::Server> server_;
    std::unique_ptr<http::Server> own_server_;
    std::unique_ptr<client::WorkerClient> client_;
    std::unique_ptr<runtime::Runtime> runtime_;
    std::unique_ptr<Worker> worker_;
    asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
    bool stopped_ = false;
};

}  // namespace

int serve(const config::Config& config) {
    return Daemon(config).run();
}

}  // namespace sandbox::sandboxd
