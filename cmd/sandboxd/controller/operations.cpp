// Operations: looking at them, waiting for them, cancelling them.
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "controller.hpp"
#include "limits.hpp"
#include "listing.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

void Controller::add_operation_routes() {
    add("GET", "/v1/operations", [this](http::Request request) { return list_operations(std::move(request)); });
    add("GET", "/v1/operations/{id}", [this](http::Request request) { return show_operation(std::move(request)); });
    add("POST", "/v1/operations/{id}/cancel", [this](http::Request request) { return cancel(std::move(request)); });
}

Task<Result<domain::Operation>> Controller::wait_as_asked(const http::Request& request, domain::Operation operation) {
    auto seconds = query_integer(request, "wait_seconds", 0, kMaxWaitSeconds);
    if (!seconds) co_return fail(std::move(seconds.error()));
    if (domain::has_ended(operation.state) || seconds->value_or(0) == 0) co_return operation;
    auto ended = co_await store_.wait_operation(operation.id, in(std::chrono::seconds(**seconds)));
    // It has been taken all the same: answered with a failure, it would be asked for once more.
    if (!ended && ended.error().code() == Code::unavailable) co_return operation;
    co_return ended;
}

Task<http::Response> Controller::show_operation(http::Request request) {
    auto id = path_id<domain::OperationId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto operation = co_await store_.operation(*id, in(kStoreTimeout));
    if (operation) operation = co_await wait_as_asked(request, std::move(*operation));
    if (!operation) co_return error_response(operation.error(), request);
    co_return json_response(200, {{"operation", *operation}});
}

Task<http::Response> Controller::list_operations(http::Request request) {
    store::OperationFilter filter;
    if (const auto* text = request.query_value("sandbox_id")) {
        filter.sandbox_id = domain::SandboxId::parse(*text);
        if (!filter.sandbox_id)
            co_return error_response(Error(Code::invalid_argument, "query parameter sandbox_id must be a UUID"),
                                     request);
    }
    auto states = query_states(request, domain::kOperationStateNames);
    if (!states) co_return error_response(states.error(), request);
    filter.states = std::move(*states);
    if (auto page = read_page(request, filter); !page) co_return error_response(page.error(), request);

    auto found = co_await store_.operations(std::move(filter), in(kStoreTimeout));
    if (!found) co_return error_response(found.error(), request);
    co_return json_response(200, api::OperationList{std::move(found->items), write_cursor(found->next)});
}

Task<http::Response> Controller::cancel(http::Request request) {
    auto id = path_id<domain::OperationId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto once = read_idempotency(request);
    if (!once) co_return error_response(once.error(), request);
    if (auto body = api::read_empty_request(request.body); !body) co_return error_response(body.error(), request);
    auto operation = co_await store_.cancel(*id, std::move(*once), in(kStoreTimeout));
    if (operation) operation = co_await wait_as_asked(request, std::move(*operation));
    if (!operation) co_return error_response(operation.error(), request);
    co_return json_response(202, {{"operation", *operation}});
}

}  // namespace sandbox::sandboxd
