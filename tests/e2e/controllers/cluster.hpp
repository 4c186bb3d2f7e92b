#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <support/http_call.hpp>
#include <support/nats_server.hpp>
#include <support/postgres_server.hpp>
#include <support/process.hpp>
#include <vector>

namespace sandbox::test {

using nlohmann::json;
using namespace std::chrono_literals;

/// Controllers, as processes, on one PostgreSQL (and one NATS). They ask for no token, so that calls are short, and
/// what waits for a lease or a heartbeat does so for seconds.
class Cluster {
public:
    struct Options {
        int controllers = 3;
        bool nats = false;
        Variables variables;
    };
    explicit Cluster(Options options);
    Cluster() : Cluster(Options{}) {}

    [[nodiscard]] PostgresServer& postgres() noexcept { return postgres_; }
    [[nodiscard]] NatsServer& nats() noexcept { return *nats_; }
    [[nodiscard]] std::size_t size() const noexcept { return controllers_.size(); }
    [[nodiscard]] Daemon& controller(std::size_t number) { return controllers_.at(number); }
    [[nodiscard]] const std::string& address(std::size_t number) const {
        return controllers_.at(number % controllers_.size()).address();
    }
    [[nodiscard]] std::vector<std::string> addresses() const;

    static constexpr std::chrono::seconds kLease{6};
    static constexpr const char* kStream = "EVENTS";  // of the NATS server

private:
    PostgresServer postgres_;
    std::unique_ptr<NatsServer> nats_;
    std::deque<Daemon> controllers_;  // a Daemon can't be moved
};

/// How long what is stopped stays away: SANDBOX_TEST_OUTAGE_SECONDS, else four seconds.
[[nodiscard]] std::chrono::seconds outage();

/// A small sandbox's spec in a create's body.
[[nodiscard]] json small_spec(const json& changes = json::object());

}  // namespace sandbox::test
