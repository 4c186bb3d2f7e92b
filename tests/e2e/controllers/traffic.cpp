#include "traffic.hpp"

#include <stdexcept>

#include <gtest/gtest.h>

namespace sandbox::test {

using std::chrono::steady_clock;

namespace {

constexpr auto kPatience = 2min;
constexpr int kCommands = 4;  // of a round

std::chrono::milliseconds since(steady_clock::time_point moment) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(steady_clock::now() - moment);
}

}  // namespace

Reply PatientClient::ask(const std::string& method, const std::string& target, const std::string& body,
                         const std::string& idempotency_key) {
    std::map<std::string, std::string> headers;
    if (!idempotency_key.empty()) headers["Idempotency-Key"] = idempotency_key;
    std::string last;
    for (const auto until = steady_clock::now() + kPatience; steady_clock::now() < until;) {
        const auto& controller = controllers_.at(next_ % controllers_.size());
        const auto began = steady_clock::now();
        try {
            auto reply = call(controller, method, target, body, headers);
            if (reply.status != 503 || reply.json()["code"] != "unavailable") return reply;
            ++unavailable;
            slowest_refusal = std::max(slowest_refusal, since(began));
            last = reply.body;
        } catch (const std::exception& problem) {
            ++unanswered;
            last = problem.what();
        }
        ++next_;
        std::this_thread::sleep_for(50ms);
    }
    throw std::runtime_error(method + " " + target + " was never answered; last: " + last);
}

json PatientClient::ended(const std::string& operation) {
    json seen;
    for (const auto until = steady_clock::now() + kPatience; steady_clock::now() < until;) {
        const auto reply = ask("GET", "/v1/operations/" + operation + "?wait_seconds=5");
        if (reply.status != 200) throw std::runtime_error("operation " + operation + ": " + reply.body);
        seen = reply.json()["operation"];
        if (seen["state"] == "succeeded" || seen["state"] == "failed") return seen;
    }
    throw std::runtime_error("the operation does not end: " + seen.dump());
}

Customer::Customer(std::vector<std::string> controllers, const Runs& runs, std::string name, std::size_t number)
    : client_(std::move(controllers), number), runs_(runs), name_(std::move(name)), number_(number), thread_([this] {
          run();
      }) {}

Customer::~Customer() {
    stop();
    join();
}

void Customer::join() {
    if (thread_.joinable()) thread_.join();
}

void Customer::run() {
    try {
        while (!over_) one_round();
    } catch (const std::exception& problem) {
        faults.emplace_back(problem.what());
    }
}

void Customer::one_round() {
    const auto key = name_ + "-" + std::to_string(number_) + "-" + std::to_string(rounds++) + "-";
    const auto made = client_.ask("POST", "/v1/sandboxes", small_spec({{"tenant", name_}}).dump(), key + "create");
    if (made.status != 201) throw std::runtime_error("create: " + made.body);
    const auto id = made.json()["sandbox"]["id"].get<std::string>();
    sandboxes.push_back(id);
    const auto create = client_.ended(made);
    expect(create["state"] == "succeeded", "create: " + create.dump());

    std::vector<std::string> execs;
    for (int i = 0; i < kCommands; ++i) {
        const json command{{"command", {{"argv", {"work", std::to_string(20 + 150 * i)}}}}};
        const auto enqueued =
            client_.ask("POST", "/v1/sandboxes/" + id + "/exec", command.dump(), key + std::to_string(i));
        if (enqueued.status != 202) throw std::runtime_error("exec: " + enqueued.body);
        execs.push_back(enqueued.json()["operation"]["id"].get<std::string>());
    }
    for (const auto& exec : execs) {
        const auto operation = client_.ended(exec);
        expect(operation["state"] == "succeeded", "exec: " + operation.dump());
        expect(runs_.begun(exec) == 1, "ran " + std::to_string(runs_.begun(exec)) + " times: " + operation.dump());
        ++commands;
        ++so_far_;
    }
    const auto deleted = client_.ended(client_.ask("DELETE", "/v1/sandboxes/" + id));
    expect(deleted["state"] == "succeeded", "delete: " + deleted.dump());
    const auto sandbox = client_.ask("GET", "/v1/sandboxes/" + id).json();
    expect(sandbox["state"] == "stopped", "deleted: " + sandbox.dump());
}

Crowd::Crowd(const Cluster& cluster, const Runs& runs, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
        customers_.push_back(std::make_unique<Customer>(cluster.addresses(), runs, "crowd", i));
}

int Crowd::so_far() const {
    int sum = 0;
    for (const auto& customer : customers_) sum += customer->commands_so_far();
    return sum;
}

bool Crowd::serve(int more) const {
    const int wanted = so_far() + more;
    return eventually(kPatience, [&] { return so_far() >= wanted; });
}

void Crowd::leave() {
    for (const auto& customer : customers_) customer->stop();
    for (const auto& customer : customers_) customer->join();
    for (const auto& customer : customers_) {
        for (const auto& fault : customer->faults) ADD_FAILURE() << fault;
        rounds += customer->rounds;
        commands += customer->commands;
        unavailable += customer->client().unavailable;
        unanswered += customer->client().unanswered;
        slowest_refusal = std::max(slowest_refusal, customer->client().slowest_refusal);
        sandboxes.insert(sandboxes.end(), customer->sandboxes.begin(), customer->sandboxes.end());
    }
    customers_.clear();
}

}  // namespace sandbox::test
