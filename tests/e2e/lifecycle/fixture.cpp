#include "fixture.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "fleet.hpp"

namespace sandbox::test {

std::unique_ptr<Daemon> Lifecycle::daemon_;

json Api::create(const json& changes) const {
    json spec{{"tenant", "acme"},
              {"image", kImage},
              {"resources", {{"cpu_millis", 1000}, {"memory_mib", 256}, {"disk_mib", 128}, {"pids", 256}}}};
    spec.update(changes);
    const auto reply = call(address_, "POST", "/v1/sandboxes?wait_seconds=60", json{{"spec", spec}}.dump());
    if (reply.status != 201) throw std::runtime_error(reply.body);
    return reply.json();
}

std::string Api::running(const json& changes) const {
    const auto made = create(changes);
    if (made["sandbox"]["state"] != "running") throw std::runtime_error(made.dump());
    return made["sandbox"]["id"].get<std::string>();
}

json Api::enqueue(const std::string& id, const json& command) const {
    const auto reply = call(address_, "POST", "/v1/sandboxes/" + id + "/exec", json{{"command", command}}.dump());
    if (reply.status != 202) throw std::runtime_error(reply.body);
    return reply.json()["operation"];
}

json Api::exec(const std::string& id, const json& command) const {
    const auto reply =
        call(address_, "POST", "/v1/sandboxes/" + id + "/exec?wait_seconds=60", json{{"command", command}}.dump());
    if (reply.status != 202) throw std::runtime_error(reply.body);
    auto operation = reply.json()["operation"];
    for (int minutes = 0; minutes < 4 && operation["output"].is_null(); ++minutes)
        operation = wait(operation["id"].get<std::string>());
    return operation;
}

json Api::wait(const std::string& operation) const {
    return get("/v1/operations/" + operation + "?wait_seconds=60").json()["operation"];
}

json Api::destroy(const std::string& id) const {
    const auto reply = call(address_, "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
    if (reply.status != 202 && reply.status != 200) throw std::runtime_error(reply.body);
    return reply.json()["operation"];
}

Ended Lifecycle::cli(std::vector<std::string> arguments, std::string input) const {
    arguments.insert(arguments.begin(), program("sandbox"));
    return run_program(
        {.argv = std::move(arguments), .environment = {{"SANDBOX_URL", daemon_->url()}}, .input = std::move(input)});
}

WorkerProcess::WorkerProcess(const std::string& controller_url, Variables variables)
    : variables_(std::move(variables)) {
    variables_.insert({{"SANDBOX__NODE__CONTROL_PLANE_URL", controller_url},
                       {"SANDBOX__SERVER__ALLOW_UNAUTHENTICATED_DEV", "true"},
                       {"SANDBOX__SERVER__BIND", "127.0.0.1:0"},
                       {"SANDBOX__NODE__STATE_DIR", state()}});
}

WorkerProcess::~WorkerProcess() {
    process_.reset();
    remove_what_node_holds(state());
}

void WorkerProcess::start() {
    process_ = std::make_unique<Process>(
        Start{.argv = {program("sandboxd"), "--role", "worker"}, .environment = variables_, .ends_with_thread = true});
}

std::string WorkerProcess::start_registered(std::chrono::seconds limit) {
    start();
    constexpr const char* kRegistered = "registered with the controller";
    if (!eventually(limit, [&] { return log().find(kRegistered) != std::string::npos; }))
        throw std::runtime_error("the worker did not register: " + log());
    const auto text = log();
    const auto line = text.substr(text.find(kRegistered));
    const auto at = line.find("node_id");
    constexpr std::size_t kIdLength = 36;
    return line.substr(line.find("01", at), kIdLength);
}

void WorkerProcess::kill() {
    process_->signal(SIGKILL);
    process_->wait(10s);
}

Variables an_hour_ahead() {
    for (const auto& entry : std::filesystem::directory_iterator("/usr/lib")) {
        const auto library = entry.path() / "faketime" / "libfaketime.so.1";
        if (std::filesystem::exists(library))
            return {{"LD_PRELOAD", library}, {"FAKETIME", "+1h"}, {"FAKETIME_DONT_FAKE_MONOTONIC", "1"}};
    }
    throw std::runtime_error("install faketime (scripts/setup.sh does)");
}

double resident_mib(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    std::string word;
    while (status >> word) {
        if (word != "VmRSS:") continue;
        double kib = 0;
        status >> kib;
        return kib / 1024;
    }
    throw std::runtime_error("no such process");
}

std::string engine_holds(const std::string& sandbox_id) {
    const auto label = "label=sandbox.dev/id=" + sandbox_id;
    return run_program({.argv = {"docker", "ps", "-aq", "--filter", label}}).out +
           run_program({.argv = {"docker", "volume", "ls", "-q", "--filter", label}}).out;
}

}  // namespace sandbox::test
