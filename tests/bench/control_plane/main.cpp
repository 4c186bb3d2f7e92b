// What the control plane alone can take: real controllers and a real PostgreSQL, with nodes and clients that this
// program plays. Nothing runs in the sandboxes.
#include <memory>
#include <stdexcept>
#include <support/postgres_server.hpp>
#include <support/process.hpp>
#include <support/run_task.hpp>
#include <unistd.h>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>

#include "clients.hpp"
#include "journal.hpp"
#include "nodes.hpp"
#include "process_use.hpp"
#include "report.hpp"

namespace sandbox::bench {
namespace {

using namespace std::chrono_literals;

/// The real programs, started for one run.
class ControlPlane {
public:
    explicit ControlPlane(const Settings& settings) {
        auto database = settings.database_url;
        if (settings.postgres && database.empty()) {
            postgres_ = std::make_unique<test::PostgresServer>(test::PostgresServer::Options{.fsync = true});
            database = postgres_->url();
        }
        test::Daemon::Options options{
            .variables = {}, .arguments = {"--dev", "--role", "controller"}, .wait_for_node = false};
        if (settings.postgres)
            options.variables = {{"SANDBOX__STORE__KIND", "postgres"}, {"SANDBOX__STORE__DATABASE_URL", database}};
        for (int i = 0; i < settings.controllers; ++i) controllers_.push_back(std::make_unique<test::Daemon>(options));
    }

    [[nodiscard]] std::vector<http::Url> urls() const {
        std::vector<http::Url> urls;
        for (const auto& controller : controllers_) urls.push_back(http::Url::parse(controller->url()).value());
        return urls;
    }

    /// What all have used so far, this program last.
    [[nodiscard]] std::vector<Report::Process> use() const {
        std::vector<Report::Process> all;
        for (std::size_t i = 0; i < controllers_.size(); ++i) {
            const auto one = ProcessUse::of(controllers_[i]->process().pid());
            all.push_back({fmt::format("controller {}", i + 1), one.cpu_seconds, one.resident_mib, one.peak_mib});
        }
        if (postgres_) all.push_back({"PostgreSQL, all processes", ProcessUse::cpu_of_family(postgres_->pid()), 0, 0});
        const auto own = ProcessUse::of(::getpid());
        all.push_back({"this program", own.cpu_seconds, own.resident_mib, own.peak_mib});
        return all;
    }

    /// Of PostgreSQL so far; nullopt when there is none, or it is not ours.
    [[nodiscard]] std::optional<std::int64_t> deadlocks() const {
        if (!postgres_) return std::nullopt;
        const auto* query = "select deadlocks from pg_stat_database where datname = current_database()";
        return std::stoll(postgres_->query("postgres", query));
    }

private:
    std::unique_ptr<test::PostgresServer> postgres_;
    std::vector<std::unique_ptr<test::Daemon>> controllers_;
};

double seconds_since(Steady::time_point start) {
    return std::chrono::duration<double>(Steady::now() - start).count();
}

Task<void> measure_creates(const Settings& settings, const ControlPlane& plane, Clients& clients,
                           const Journal& journal, Report& report) {
    if (settings.warm_up_seconds > 0) co_await clients.create(std::chrono::seconds(settings.warm_up_seconds), false);
    const auto before = plane.use();
    const auto start = Steady::now();
    co_await clients.create(std::chrono::seconds(settings.seconds), true);
    // Those that were under way when the time was up are not counted, nor is the time that they took.
    report.create_seconds = settings.seconds;
    report.processes = plane.use();
    for (std::size_t i = 0; i < before.size(); ++i) report.processes[i].cpu_seconds -= before[i].cpu_seconds;
    report.creates = journal.counted(start + std::chrono::seconds(settings.seconds));
}

Task<void> measure_all(const Settings& settings, const ControlPlane& plane, Nodes& nodes, Clients& clients,
                       const Journal& journal, Report& report) {
    co_await nodes.start();
    co_await measure_creates(settings, plane, clients, journal, report);
    if (settings.exec_seconds > 0 && settings.deletes != Deletes::during) {
        const auto start = Steady::now();
        co_await clients.exec(std::chrono::seconds(settings.exec_seconds));
        report.exec_seconds = seconds_since(start);
    }
    if (settings.deletes == Deletes::after) {
        const auto start = Steady::now();
        co_await clients.remove();
        report.delete_seconds = seconds_since(start);
    }
}

/// Ends what was started, also when something was thrown.
Task<void> measure(const Settings& settings, const ControlPlane& plane, Nodes& nodes, Clients& clients,
                   const Journal& journal, Report& report) {
    std::exception_ptr failure;
    try {
        co_await measure_all(settings, plane, nodes, clients, journal, report);
    } catch (...) {
        failure = std::current_exception();
    }
    co_await clients.stop();
    co_await nodes.stop();
    if (failure) std::rethrow_exception(failure);
}

Report run(const Settings& settings) {
    const ControlPlane plane(settings);
    asio::io_context io(1);
    Journal journal;
    Nodes nodes(io.get_executor(), settings, plane.urls(), journal);
    Clients clients(io.get_executor(), settings, plane.urls(), journal);
    Report report;
    test::run(io, measure(settings, plane, nodes, clients, journal, report));
    report.deletes = journal.deleted();
    report.execs = journal.execs;
    report.assigned_here = journal.assigned_here;
    report.assigned_elsewhere = journal.assigned_elsewhere;
    report.errors = journal.errors();
    report.deadlocks = plane.deadlocks();
    return report;
}

/// A tiny load on each store: whether this program still measures anything. Figures are not looked at: each client
/// has at least one create and one exec, however slow the machine is.
void check() {
    for (const bool postgres : {false, true}) {
        const Settings settings{.workers = 3,
                                .idle_nodes = 2,
                                .clients = 4,
                                .controllers = postgres ? 2 : 1,
                                .seconds = 1,
                                .exec_seconds = 1,
                                .warm_up_seconds = 0,
                                .heartbeat_seconds = 1,
                                .postgres = postgres};
        const auto report = run(settings);
        print(settings, report);
        const auto made = report.creates.running.count();
        if (made == 0 || report.execs.count() == 0) throw std::runtime_error("nothing was done");
        if (report.deletes != made) throw std::runtime_error("not all that was created was deleted");
        if (!report.errors.empty()) throw std::runtime_error("there were errors");
    }
}

}  // namespace
}  // namespace sandbox::bench

int main(int argc, char** argv) {
    using sandbox::bench::Deletes;
    sandbox::bench::Settings settings;
    bool self_check = false;
    std::string store = "memory";
    CLI::App app{"Loads real controllers with simulated nodes and clients, and prints what they can take."};
    app.add_option("--store", store, "memory or postgres")->check(CLI::IsMember({"memory", "postgres"}));
    app.add_option("--database-url", settings.database_url, "a database to use, not a cluster of this program's own");
    app.add_option("--controllers", settings.controllers, "controllers")->check(CLI::Range(1, 3));
    app.add_option("--workers", settings.workers, "nodes that lease and complete")->check(CLI::Range(1, 1000));
    app.add_option("--nodes", settings.idle_nodes, "more nodes, full ones that only heartbeat")
        ->check(CLI::Range(0, 10000));
    app.add_option("--clients", settings.clients, "clients")->check(CLI::Range(1, 1000));
    app.add_option("--rate", settings.rate, "requests per second; 0: as fast as possible")
        ->check(CLI::Range(0.0, 100000.0));
    app.add_option("--seconds", settings.seconds, "for creates")->check(CLI::Range(1, 3600));
    app.add_option("--exec-seconds", settings.exec_seconds, "for execs, after the creates")->check(CLI::Range(0, 3600));
    app.add_option("--warm-up", settings.warm_up_seconds, "seconds before anything counts")->check(CLI::Range(0, 60));
    app.add_option("--heartbeat-seconds", settings.heartbeat_seconds, "between a node's heartbeats")
        ->check(CLI::Range(1, 40));
    app.add_option("--lease-limit", settings.lease_limit, "assignments that a worker takes at once")
        ->check(CLI::Range(1, 100));
    app.add_option("--deletes", settings.deletes, "after, during (each as soon as it runs) or none")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Deletes>{
            {"after", Deletes::after}, {"during", Deletes::during}, {"none", Deletes::none}}));
    app.add_flag("--self-check", self_check, "a tiny load on both stores, which must go without an error");
    app.option_defaults()->always_capture_default();
    CLI11_PARSE(app, argc, argv);
    settings.postgres = store == "postgres";
    if (!settings.postgres && (settings.controllers > 1 || !settings.database_url.empty())) {
        fmt::print(stderr, "control_plane_bench: several controllers and --database-url want --store postgres\n");
        return 2;
    }
    try {
        if (self_check)
            sandbox::bench::check();
        else
            print(settings, sandbox::bench::run(settings));
    } catch (const std::exception& error) {
        fmt::print(stderr, "control_plane_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
