#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/client/client.hpp>

#include "caller.hpp"
#include "follow.hpp"

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;

/// A list without a limit holds every record that the server has.
constexpr std::size_t kResponseLimit = 256UL * 1024 * 1024;
constexpr auto kShortestRound = 250ms;
/// What one round may take beyond its wait_seconds.
constexpr auto kRoundTrip = 10s;

template <class Id>
std::string sandbox_path(const Id& id, std::string_view rest = "") {
    return "/v1/sandboxes/" + id.text() + std::string(rest);
}

http::Query to_query(const ListQuery& list) {
    http::Query query;
    if (list.tenant) query.emplace_back("tenant", *list.tenant);
    if (list.sandbox_id) query.emplace_back("sandbox_id", list.sandbox_id->text());
    for (const auto& state : list.states) query.emplace_back("state", state);
    if (list.limit) query.emplace_back("limit", std::to_string(*list.limit));
    if (list.cursor) query.emplace_back("cursor", *list.cursor);
    return query;
}

}  // namespace

struct Client::Impl {
    Caller caller;
    asio::any_io_executor executor;

    Task<Answer<domain::Operation>> enqueue(Caller::Call call, int wait_seconds, Deadline deadline) {
        http::Query query;
        add_wait(query, wait_seconds);
        call.target = with_query(std::move(call.target), query);
        auto body = co_await caller.send(std::move(call), deadline);
        co_return read_answer(std::move(body), api::read_operation_answer);
    }

    Task<void> sleep(std::chrono::steady_clock::duration duration) const {
        asio::steady_timer timer(executor, duration);
        co_await timer.async_wait(asio::use_awaitable);
    }
};

Client::Client(asio::any_io_executor executor, Settings settings)
    : impl_(new Impl{.caller = Caller(executor, std::move(settings), kResponseLimit), .executor = executor}) {}
Client::~Client() = default;

Task<Answer<api::Health>> Client::health(Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = "/healthz"}, deadline);
    co_return read_answer(std::move(body), api::read_health);
}

Task<Answer<api::Health>> Client::ready(Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = "/readyz"}, deadline);
    co_return read_answer(std::move(body), api::read_health);
}

Task<Answer<api::SandboxAndOperation>> Client::create(const domain::SandboxSpec& spec, std::string idempotency_key,
                                                      int wait_seconds, Deadline deadline) {
    http::Query query;
    add_wait(query, wait_seconds);
    Caller::Call call{.method = "POST",
                      .target = with_query("/v1/sandboxes", query),
                      .body = api::create_request(spec),
                      .idempotency_key = std::move(idempotency_key)};
    auto body = co_await impl_->caller.send(std::move(call), deadline);
    co_return read_answer(std::move(body), api::read_sandbox_and_operation);
}

Task<Answer<api::SandboxList>> Client::sandboxes(ListQuery query, Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = with_query("/v1/sandboxes", to_query(query))}, deadline);
    co_return read_answer(std::move(body), api::read_sandbox_list);
}

Task<Answer<domain::Sandbox>> Client::sandbox(domain::SandboxId id, Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = sandbox_path(id)}, deadline);
    co_return read_answer(std::move(body), api::read_sandbox_answer);
}

Task<Answer<domain::Sandbox>> Client::extend(domain::SandboxId id, std::int64_t ttl_seconds, Deadline deadline) {
    Caller::Call call{.method = "POST",
                      .target = sandbox_path(id, "/extend"),
                      .body = dump_json(nlohmann::json{{"ttl_seconds", ttl_seconds}})};
    auto body = co_await impl_->caller.send(std::move(call), deadline);
    co_return read_answer(std::move(body), api::read_sandbox_answer);
}

Task<Answer<domain::Operation>> Client::exec(domain::SandboxId id, const domain::Command& command,
                                             std::string idempotency_key, int wait_seconds, Deadline deadline) {
    co_return co_await impl_->enqueue({.method = "POST",
                                       .target = sandbox_path(id, "/exec"),
                                       .body = api::exec_request(command),
                                       .idempotency_key = std::move(idempotency_key)},
                                      wait_seconds, deadline);
}

Task<Answer<domain::Operation>> Client::destroy(domain::SandboxId id, int wait_seconds, Deadline deadline) {
    co_return co_await impl_->enqueue({.method = "DELETE", .target = sandbox_path(id)}, wait_seconds, deadline);
}

Task<Answer<domain::Operation>> Client::operation(domain::OperationId id, int wait_seconds, Deadline deadline) {
    co_return co_await impl_->enqueue({.target = "/v1/operations/" + id.text()}, wait_seconds, deadline);
}

Task<Answer<api::OperationList>> Client::operations(ListQuery query, Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = with_query("/v1/operations", to_query(query))}, deadline);
    co_return read_answer(std::move(body), api::read_operation_list);
}

Task<Answer<domain::Operation>> Client::cancel(domain::OperationId id, Deadline deadline) {
    co_return co_await impl_->enqueue(
        {.method = "POST", .target = "/v1/operations/" + id.text() + "/cancel", .body = "{}"}, 0, deadline);
}

Task<Answer<std::vector<domain::Node>>> Client::nodes(Deadline deadline) {
    auto body = co_await impl_->caller.send({.target = "/v1/nodes"}, deadline);
    co_return read_answer(std::move(body), api::read_node_list);
}

Task<Answer<domain::Node>> Client::drain(domain::NodeId id, bool draining, Deadline deadline) {
    Caller::Call call{.method = "POST",
                      .target = "/v1/nodes/" + id.text() + "/drain",
                      .body = dump_json(nlohmann::json{{"drain", draining}})};
    auto body = co_await impl_->caller.send(std::move(call), deadline);
    co_return read_answer(std::move(body), api::read_node_answer);
}

Task<Answer<api::EventList>> Client::events(EventQuery query, Deadline deadline) {
    http::Query parameters{{"after", std::to_string(query.after)}};
    if (query.tenant) parameters.emplace_back("tenant", *query.tenant);
    if (query.limit) parameters.emplace_back("limit", std::to_string(*query.limit));
    auto body = co_await impl_->caller.send({.target = with_query("/v1/events", parameters)}, deadline);
    co_return read_answer(std::move(body), api::read_event_list);
}

Task<Answer<void>> Client::follow(EventQuery query, Following following) {
    Follower follower(impl_->caller, std::move(query), std::move(following));
    co_return co_await follower.run();
}

Task<Answer<domain::Operation>> Client::wait(domain::OperationId id, Deadline deadline, Waiting waiting) {
    using clock = std::chrono::steady_clock;
    std::optional<domain::Operation> last;
    auto last_heard = clock::now();
    for (;;) {
        const auto asked = clock::now();
        const auto left = std::chrono::ceil<std::chrono::seconds>(std::max(deadline - asked, clock::duration::zero()));
        const auto round =
            std::chrono::seconds(std::min<std::int64_t>(std::clamp(waiting.round_seconds, 0, 60), left.count()));
        auto answer = co_await operation(id, static_cast<int>(round.count()), asked + round + kRoundTrip);
        const auto now = clock::now();
        if (answer) {
            if (domain::has_ended(answer->state)) co_return answer;
            last = std::move(*answer);
            last_heard = now;
            if (waiting.on_progress) waiting.on_progress(*last);
        } else if (!is_passing(answer.error()) || now - last_heard >= waiting.patience) {
            co_return answer;
        }
        if (now >= deadline) {
            if (last) co_return std::move(*last);
            co_return answer;
        }
        const auto early = !answer || now - asked < round || round == 0s;
        if (early) co_await impl_->sleep(std::min<clock::duration>(kShortestRound, deadline - now));
    }
}

}  // namespace sandbox::client
