#include "advice.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

namespace sandbox::cli {
namespace {

/// Nobody answered, as the client says by an empty code.
bool from_connection(const client::Failure& failure) {
    return failure.code.empty() && failure.status == 0 &&
           (failure.error.code() == Code::unavailable || failure.error.code() == Code::deadline_exceeded);
}

/// By what removed nodes, in the order in which placement looks.
constexpr std::pair<std::string_view, std::string_view> kGates[] = {
    {"draining", "`sandbox node undrain ID` lets a drained node take sandboxes again"},
    {"stale", "Some workers have gone silent: `sandbox node list` shows which"},
    {"pressure", "Some hosts are short of memory: wait, or delete sandboxes there"},
    {"isolation",
     "No worker offers the isolation that this risk needs: add one that does. Isolation is never weakened to find "
     "room"},
    {"tunnels", "Only a worker with tunnels can publish ports"},
    {"resources",
     "Ask for less (--cpu-millis, --memory-mib, --disk-mib, --pids), delete sandboxes that are no longer needed, or "
     "add a "
     "worker"},
    {"sandbox_limit",
     "Delete sandboxes that are no longer needed, or add a worker: some hold as many as they may (node.max_sandboxes)"},
    {"labels", "`sandbox node list --json` shows which labels the nodes have"},
    {"reserve",
     "Ask for less (--cpu-millis, --memory-mib, --disk-mib, --pids) or wait: a node keeps 5 % of each resource free"},
};

std::string capacity_advice(const client::Failure& failure) {
    const auto details = parse_json(failure.error.details());
    if (!details || !details->is_object()) return "";
    if (details->value("nodes", nlohmann::json()) == 0) return "Start a worker: `sandboxd --role worker`";
    const auto rejected = details->value("rejected", nlohmann::json());
    std::string text;
    for (const auto& [gate, sentence] : kGates)
        if (rejected.is_object() && rejected.contains(gate)) text += (text.empty() ? "" : ". ") + std::string(sentence);
    return text;
}

}  // namespace

std::string advice(const client::Failure& failure) {
    if (failure.code == "no_capacity") return capacity_advice(failure);
    if (failure.status == 401) return "Set SANDBOX_TOKEN to this server's API token";
    const auto& message = failure.error.message();
    if (failure.status == 404 && message == "there is no such path")
        return "Is the server's address right, with its path prefix if it has one? `sandbox config show` tells it";
    // The TLS layer has no code of its own; these are the sentences that it has.
    if (failure.code.empty() && message.find("certificate") != std::string::npos)
        return "Where the server's certificate is of an authority of your own, name that with --ca-file or "
               "SANDBOX_CA_FILE";
    if (failure.code.empty() && message.find("CA file") != std::string::npos)
        return "--ca-file or SANDBOX_CA_FILE names it: it must hold certificates in PEM";
    if (from_connection(failure))
        return "Is the server running there? `sandbox doctor` looks closer; `sandbox config set-server URL` saves "
               "another address";
    return "";
}

}  // namespace sandbox::cli
