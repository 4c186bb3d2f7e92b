// What workers call: register, heartbeat, lease, release, complete.
#include <algorithm>

#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/base/log.hpp>

#include "controller.hpp"
#include "limits.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

/// Two full output streams in their worst JSON form: a byte that is not UTF-8 takes three in the text and 4/3 in
/// base64, a control character six in the text.
static std::size_t report_limit(std::int64_t max_output_bytes) {
    return static_cast<std::size_t>(max_output_bytes) * 16 + std::size_t{64} * 1024;
}

void Controller::add_worker_routes() {
    add_worker("POST", "/v1/nodes/register", kHeartbeatLimitBytes,
               [this](http::Request request) { return register_node(std::move(request)); });
    add_worker("POST", "/v1/nodes/{id}/heartbeat", kHeartbeatLimitBytes,
               [this](http::Request request) { return heartbeat(std::move(request)); });
    add_worker("GET", "/v1/nodes/{id}/assignments", 0,
               [this](http::Request request) { return lease(std::move(request)); });
    add_worker("POST", "/v1/assignments/release", 0,
               [this](http::Request request) { return release(std::move(request)); });
    add_worker("POST", "/v1/assignments/complete", report_limit(settings_.max_output_bytes),
               [this](http::Request request) { return complete(std::move(request)); });
}

Task<http::Response> Controller::register_node(http::Request request) {
    auto node = api::read_register_request(request.body);
    if (!node) co_return error_response(node.error(), request);
    auto registered = co_await store_.register_node(std::move(*node), in(kStoreTimeout));
    if (!registered) co_return error_response(registered.error(), request);
    log::info("node registered", {{"node_id", registered->node.id.text()}, {"name", registered->node.name}});
    api::RegisterAnswer answer{.node_id = registered->node.id,
                               .heartbeat_interval_seconds = settings_.heartbeat_interval.count(),
                               .max_output_bytes = settings_.max_output_bytes};
    co_return json_response(200, answer);
}

Task<http::Response> Controller::heartbeat(http::Request request) {
    auto id = path_id<domain::NodeId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto report = api::read_heartbeat_request(request.body);
    if (!report) co_return error_response(report.error(), request);
    auto answer = co_await store_.heartbeat(*id, std::move(*report), in(kStoreTimeout));
    if (!answer) co_return error_response(answer.error(), request);
    co_return json_response(200, api::HeartbeatAnswer{std::move(answer->remove), std::move(answer->cancel)});
}

Task<http::Response> Controller::lease(http::Request request) {
    auto id = path_id<domain::NodeId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto limit = query_integer(request, "limit", INT64_MIN, INT64_MAX);
    if (!limit) co_return error_response(limit.error(), request);
    auto wait = query_integer(request, "wait_seconds", 0, kMaxWaitSeconds);
    if (!wait) co_return error_response(wait.error(), request);

    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(limit->value_or(8), 1, 100));
    auto leased = co_await store_.lease(*id, count, in(std::chrono::seconds(wait->value_or(0))));
    if (!leased) co_return error_response(leased.error(), request);

    std::vector<domain::AssignmentId> ids;
    for (const auto& assignment : leased->assignments) ids.push_back(assignment.id);
    auto response = json_response(200, api::LeaseAnswer{std::move(leased->assignments), std::move(leased->cancel)});
    if (!ids.empty()) {
        // The worker went away while it waited: its work is free again at once, not when the lease runs out.
        response.on_undelivered = [this, ids = std::move(ids)] {
            auto hand_back = [](store::Store& store, std::vector<domain::AssignmentId> which) -> Task<void> {
                auto released = co_await store.release(std::move(which), in(kStoreTimeout));
                if (!released)
                    log::warn("leases of a worker that left could not be handed back",
                              {{"error", released.error().message()}});
            };
            tasks_.spawn("hand back undelivered leases", hand_back(store_, ids));
        };
    }
    co_return response;
}

Task<http::Response> Controller::release(http::Request request) {
    auto ids = api::read_release_request(request.body);
    if (!ids) co_return error_response(ids.error(), request);
    auto released = co_await store_.release(std::move(*ids), in(kStoreTimeout));
    if (!released) co_return error_response(released.error(), request);
    co_return json_response(200, {{"ok", true}});
}

Task<http::Response> Controller::complete(http::Request request) {
    auto report = api::read_complete_request(request.body);
    if (!report) co_return error_response(report.error(), request);
    auto done = co_await store_.complete(std::move(*report), in(kStoreTimeout));
    if (!done) co_return error_response(done.error(), request);
    co_return json_response(200, {{"ok", true}});
}

}  // namespace sandbox::sandboxd
