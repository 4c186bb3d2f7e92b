// What the whole stack costs over the bare engine: create → running and one exec, ours and the Engine API's own, in
// pairs within one run, since only their ratio means something on a noisy machine.
#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/http/client.hpp>

#include "support/process.hpp"
#include "support/run_task.hpp"

namespace sandbox::bench {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

/// A kept-alive connection to one server, for calls one after another.
class Caller {
public:
    explicit Caller(const std::string& url)
        : client_(io_.get_executor(), {.server = http::Url::parse(url).value(), .ca_file = {}}) {}
    ~Caller() { client_.close(); }

    json operator()(const std::string& method, const std::string& target, const json& body = nullptr) {
        http::Request request;
        request.method = method;
        request.target = target;
        if (!body.is_null()) {
            request.body = body.dump();
            request.headers.add("Content-Type", "application/json");
        }
        auto response = test::run(io_, client_.send(std::move(request), in(60s)));
        if (!response) throw std::runtime_error(target + ": " + response.error().message());
        if (response->status >= 400)
            throw std::runtime_error(fmt::format("{}: {} {}", target, response->status, response->body));
        auto answer = json::parse(response->body, nullptr, false);
        return answer.is_discarded() ? json(response->body) : answer;
    }

private:
    asio::io_context io_{1};
    http::Client client_;
};

double milliseconds(const std::function<void()>& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

/// The value below which the share `q` of the sorted values lies.
double quantile(std::vector<double> values, double q) {
    std::ranges::sort(values);
    return values[std::min(values.size() - 1, static_cast<std::size_t>(q * static_cast<double>(values.size())))];
}

void print_row(const std::string& what, const std::vector<double>& ours, const std::vector<double>& bare) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < ours.size(); ++i) differences.push_back(ours[i] - bare[i]);
    fmt::print("{:<8} {:>9.2f} {:>9.2f} {:>9.2f} {:>9.2f} {:>12.2f} {:>8.2f}\n", what, quantile(ours, 0.5),
               quantile(ours, 0.95), quantile(bare, 0.5), quantile(bare, 0.95), quantile(differences, 0.5),
               quantile(ours, 0.5) / quantile(bare, 0.5));
}

/// The bare engine's container for one pair.
struct Bare {
    Caller& engine;
    std::string image;
    std::string name;

    void create() const {
        engine("POST", "/v1.41/volumes/create", {{"Name", name}});
        engine("POST", "/v1.41/containers/create?name=" + name,
               {{"Image", image},
                {"Cmd", {"sleep", "600"}},
                {"HostConfig",
                 {{"NetworkMode", "none"}, {"Binds", {name + ":/workspace"}}, {"LogConfig", {{"Type", "none"}}}}}});
        engine("POST", "/v1.41/containers/" + name + "/start");
    }
    void exec() const {
        const auto id = engine("POST", "/v1.41/containers/" + name + "/exec",
                               {{"Cmd", {"true"}}, {"AttachStdout", true}, {"AttachStderr", true}})["Id"]
                            .get<std::string>();
        engine("POST", "/v1.41/exec/" + id + "/start", {{"Detach", false}});
        engine("GET", "/v1.41/exec/" + id + "/json");
    }
    void remove() const {
        engine("DELETE", "/v1.41/containers/" + name + "?force=true");
        engine("DELETE", "/v1.41/volumes/" + name);
    }
};

json sandbox_spec(const std::string& image) {
    return {{"spec",
             {{"tenant", "bench"},
              {"image", image},
              {"resources", {{"cpu_millis", 1000}, {"memory_mib", 128}, {"disk_mib", 64}, {"pids", 64}}}}}};
}

void run(const std::string& image, int pairs, int execs, const std::string& engine_url) {
    test::Daemon daemon;
    Caller ours(daemon.url());
    Caller engine(engine_url);
    std::vector<double> our_creates;
    std::vector<double> bare_creates;
    std::vector<double> our_execs;
    std::vector<double> bare_execs;
    for (int i = -1; i < pairs; ++i) {  // the first pair warms both up and does not count
        Bare bare{engine, image, fmt::format("sandbox-bench-{}-{}", daemon.process().pid(), i)};
        std::string id;
        const auto keep = [&](std::vector<double>& times, double time) {
            if (i >= 0) times.push_back(time);
        };
        const auto our_create = milliseconds([&] {
            const auto answer = ours("POST", "/v1/sandboxes?wait_seconds=60", sandbox_spec(image));
            id = answer["sandbox"]["id"].get<std::string>();
            if (answer["sandbox"]["state"] != "running") throw std::runtime_error(answer.dump());
        });
        const auto bare_create = milliseconds([&] { bare.create(); });
        // One kind after the other: what the engine still does after an exec of its own would slow ours down.
        const auto our_exec = [&] {
            const auto answer =
                ours("POST", "/v1/sandboxes/" + id + "/exec?wait_seconds=60", {{"command", {{"argv", {"true"}}}}});
            if (answer["operation"]["state"] != "succeeded") throw std::runtime_error(answer.dump());
        };
        std::this_thread::sleep_for(1s);
        for (int n = 0; n < execs; ++n) keep(our_execs, milliseconds(our_exec));
        for (int n = 0; n < execs; ++n) keep(bare_execs, milliseconds([&] { bare.exec(); }));
        ours("DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
        bare.remove();
        keep(our_creates, our_create);
        keep(bare_creates, bare_create);
    }
    fmt::print("{} pairs, {} execs in each; milliseconds\n", pairs, execs);
    fmt::print("{:<8} {:>9} {:>9} {:>9} {:>9} {:>12} {:>8}\n", "", "ours p50", "p95", "bare p50", "p95", "median diff",
               "ratio");
    print_row("create", our_creates, bare_creates);
    print_row("exec", our_execs, bare_execs);
}

}  // namespace
}  // namespace sandbox::bench

int main(int argc, char** argv) {
    std::string image = "sandbox-base-busybox:local";
    std::string engine = "unix:///var/run/docker.sock";
    int pairs = 20;
    int execs = 10;
    CLI::App app{"Compares create and exec through the whole stack with the bare Docker Engine API, in one run."};
    app.add_option("--image", image, "a local image")->capture_default_str();
    app.add_option("--engine", engine, "the engine's address")->capture_default_str()->envname("DOCKER_HOST");
    app.add_option("--pairs", pairs, "creates of each kind")->capture_default_str()->check(CLI::Range(1, 1000));
    app.add_option("--execs", execs, "execs of each kind in each pair")
        ->capture_default_str()
        ->check(CLI::Range(1, 1000));
    CLI11_PARSE(app, argc, argv);
    try {
        sandbox::bench::run(image, pairs, execs, engine);
    } catch (const std::exception& error) {
        fmt::print(stderr, "stack_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
