// What the PostgreSQL store carries: creates by many clients, done at once by workers that take no time, with events
// published, all in this one process beside a real server with fsync on. Prints rates and delays.
#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <support/completion.hpp>
#include <support/postgres_server.hpp>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/store/postgres_store.hpp>

namespace sandbox::store {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

struct Options {
    std::size_t controllers = 1;
    std::size_t nodes = 4;
    std::size_t clients = 32;
    double rate = 0;  // creates a second; 0: as many as the clients get done
    int seconds = 10;
    bool destroy = false;
};

double milliseconds(steady_clock::duration duration) {
    return std::chrono::duration<double, std::milli>(duration).count();
}

void print(const char* what, std::vector<double>& values) {
    if (values.empty()) return;
    std::ranges::sort(values);
    const auto at = [&](double part) { return values[static_cast<std::size_t>(part * double(values.size() - 1))]; };
    fmt::print("{:<28} n {:>6}  p50 {:>7.2f}  p90 {:>7.2f}  p99 {:>7.2f}  max {:>7.2f} ms\n", what, values.size(),
               at(0.5), at(0.9), at(0.99), values.back());
}

class Load {
public:
    explicit Load(const Options& options) : options_(options), server_({.fsync = true}) {
        for (std::size_t i = 0; i < options_.controllers; ++i)
            stores_.push_back(
                create_postgres_store(io_.get_executor(), {.url = Secret(server_.url())}, {}, random_).value());
    }

    void run() {
        asio::co_spawn(io_, everything(), asio::detached);
        while (!stopped_) io_.run_one();
        fmt::print("{} controllers, {} nodes, {} clients, {}: {:.0f} creates completed a second, {} errors\n",
                   options_.controllers, options_.nodes, options_.clients,
                   options_.rate > 0 ? fmt::format("{} a second asked for", options_.rate) : "as many as go",
                   double(whole_.size()) / milliseconds(end_ - begin_) * 1000, errors_);
        print("create answered", create_);
        print("answered to worker", handed_over_);
        print("create to completed", whole_);
    }

private:
    Store& store(std::size_t index) { return *stores_[index % stores_.size()]; }

    Task<void> everything() {
        for (std::size_t i = 0; i < options_.nodes; ++i) {
            domain::Node node;
            node.id = domain::NodeId::make({}, random_);
            node.name = fmt::format("node-{}", i);
            node.capacity.total = {.cpu_millis = 1'000'000'000,
                                   .memory_mib = 1'000'000'000,
                                   .disk_mib = 1'000'000'000,
                                   .pids = 1'000'000'000};
            node.capacity.available = node.capacity.total;
            node.supported_tiers = {domain::Tier::container};
            node.incarnation = domain::Incarnation::make({}, random_);
            (co_await store(i).register_node(node, in(5s))).value();
            asio::co_spawn(io_, work(store(i), node.id), asio::detached);
        }
        for (auto& one : stores_) {
            asio::co_spawn(io_, publish(*one), asio::detached);
            asio::co_spawn(io_, sweep(*one), asio::detached);
        }
        begin_ = steady_clock::now();
        end_ = begin_ + std::chrono::seconds(options_.seconds);
        std::size_t running = 0;
        for (std::size_t i = 0; i < options_.clients; ++i) {
            ++running;
            asio::co_spawn(io_, create(i), [&running](const std::exception_ptr&) { --running; });
        }
        while (running > 0) co_await pause(10ms);
        stopped_ = true;
    }

    static Task<void> pause(steady_clock::duration duration) {
        asio::steady_timer timer(co_await asio::this_coro::executor, duration);
        co_await timer.async_wait(asio::use_awaitable);
    }

    Task<void> create(std::size_t client) {
        domain::SandboxSpec spec;
        spec.tenant = "acme";
        spec.image = "debian:12";
        spec.resources = {.cpu_millis = 100, .memory_mib = 64, .disk_mib = 64, .pids = 16};
        const auto interval = options_.rate > 0
                                  ? std::chrono::duration_cast<steady_clock::duration>(
                                        std::chrono::duration<double>(double(options_.clients) / options_.rate))
                                  : steady_clock::duration::zero();
        auto next = begin_ + interval * static_cast<int>(client) / static_cast<int>(options_.clients);
        while (true) {
            if (interval.count() > 0) {
                asio::steady_timer timer(io_, next);
                co_await timer.async_wait(asio::use_awaitable);
                next += interval;
            }
            const auto start = steady_clock::now();
            if (start >= end_) co_return;
            auto placed = co_await store(client).place(spec, {}, in(5s));
            if (!placed) {
                ++errors_;
                continue;
            }
            const auto answered = steady_clock::now();
            create_.push_back(milliseconds(answered - start));
            answered_[placed->operation.id] = answered;
            auto ended = co_await store(client).wait_operation(placed->operation.id, in(30s));
            if (ended && domain::has_ended(ended->state))
                whole_.push_back(milliseconds(steady_clock::now() - start));
            else
                ++errors_;
            if (options_.destroy) (void)co_await store(client).destroy(placed->sandbox.id, {}, in(5s));
        }
    }

    Task<void> work(Store& mine, domain::NodeId node) {
        while (!stopped_) {
            auto leased = co_await mine.lease(node, 16, in(1s));
            if (!leased) continue;
            for (const auto& assignment : leased->assignments) {
                const auto answered = answered_.find(assignment.operation_id);
                const auto now = steady_clock::now();
                handed_over_.push_back(answered == answered_.end() ? 0 : milliseconds(now - answered->second));
                asio::co_spawn(io_, report(mine, assignment), asio::detached);
            }
        }
    }

    Task<void> report(Store& mine, domain::Assignment assignment) {
        if (!co_await mine.complete(test::success_of(assignment), in(5s))) ++errors_;
    }

    Task<void> publish(Store& mine) {
        while (!stopped_) {
            auto batch = co_await mine.unpublished(256, in(1s));
            if (batch && !batch->empty()) (void)co_await mine.published(batch->back().sequence, in(5s));
        }
    }

    Task<void> sweep(Store& mine) {
        while (!stopped_) {
            if (!co_await mine.sweep(in(5s))) ++errors_;
            co_await pause(1s);
        }
    }

    Options options_;
    test::PostgresServer server_;
    asio::io_context io_{1};
    SystemRandom random_;
    std::vector<std::unique_ptr<Store>> stores_;
    bool stopped_ = false;
    steady_clock::time_point begin_;
    steady_clock::time_point end_;
    std::size_t errors_ = 0;
    std::map<domain::OperationId, steady_clock::time_point> answered_;
    std::vector<double> create_;
    std::vector<double> handed_over_;  // 0 when the worker had it before the client its answer
    std::vector<double> whole_;
};

int main_of(int argc, char** argv) {
    CLI::App app("Load on the PostgreSQL store");
    Options options;
    app.add_option("--controllers", options.controllers);
    app.add_option("--nodes", options.nodes);
    app.add_option("--clients", options.clients);
    app.add_option("--rate", options.rate, "creates a second; 0: as many as go");
    app.add_option("--seconds", options.seconds);
    app.add_flag("--destroy", options.destroy, "delete each sandbox afterwards");
    CLI11_PARSE(app, argc, argv);
    Load(options).run();
    return 0;
}

}  // namespace
}  // namespace sandbox::store

int main(int argc, char** argv) {
    return sandbox::store::main_of(argc, argv);
}
