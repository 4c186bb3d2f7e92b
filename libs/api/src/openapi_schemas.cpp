#include <sandbox/domain/assignment.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>

#include "openapi_tables.hpp"

namespace sandbox::api {
namespace {

template <class Table>
std::vector<std::string_view> spellings(const Table& table) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : table) names.push_back(name);
    return names;
}

std::vector<Schema> spec_schemas() {
    return {{"SandboxSpec",
             "What to run. A field that does not exist is refused with its path and the nearest real one.",
             Use::read,
             {{"tenant", "string 1..128", "Whom the sandbox belongs to; not blank."},
              {"image", "string", "An OCI image reference."},
              {"command", "[string] = []", "Optional start-up command, run detached once the sandbox is up."},
              {"env", "{string} = {}", "Environment; names are [A-Za-z_][A-Za-z0-9_]*."},
              {"resources", "#Resources = {\"cpu_millis\":1000,\"memory_mib\":1024,\"disk_mib\":10240,\"pids\":256}"},
              {"network", "#Network = \"deny\"", "The short forms restricted and open are understood as well."},
              {"isolation", "#IsolationPreference = \"auto\"", "A preference: it may be strengthened, never weakened."},
              {"sensitivity", "#Sensitivity = \"internal\""},
              {"signals", "#Signals = {}"},
              {"ttl_seconds", "integer 30..604800 = 3600", "At most the deployment's policy.max_ttl_seconds."},
              {"labels", "{string} = {}"},
              {"placement", "#Placement = {}"},
              {"exposures", "[#Exposure] 0..32 = []", "Ports to publish from the start."},
              {"agent", "string? = null", "The profile of an agent run."}}},
            {"Resources",
             "Limits of a sandbox, or quantities of a node. An object that is given carries all four.",
             Use::read,
             {{"cpu_millis", "integer 0..", "Thousandths of a core; at least 1 in a spec."},
              {"memory_mib", "integer 0..", "MiB; at least 64 in a spec."},
              {"disk_mib", "integer 0..", "MiB of /workspace; at least 64 in a spec."},
              {"pids", "integer 0..", "Processes and threads; at least 1 in a spec."}}},
            {"Signals",
             "What is known of the workload's risk.",
             Use::read,
             {{"untrusted_repository", "boolean = false"},
              {"executes_generated_code", "boolean = false"},
              {"needs_secrets", "boolean = false"},
              {"host_mounts", "boolean = false"},
              {"privileged", "boolean = false", "true is always refused."}}},
            {"Placement",
             "Where to run.",
             Use::read,
             {{"required_labels", "{string} = {}", "A node without all of them is out."},
              {"preferred_region", "string? = null"},
              {"anti_affinity_keys", "[string] = []"}}},
            {"Exposure",
             "A port to publish on a public hostname.",
             Use::read,
             {{"container_port", "integer 1..65535"},
              {"protocol", "#Protocol = \"http\"", "Only http is offered; it carries WebSocket too."},
              {"subdomain", "string? 1..63 = null", "A DNS label; made from the sandbox's id when null."},
              {"authenticated", "boolean = false", "true is refused: there is no visitor login."}}},
            {"Command",
             "One command. Arguments, variables and input pass byte for byte, without a shell.",
             Use::read,
             {{"argv", "[string] 1..", "The first names the program; each at most 131071 bytes."},
              {"cwd", "string? = null", "/workspace when null."},
              {"env", "{string} = {}"},
              {"timeout_seconds", "integer 1..86400 = 300"},
              {"stdin", "string? = null", "Standard input as text; it ends after this."},
              {"stdin_base64", "string? = null", "The same as bytes; not together with stdin."}}}};
}

std::vector<Schema> state_schemas() {
    return {
        {"Sandbox",
         "A sandbox and what became of it.",
         Use::written,
         {{"id", "uuid"},
          {"spec", "#SandboxSpec"},
          {"state", "#SandboxState"},
          {"node_id", "uuid"},
          {"isolation", "#Tier", "How it is really isolated."},
          {"risk_score", "integer 0..100"},
          {"created_at", "time"},
          {"updated_at", "time"},
          {"expires_at", "time"},
          {"failure", "string?", "The last failed operation's error."},
          {"tunnels", "[#Tunnel]"},
          {"placement_reasons", "[string]", "Why it runs where and as it does."},
          {"startup", "#Startup?", "How the spec's command fares; null without one."}}},
        {"Startup",
         "The start-up command.",
         Use::written,
         {{"running", "boolean"}, {"exit_code", "integer?"}, {"tail", "string", "The last 4 KiB of its output."}}},
        {"Tunnel",
         "A published port.",
         Use::written,
         {{"id", "uuid"},
          {"container_port", "integer 1..65535"},
          {"protocol", "#Protocol"},
          {"subdomain", "string?"},
          {"hostname", "string"},
          {"public_url", "string"},
          {"authenticated", "boolean"},
          {"state", "#TunnelState"},
          {"failure", "string?"}}},
        {"Operation",
         "Something that is being done to a sandbox, or was.",
         Use::written,
         {{"id", "uuid"},
          {"sandbox_id", "uuid"},
          {"kind", "#OperationKind"},
          {"state", "#OperationState"},
          {"output", "#Output?", "What an exec left; null until it ends."},
          {"error", "string?"},
          {"created_at", "time"},
          {"updated_at", "time"},
          {"started_at", "time?"},
          {"argv", "[string]?", "Of an exec."},
          {"phase", "string?", "queued, pulling image, creating, starting, running; null when it has ended."}}},
        {"Output",
         "What a command left.",
         Use::written,
         {{"exit_code", "integer", "128 + n when signal n ended it, 124 at the time limit, 126 and 127 as shells do."},
          {"stdout", "string", "UTF-8; other bytes are replaced by U+FFFD."},
          {"stderr", "string"},
          {"truncated", "boolean", "Some of the output was left out in the middle."},
          {"timed_out", "boolean"},
          {"signal", "integer?"},
          {"oom_killed", "boolean", "The sandbox's memory limit killed something during it."},
          {"stdout_bytes", "integer 0..", "Bytes that were written, kept or not."},
          {"stderr_bytes", "integer 0.."},
          {"duration_ms", "integer 0.."},
          {"stdout_base64", "string?", "The exact kept bytes, when they are not UTF-8."},
          {"stderr_base64", "string?"}}},
        {"LoggedEvent",
         "What happened, with its number in the log. The same without sequence goes to the bus.",
         Use::written,
         {{"sequence", "integer 0..", "Numbers only grow; there may be gaps."},
          {"event_id", "uuid", "What one knows an event by that has come twice."},
          {"event_type", "string", "sandbox.scheduled, sandbox.lost, node.stale, …"},
          {"tenant", "string?", "null for what happens to nodes."},
          {"sandbox_id", "uuid?", "null for what happens to nodes."},
          {"node_id", "uuid"},
          {"timestamp", "time"},
          {"attributes", "{string}", "state, isolation, and more by the type."}}}};
}

}  // namespace

std::vector<Schema> operator_schemas() {
    auto all = spec_schemas();
    for (auto& schema : state_schemas()) all.push_back(std::move(schema));
    return all;
}

std::vector<Enumeration> enumerations() {
    using namespace domain;
    return {{"Network", "What a sandbox may reach.", spellings(kNetworkNames)},
            {"IsolationPreference", "What the caller would like.", spellings(kIsolationPreferenceNames)},
            {"Tier", "How a sandbox is isolated.", spellings(kTierNames)},
            {"Sensitivity", "Of the data inside.", spellings(kSensitivityNames)},
            {"Protocol", "Of a published port.", spellings(kProtocolNames)},
            {"SandboxState", "It only moves forward; failed can still be deleted.", spellings(kSandboxStateNames)},
            {"TunnelState", "Of a published port.", spellings(kTunnelStateNames)},
            {"OperationState", "The last two are final.", spellings(kOperationStateNames)},
            {"OperationKind", "What is done.", spellings(kOperationKindNames)},
            {"AssignmentState", "Of one piece of a worker's work.", spellings(kAssignmentStateNames)}};
}

}  // namespace sandbox::api
