#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "../operations.hpp"
#include "../report.hpp"
#include "../show.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

using namespace std::chrono_literals;

/// Relative times and expiries begin to mislead.
constexpr auto kClockTolerance = 30s;

enum class Verdict { ok, failed, not_checked };
constexpr domain::Names<Verdict, 3> kVerdictNames{
    {{"ok", Verdict::ok}, {"failed", Verdict::failed}, {"not checked", Verdict::not_checked}}};

struct Check {
    std::string name;
    Verdict verdict = Verdict::ok;
    std::string detail;
    std::string next = {};  // what to do about a failed one
};

/// What a visit to the server has found.
struct Findings {
    std::vector<Check> checks;
    nlohmann::json health;
    std::optional<client::Failure> unreachable;
};

Check clock_check(Timestamp server, Timestamp asked, Timestamp answered, std::int64_t& difference_ms) {
    const auto here = asked + (answered - asked) / 2;
    const auto difference = std::chrono::duration_cast<std::chrono::milliseconds>(server - here);
    difference_ms = difference.count();
    if (std::chrono::abs(difference) < 1s) return {"clock", Verdict::ok, "the server's and this machine's agree"};
    const auto text =
        fmt::format("the server's is {:.1f} s {} this machine's", std::abs(static_cast<double>(difference_ms)) / 1000,
                    difference_ms < 0 ? "behind" : "ahead of");
    if (std::chrono::abs(difference) <= kClockTolerance) return {"clock", Verdict::ok, text};
    return {"clock", Verdict::failed, text,
            "set the clock that is wrong (NTP); until then ages and expiries shown here are off"};
}

Check tunnel_check(const api::Health::Tunnels& tunnels) {
    if (!tunnels.enabled) return {"tunnels", Verdict::ok, "off"};
    return {"tunnels", Verdict::ok, "on, below " + tunnels.base_domain.value_or("an unknown domain")};
}

Task<Check> store_check(client::Client& client, std::string store) {
    auto ready = co_await client.ready(in(kRequestTime));
    if (ready) co_return Check{"store", Verdict::ok, store};
    if (ready.error().status == 404)
        co_return Check{"store", Verdict::not_checked, store + "; this server does not tell whether it is ready"};
    co_return Check{"store", Verdict::failed, store + ": " + ready.error().error.message(),
                    "look at the controller's log, and whether its database answers"};
}

Task<Check> token_check(client::Client& client, bool given) {
    client::ListQuery one;
    one.limit = 1;
    auto answer = co_await client.sandboxes(one, in(kRequestTime));
    if (answer) co_return Check{"token", Verdict::ok, given ? "accepted" : "none is needed"};
    const auto& failure = answer.error();
    if (!given && failure.status == 401) co_return Check{"token", Verdict::not_checked, "SANDBOX_TOKEN is not set"};
    if (failure.status == 401)
        co_return Check{"token", Verdict::failed, "refused",
                        "set SANDBOX_TOKEN to this server's API token (server.api_token)"};
    co_return Check{"token", Verdict::failed, failure.error.message(), "look at the controller's log"};
}

struct Fleet {
    std::int64_t ready = 0;
    std::int64_t draining = 0;
    std::int64_t silent = 0;
    std::int64_t running_sandboxes = 0;
    domain::Resources free{0, 0, 0, 0};
};

Fleet fleet_of(const std::vector<domain::Node>& nodes, Timestamp server_now) {
    Fleet fleet;
    for (const auto& node : nodes) {
        fleet.running_sandboxes += node.capacity.running_sandboxes;
        if (is_silent(node, server_now)) {
            ++fleet.silent;
        } else if (node.draining) {
            ++fleet.draining;
        } else {
            ++fleet.ready;
            fleet.free += node.capacity.available;
        }
    }
    return fleet;
}

std::string free_text(const domain::Resources& free) {
    return fmt::format("free: {}, {} memory, {} disk, {} processes", cores(free.cpu_millis), mib(free.memory_mib),
                       mib(free.disk_mib), free.pids);
}

Check node_check(const Fleet& fleet) {
    const auto counts = fmt::format("{} ready, {} draining, {} silent", fleet.ready, fleet.draining, fleet.silent);
    if (fleet.ready > 0) return {"nodes", Verdict::ok, counts + "; " + free_text(fleet.free)};
    return {"nodes", Verdict::failed, counts + ": none takes new sandboxes",
            fleet.draining > 0 ? "`sandbox node undrain ID`, or start another worker"
                               : "look at the workers: sandboxd is down there, or can't reach this server"};
}

/// Looks at the fleet when the token allows it; notes what it found for --json too.
Task<Check> nodes_check(client::Client& client, bool allowed, Timestamp server_now, nlohmann::json& document) {
    document["nodes"] = nullptr;
    if (!allowed) co_return Check{"nodes", Verdict::not_checked, "needs a token"};
    auto nodes = co_await client.nodes(in(kRequestTime));
    if (!nodes && nodes.error().status == 404)
        co_return Check{"nodes", Verdict::not_checked, "this server does not list them"};
    if (!nodes)
        co_return Check{"nodes", Verdict::failed, nodes.error().error.message(), "look at the controller's log"};
    if (nodes->empty()) co_return Check{"nodes", Verdict::not_checked, "no worker has registered yet"};
    const auto fleet = fleet_of(*nodes, server_now);
    document["nodes"] = {{"ready", fleet.ready},
                         {"draining", fleet.draining},
                         {"silent", fleet.silent},
                         {"running_sandboxes", fleet.running_sandboxes},
                         {"free", fleet.free}};
    co_return node_check(fleet);
}

Task<Findings> examine(Session& session, client::Client& client, std::string address) {
    Findings found;
    const auto asked = session.now();
    auto health = co_await client.health(in(kRequestTime));
    const auto answered = session.now();
    if (!health) {
        found.unreachable = std::move(health.error());
        co_return found;
    }
    std::int64_t difference_ms = 0;
    found.health = *health;
    found.checks.push_back({"server", Verdict::ok, fmt::format("sandboxd {} at {}", health->version, address)});
    found.checks.push_back(co_await store_check(client, health->store));
    found.checks.push_back(tunnel_check(health->tunnels));
    found.checks.push_back(clock_check(health->now, asked, answered, difference_ms));
    const auto token = co_await token_check(client, !session.token().empty());
    found.checks.push_back(token);
    found.health["server"] = address;
    found.health["clock_difference_ms"] = difference_ms;
    found.checks.push_back(co_await nodes_check(client, token.verdict == Verdict::ok, health->now, found.health));
    found.health["token"] = token.verdict == Verdict::ok ? token.detail : domain::name_in(kVerdictNames, token.verdict);
    co_return found;
}

void show_checks(Output& output, const std::vector<Check>& checks) {
    Table table({"CHECK", "RESULT", "DETAIL"});
    for (const auto& check : checks) {
        const auto color = check.verdict == Verdict::ok       ? Color::green
                           : check.verdict == Verdict::failed ? Color::red
                                                              : Color::yellow;
        table.add({check.name,
                   {std::string(domain::name_in(kVerdictNames, check.verdict)), color},
                   printable_line(check.detail)});
    }
    output.out(table.text(output.colors()));
    for (const auto& check : checks)
        if (!check.next.empty()) output.out(fmt::format("\n{}: {}\n", check.name, printable_line(check.next)));
}

Task<Outcome> doctor(Session& session) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    auto server = choose_server(session.globals().server, session.environment());
    auto found = co_await examine(session, **client, server->url.text());
    auto& output = session.output();
    if (found.unreachable) {
        if (!output.json() && !output.quiet())
            show_checks(output, {{"server", Verdict::failed, found.unreachable->error.message()}});
        co_return std::unexpected(std::move(*found.unreachable));
    }
    const bool failed =
        std::ranges::any_of(found.checks, [](const Check& check) { return check.verdict == Verdict::failed; });
    if (output.json()) {
        auto& list = found.health["checks"] = nlohmann::json::array();
        for (const auto& check : found.checks)
            list.push_back({{"name", check.name},
                            {"result", domain::name_in(kVerdictNames, check.verdict)},
                            {"detail", check.detail},
                            {"next", check.next.empty() ? nlohmann::json() : nlohmann::json(check.next)}});
        output.document(found.health);
    } else if (!output.quiet()) {
        show_checks(output, found.checks);
    }
    co_return failed ? kFailed : kDone;
}

}  // namespace

void add_doctor(CommandLine& line) {
    auto& command =
        line.add(line.root(), "doctor", "Look at the server, its store, its nodes, the clocks and the token",
                 {"sandbox doctor", "sandbox doctor --server https://sandbox.example.com --json"});
    line.on_chosen(command, []() -> Action { return [](Session& session) { return doctor(session); }; });
}

}  // namespace sandbox::cli
