// What operators do with sandboxes: create, look, run commands, extend, delete.
#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "auth.hpp"
#include "controller.hpp"
#include "limits.hpp"
#include "listing.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

void Controller::add_sandbox_routes() {
    add("POST", "/v1/sandboxes", [this](http::Request request) { return create(std::move(request)); });
    add("GET", "/v1/sandboxes", [this](http::Request request) { return list_sandboxes(std::move(request)); });
    add("GET", "/v1/sandboxes/{id}", [this](http::Request request) { return show_sandbox(std::move(request)); });
    add("DELETE", "/v1/sandboxes/{id}", [this](http::Request request) { return destroy(std::move(request)); });
    add("POST", "/v1/sandboxes/{id}/extend", [this](http::Request request) { return extend(std::move(request)); });
    router_.add({.method = "POST",
                 .pattern = "/v1/sandboxes/{id}/exec",
                 .body_limit = settings_.exec_body_limit_bytes,
                 .handler = [this](http::Request request) { return exec(std::move(request)); },
                 .guard = operator_guard(settings_)});
}

Task<http::Response> Controller::create(http::Request request) {
    auto once = read_idempotency(request);
    if (!once) co_return error_response(once.error(), request);
    auto wait = query_integer(request, "wait_seconds", 0, kMaxWaitSeconds);
    if (!wait) co_return error_response(wait.error(), request);
    auto spec = api::read_create_request(request.body, settings_.limits);
    if (!spec) co_return error_response(spec.error(), request);
    if (!spec->exposures.empty()) co_return error_response(Error(Code::unavailable, kTunnelsOff), request);

    auto placed = co_await store_.place(std::move(*spec), std::move(*once), in(kStoreTimeout));
    if (!placed) co_return error_response(placed.error(), request);
    api::SandboxAndOperation answer{std::move(placed->sandbox), std::move(placed->operation)};
    if (wait->value_or(0) > 0) {
        auto operation = co_await wait_as_asked(request, answer.operation);
        if (!operation) co_return error_response(operation.error(), request);
        answer.operation = std::move(*operation);
        auto sandbox = co_await store_.sandbox(answer.sandbox.id, in(kStoreTimeout));
        if (sandbox)
            answer.sandbox = std::move(*sandbox);
        else if (sandbox.error().code() != Code::unavailable)
            co_return error_response(sandbox.error(), request);
    }
    co_return json_response(201, answer);
}

Task<http::Response> Controller::list_sandboxes(http::Request request) {
    store::SandboxFilter filter;
    if (const auto* tenant = request.query_value("tenant")) filter.tenant = *tenant;
    auto states = query_states(request, domain::kSandboxStateNames);
    if (!states) co_return error_response(states.error(), request);
    filter.states = std::move(*states);
    if (auto page = read_page(request, filter); !page) co_return error_response(page.error(), request);

    auto found = co_await store_.sandboxes(std::move(filter), in(kStoreTimeout));
    if (!found) co_return error_response(found.error(), request);
    co_return json_response(200, api::SandboxList{std::move(found->items), write_cursor(found->next)});
}

Task<http::Response> Controller::show_sandbox(http::Request request) {
    auto id = path_id<domain::SandboxId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto sandbox = co_await store_.sandbox(*id, in(kStoreTimeout));
    if (!sandbox) co_return error_response(sandbox.error(), request);
    co_return json_response(200, *sandbox);
}

Task<http::Response> Controller::exec(http::Request request) {
    auto id = path_id<domain::SandboxId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto once = read_idempotency(request);
    if (!once) co_return error_response(once.error(), request);
    auto command = api::read_exec_request(request.body);
    if (!command) co_return error_response(command.error(), request);
    auto wait = query_integer(request, "wait_seconds", 0, kMaxWaitSeconds);
    if (!wait) co_return error_response(wait.error(), request);

    auto operation = co_await store_.exec(*id, std::move(*command), std::move(*once), in(kStoreTimeout));
    if (operation) operation = co_await wait_as_asked(request, std::move(*operation));
    if (!operation) co_return error_response(operation.error(), request);
    co_return json_response(202, {{"operation", *operation}});
}

Task<http::Response> Controller::extend(http::Request request) {
    auto id = path_id<domain::SandboxId>(request);
    if (!id) co_return error_response(id.error(), request);
    auto once = read_idempotency(request);
    if (!once) co_return error_response(once.error(), request);
    auto ttl = api::read_extend_request(request.body, settings_.limits.max_ttl_seconds);
    if (!ttl) co_return error_response(ttl.error(), request);
    auto sandbox = co_await store_.extend(*id, *ttl, std::move(*once), in(kStoreTimeout));
    if (!sandbox) co_return error_response(sandbox.error(), request);
    co_return json_response(200, *sandbox);
}

Task<http::Response> Controller::destroy(http::Request request) {
    auto id = path_id<domain::SandboxId>(request);
    if (!id) co_return error_response(id.error(), request);
    if (auto body = api::read_empty_request(request.body); !body) co_return error_response(body.error(), request);
    auto wait = query_integer(request, "wait_seconds", 0, kMaxWaitSeconds);
    if (!wait) co_return error_response(wait.error(), request);

    auto deletion = co_await store_.destroy(*id, std::nullopt, in(kStoreTimeout));
    if (!deletion) co_return error_response(deletion.error(), request);
    auto operation = co_await wait_as_asked(request, std::move(deletion->operation));
    if (!operation) co_return error_response(operation.error(), request);
    co_return json_response(deletion->finished ? 200 : 202, {{"operation", *operation}});
}

}  // namespace sandbox::sandboxd
