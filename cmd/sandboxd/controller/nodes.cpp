// The fleet, as operators see it.
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "controller.hpp"
#include "limits.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

void Controller::add_node_routes() {
    add("GET", "/v1/nodes", [this](http::Request request) { return list_nodes(std::move(request)); });
    add("GET", "/v1/nodes/{id}", [this](http::Request request) { return show_node(std::move(request)); });
    add("POST", "/v1/nodes/{id}/drain", [this](http::Request request) { return drain(std::move(request)); });
}

Task<http::Response> Controller::list_nodes(http::Request request) {
    auto nodes = co_await store_.nodes(in(kStoreTimeout));
    if (!nodes) co_return error_response(nodes.error(), request);
    co_return json_response(200, {{"nodes", *nodes}});
}

Task<http::Response> Controller::show_node(http::Request request) {
    auto id = path_id<domain::NodeId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto node = co_await store_.node(*id, in(kStoreTimeout));
    if (!node) co_return error_response(node.error(), request);
    co_return json_response(200, *node);
}

Task<http::Response> Controller::drain(http::Request request) {
    auto id = path_id<domain::NodeId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto once = read_idempotency(request);
    if (!once) co_return error_response(once.error(), request);
    auto draining = api::read_drain_request(request.body);
    if (!draining) co_return error_response(draining.error(), request);
    auto node = co_await store_.drain(*id, *draining, std::move(*once), in(kStoreTimeout));
    if (!node) co_return error_response(node.error(), request);
    co_return json_response(200, *node);
}

}  // namespace sandbox::sandboxd
