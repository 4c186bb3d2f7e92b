// What the bridge costs over the API: sandbox_inspect through its pipes and the same GET on a kept connection, in pairs
// within one run, and what memory the bridge has taken by then.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/http/client.hpp>

#include "support/mcp_program.hpp"
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

    void get(const std::string& target) {
        http::Request request;
        request.method = "GET";
        request.target = target;
        const auto response = test::run(io_, client_.send(std::move(request), in(60s)));
        if (!response || response->status != 200) throw std::runtime_error(target + " failed");
        if (json::parse(response->body, nullptr, false)["state"] != "running") throw std::runtime_error("not running");
    }

private:
    asio::io_context io_{1};
    http::Client client_;
};

template <class Work>
double milliseconds(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
}

/// A line of /proc/PID/status, in KiB.
long memory(pid_t pid, const std::string& name) {
    std::ifstream file(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(file, line);)
        if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1));
    return 0;
}

void run(const std::string& image, int calls) {
    test::Daemon daemon;
    Caller api(daemon.url());
    test::McpProgram bridge(daemon.url());
    bridge.initialize();
    const auto created =
        bridge.tool("sandbox_create", {{"tenant", "bench"}, {"image", image}, {"memory_mib", 128}, {"disk_mib", 64}});
    if (created["isError"] == true) throw std::runtime_error(created.dump());
    const json id = created["structuredContent"]["sandbox"]["id"];
    const auto target = "/v1/sandboxes/" + id.get<std::string>();

    std::vector<double> bridged;
    std::vector<double> direct;
    std::vector<double> differences;
    for (int i = -20; i < calls; ++i) {  // the first ones warm both up and do not count
        const auto one = milliseconds([&] {
            const auto result = bridge.tool("sandbox_inspect", {{"sandbox_id", id}});
            if (result["structuredContent"]["sandbox"]["state"] != "running") throw std::runtime_error(result.dump());
        });
        const auto other = milliseconds([&] { api.get(target); });
        if (i < 0) continue;
        bridged.push_back(one);
        direct.push_back(other);
        differences.push_back(one - other);
    }
    const auto pings = [&] {
        std::vector<double> times;
        for (int i = 0; i < calls; ++i) times.push_back(milliseconds([&] { bridge.result("ping"); }));
        return median(std::move(times));
    }();
    const auto pid = bridge.process().pid();
    bridge.tool("sandbox_delete", {{"sandbox_id", id}});
    fmt::print("{} calls each, medians in milliseconds\n", calls);
    fmt::print("sandbox_inspect {:.3f}   GET {:.3f}   difference {:.3f}   ping {:.3f}\n", median(bridged),
               median(direct), median(differences), pings);
    fmt::print("bridge: {} KiB resident, {} KiB at most\n", memory(pid, "VmRSS"), memory(pid, "VmHWM"));
}

}  // namespace
}  // namespace sandbox::bench

int main(int argc, char** argv) {
    std::string image = "sandbox-base-busybox:local";
    int calls = 500;
    CLI::App app{"Compares sandbox_inspect through sandbox-mcp with the same HTTP call, in one run."};
    app.add_option("--image", image, "a local image")->capture_default_str();
    app.add_option("--calls", calls, "calls of each kind")->capture_default_str()->check(CLI::Range(1, 100000));
    CLI11_PARSE(app, argc, argv);
    try {
        sandbox::bench::run(image, calls);
    } catch (const std::exception& error) {
        fmt::print(stderr, "mcp_bench: {}\n", error.what());
        return 1;
    }
    return 0;
}
