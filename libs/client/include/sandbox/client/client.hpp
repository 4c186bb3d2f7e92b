#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/api/error.hpp>
#include <sandbox/api/messages.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/secret.hpp>
#include <sandbox/http/url.hpp>

namespace sandbox::client {

struct Settings {
    http::Url server;
    Secret token;
    std::optional<std::string> ca_file;
};

/// What went wrong with a call, with what the server said of it.
struct Failure {
    Error error;
    std::string code;        // the API's code, "" when no server answered
    std::string request_id;  // "" when there is none
    unsigned status = 0;     // 0 when no server answered
};
template <class T>
using Answer = std::expected<T, Failure>;

struct ListQuery {
    std::optional<std::string> tenant;
    std::vector<std::string> states;
    std::optional<std::int64_t> limit;
    std::optional<std::string> cursor;
    std::optional<domain::SandboxId> sandbox_id;  // operations only
};

struct EventQuery {
    std::uint64_t after = 0;  // a number of the log: events with higher ones
    std::optional<std::string> tenant;
    std::optional<std::int64_t> limit;  // 1 to 1000, of a page; streams have none
};

/// How Client::follow goes about it.
struct Following {
    /// Called with each event, oldest first, none twice; false ends the following.
    std::function<bool(const api::LoggedEvent&)> on_event;
    /// The server is away and will be asked again, and again; then: it is back.
    std::function<void(const Failure&)> on_away = {};
    std::function<void()> on_back = {};
    /// A server that says nothing for so long, no sign of life either (every 15 s), is taken for gone.
    std::chrono::milliseconds silence{45'000};
};

/// How Client::wait goes about it.
struct Waiting {
    /// The longest that one request waits, 0 to 60 s: short rounds show the phase sooner, long ones cost less.
    int round_seconds = 30;
    /// Called with each state that is not the end.
    std::function<void(const domain::Operation&)> on_progress = {};
    /// How long the server may be away (restarting, its store gone) before the wait gives up.
    std::chrono::seconds patience{20};
};

/// The operators' side of the API, typed. One server; any number of calls side by side. Lives on the io thread.
/// wait_seconds (0 to 60) makes the call answer when its operation has ended or the time is up.
class Client {
public:
    Client(asio::any_io_executor executor, Settings settings);
    ~Client();

    Task<Answer<api::Health>> health(Deadline deadline);
    /// Whether it can do its work: a Failure with status 503 when its store does not answer.
    Task<Answer<api::Health>> ready(Deadline deadline);
    Task<Answer<api::SandboxAndOperation>> create(const domain::SandboxSpec& spec, std::string idempotency_key,
                                                  int wait_seconds, Deadline deadline);
    Task<Answer<api::SandboxList>> sandboxes(ListQuery query, Deadline deadline);
    Task<Answer<domain::Sandbox>> sandbox(domain::SandboxId id, Deadline deadline);
    Task<Answer<domain::Sandbox>> extend(domain::SandboxId id, std::int64_t ttl_seconds, Deadline deadline);
    Task<Answer<domain::Operation>> exec(domain::SandboxId id, const domain::Command& command,
                                         std::string idempotency_key, int wait_seconds, Deadline deadline);
    Task<Answer<domain::Operation>> destroy(domain::SandboxId id, int wait_seconds, Deadline deadline);
    Task<Answer<domain::Operation>> operation(domain::OperationId id, int wait_seconds, Deadline deadline);
    Task<Answer<api::OperationList>> operations(ListQuery query, Deadline deadline);
    Task<Answer<domain::Operation>> cancel(domain::OperationId id, Deadline deadline);
    Task<Answer<std::vector<domain::Node>>> nodes(Deadline deadline);
    Task<Answer<domain::Node>> drain(domain::NodeId id, bool draining, Deadline deadline);

    /// One page of the event log, oldest first.
    Task<Answer<api::EventList>> events(EventQuery query, Deadline deadline);
    /// The events after query.after, and those to come, until on_event returns false or the task is cancelled. A server
    /// that goes away once it has answered is waited for, however long, and asked for what comes after the last event:
    /// none is missed. Failures: nobody answers at first, or a refusal that asking again will not mend.
    Task<Answer<void>> follow(EventQuery query, Following following);

    /// Asks again until the operation has ended or the deadline has passed (then its last known state). Waits at least
    /// 250 ms between unfinished answers that came sooner than asked for, as older servers give.
    Task<Answer<domain::Operation>> wait(domain::OperationId id, Deadline deadline, Waiting waiting = {});

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// The workers' side of the API.
class WorkerClient {
public:
    WorkerClient(asio::any_io_executor executor, Settings settings);
    ~WorkerClient();

    Task<Answer<api::RegisterAnswer>> register_node(const domain::Node& node, Deadline deadline);
    Task<Answer<api::HeartbeatAnswer>> heartbeat(domain::NodeId node, const domain::Heartbeat& report,
                                                 Deadline deadline);
    /// An empty answer that came sooner than asked for (an older server ignores wait_seconds) is held back until 500 ms
    /// have passed, so that a loop of leases never spins.
    Task<Answer<api::LeaseAnswer>> lease(domain::NodeId node, std::int64_t limit, int wait_seconds, Deadline deadline);
    Task<Answer<void>> release(const std::vector<domain::AssignmentId>& ids, Deadline deadline);
    Task<Answer<void>> complete(const domain::Completion& report, Deadline deadline);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace sandbox::client
