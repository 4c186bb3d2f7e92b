#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cluster.hpp"
#include "counted_node.hpp"

namespace sandbox::test {

/// A client as the contract wants it: an answer that did not come, or a 503 `unavailable`, is asked for again, at
/// another controller, with the same idempotency key. One thread.
class PatientClient {
public:
    explicit PatientClient(std::vector<std::string> controllers, std::size_t first = 0)
        : controllers_(std::move(controllers)), next_(first) {}

    /// Throws when there is no other answer within two minutes.
    Reply ask(const std::string& method, const std::string& target, const std::string& body = {},
              const std::string& idempotency_key = {});
    /// The operation once it has ended. Throws when it does not end within two minutes.
    json ended(const std::string& operation);
    /// The same for the operation in this answer.
    json ended(const Reply& reply) { return ended(reply.json()["operation"]["id"].get<std::string>()); }

    int unavailable = 0;
    int unanswered = 0;
    std::chrono::milliseconds slowest_refusal{0};

private:
    std::vector<std::string> controllers_;
    std::size_t next_;
};

/// Uses the API as a busy customer does, until told to stop: creates a sandbox, runs commands in it side by side,
/// deletes it. Everything has to succeed in the end, and everything is checked. Lives on a thread of its own.
class Customer {
public:
    Customer(std::vector<std::string> controllers, const Runs& runs, std::string name, std::size_t number);
    ~Customer();
    Customer(const Customer&) = delete;
    Customer& operator=(const Customer&) = delete;

    void stop() noexcept { over_ = true; }
    /// Waits for the end of what it is at.
    void join();

    // After join().
    int rounds = 0;
    int commands = 0;
    std::vector<std::string> sandboxes;
    std::vector<std::string> faults;
    [[nodiscard]] const PatientClient& client() const noexcept { return client_; }
    /// So far. Any thread.
    [[nodiscard]] int commands_so_far() const noexcept { return so_far_; }

private:
    void run();
    void one_round();
    void expect(bool holds, const std::string& what) {
        if (!holds) faults.push_back(what);
    }

    PatientClient client_;
    const Runs& runs_;
    std::string name_;
    std::size_t number_;
    std::atomic<bool> over_ = false;
    std::atomic<int> so_far_ = 0;
    std::thread thread_;
};

/// Customers at work beside what the test does to the controllers.
class Crowd {
public:
    Crowd(const Cluster& cluster, const Runs& runs, std::size_t count);

    /// Waits until they have run so many more commands; false when that takes more than two minutes.
    [[nodiscard]] bool serve(int more) const;
    /// Stops them, and fails the test for each fault that they have seen.
    void leave();

    // After leave().
    int rounds = 0;
    int commands = 0;
    int unavailable = 0;
    int unanswered = 0;
    std::chrono::milliseconds slowest_refusal{0};
    std::vector<std::string> sandboxes;

private:
    [[nodiscard]] int so_far() const;
    std::vector<std::unique_ptr<Customer>> customers_;
};

}  // namespace sandbox::test
