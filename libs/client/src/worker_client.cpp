#include <algorithm>
#include <utility>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/client/client.hpp>

#include "caller.hpp"

namespace sandbox::client {
namespace {

using namespace std::chrono_literals;

/// A hundred assignments, each with an exec's full standard input as base64, come in one answer.
constexpr std::size_t kResponseLimit = 256UL * 1024 * 1024;
constexpr auto kShortestLease = 500ms;

Answer<void> acknowledged(Answer<std::string> body) {
    if (!body) return std::unexpected(std::move(body.error()));
    return {};
}

std::string node_path(domain::NodeId id, std::string_view rest) {
    return "/v1/nodes/" + id.text() + std::string(rest);
}

}  // namespace

struct WorkerClient::Impl {
    Caller caller;
    asio::any_io_executor executor;

    Task<Answer<std::string>> post(std::string target, std::string body, Deadline deadline) {
        co_return co_await caller.send({.method = "POST", .target = std::move(target), .body = std::move(body)},
                                       deadline);
    }
};

WorkerClient::WorkerClient(asio::any_io_executor executor, Settings settings)
    : impl_(new Impl{.caller = Caller(executor, std::move(settings), kResponseLimit), .executor = executor}) {}
WorkerClient::~WorkerClient() = default;

Task<Answer<api::RegisterAnswer>> WorkerClient::register_node(const domain::Node& node, Deadline deadline) {
    auto body = co_await impl_->post("/v1/nodes/register", api::register_request(node), deadline);
    co_return read_answer(std::move(body), api::read_register_answer);
}

Task<Answer<api::HeartbeatAnswer>> WorkerClient::heartbeat(domain::NodeId node, const domain::Heartbeat& report,
                                                           Deadline deadline) {
    auto body = co_await impl_->post(node_path(node, "/heartbeat"), dump_json(nlohmann::json(report)), deadline);
    co_return read_answer(std::move(body), api::read_heartbeat_answer);
}

Task<Answer<api::LeaseAnswer>> WorkerClient::lease(domain::NodeId node, std::int64_t limit, int wait_seconds,
                                                   Deadline deadline) {
    const auto asked = std::chrono::steady_clock::now();
    http::Query query{{"limit", std::to_string(limit)}};
    add_wait(query, wait_seconds);
    auto body = co_await impl_->caller.send({.target = with_query(node_path(node, "/assignments"), query)}, deadline);
    auto answer = read_answer(std::move(body), api::read_lease_answer);
    if (!answer || !answer->assignments.empty() || !answer->cancel.empty()) co_return answer;

    const auto due =
        asked + std::min<std::chrono::steady_clock::duration>(kShortestLease, std::chrono::seconds(wait_seconds));
    if (std::chrono::steady_clock::now() < due) {
        asio::steady_timer timer(impl_->executor, due);
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return answer;
}

Task<Answer<void>> WorkerClient::release(const std::vector<domain::AssignmentId>& ids, Deadline deadline) {
    co_return acknowledged(co_await impl_->post("/v1/assignments/release", api::release_request(ids), deadline));
}

Task<Answer<void>> WorkerClient::complete(const domain::Completion& report, Deadline deadline) {
    co_return acknowledged(
        co_await impl_->post("/v1/assignments/complete", dump_json(nlohmann::json(report)), deadline));
}

}  // namespace sandbox::client
