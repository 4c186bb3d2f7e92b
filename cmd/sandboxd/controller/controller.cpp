#include "controller.hpp"

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/api/openapi.hpp>
#include <sandbox/base/log.hpp>
#include <sandbox/base/version.hpp>

#include "auth.hpp"
#include "limits.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

/// What is worth a line: failures always, what operators change at info, the rest for those who look closely.
static log::Level level_of(const http::Request& request, std::string_view route, unsigned status) {
    if (status >= 500 && status != 503) return log::Level::error;
    if (status == 503) return log::Level::warn;
    const bool quiet = request.method == "GET" || route.starts_with("/v1/assignments") || route.ends_with("/heartbeat");
    return quiet ? log::Level::debug : log::Level::info;
}

Controller::Controller(asio::any_io_executor executor, ControllerSettings settings, store::Store& store,
                       events::EventBus& bus, async::Clock& clock)
    : settings_(std::move(settings)),
      store_(store),
      clock_(clock),
      router_([](unsigned status, const std::string& message, const std::string& request_id) {
          return error_response(status, message, request_id);
      }),
      tasks_(std::move(executor)),
      feed_(
          [&store](store::EventFilter filter, Deadline deadline) { return store.events(std::move(filter), deadline); },
          tasks_),
      publisher_(store, bus, metrics_) {
    router_.observe(
        [this](const http::Request& request, std::string_view route, unsigned status, std::chrono::microseconds took) {
            metrics_.request_served(request.method, route, status, took);
            const auto level = level_of(request, route, status);
            if (log::enabled(level))
                log::write(level, "request",
                           {{"request_id", request.request_id},
                            {"method", request.method},
                            {"path", request.path},
                            {"status", std::to_string(status)},
                            {"took_us", std::to_string(took.count())},
                            {"remote", request.remote_address}});
        });
    add_meta_routes();
    add_sandbox_routes();
    add_operation_routes();
    add_node_routes();
    add_event_routes();
    add_worker_routes();
    add_tunnel_routes();
    check_against_openapi();
}

void Controller::add(std::string method, std::string pattern, http::Handler handler) {
    router_.add({.method = std::move(method),
                 .pattern = std::move(pattern),
                 .body_limit = settings_.request_body_limit_bytes,
                 .handler = std::move(handler),
                 .guard = operator_guard(settings_)});
}

void Controller::add_worker(std::string method, std::string pattern, std::size_t body_limit, http::Handler handler) {
    router_.add({.method = std::move(method),
                 .pattern = std::move(pattern),
                 .body_limit = std::max(body_limit, settings_.request_body_limit_bytes),
                 .handler = std::move(handler),
                 .guard = node_guard(settings_)});
}

void Controller::check_against_openapi() const {
    const auto routes = router_.routes();
    const auto documented = api::openapi_operations();
    const std::set<std::pair<std::string, std::string>> served(routes.begin(), routes.end());
    const std::set<std::pair<std::string, std::string>> described(documented.begin(), documented.end());
    for (const auto& [method, path] : served)
        if (!described.contains({method, path}))
            broken_invariant("not in the OpenAPI document: " + method + " " + path);
    for (const auto& [method, path] : described)
        if (!served.contains({method, path})) broken_invariant("documented but not served: " + method + " " + path);
}

void Controller::add_meta_routes() {
    const auto open = [this](std::string pattern, http::Handler handler) {
        router_.add({.method = "GET",
                     .pattern = std::move(pattern),
                     .body_limit = 0,
                     .handler = std::move(handler),
                     .guard = {}});
    };
    open("/healthz", [this](http::Request request) { return health(std::move(request), false); });
    open("/readyz", [this](http::Request request) { return health(std::move(request), true); });
    open("/openapi.json", [](http::Request) -> Task<http::Response> {
        http::Response response;
        response.headers.add("Content-Type", "application/json");
        response.body = api::openapi_document();
        co_return response;
    });
    router_.add({.method = "GET",
                 .pattern = "/metrics",
                 .body_limit = 0,
                 .handler = [this](http::Request request) { return metrics(std::move(request)); },
                 .guard = settings_.metrics_public ? Guard{} : operator_guard(settings_)});
}

Task<http::Response> Controller::health(http::Request request, bool ready) {
    if (ready) {
        auto answered = co_await store_.ping(in(kReadyTimeout));
        if (!answered) co_return error_response(std::move(answered.error()).in("the store does not answer"), request);
    }
    api::Health health;
    health.version = version();
    health.store = store_.kind();
    health.now = clock_.now();
    if (ready) health.events = co_await event_lag();
    co_return json_response(200, health);
}

Task<std::optional<api::EventLag>> Controller::event_lag() {
    if (std::chrono::steady_clock::now() - lag_looked_up_ >= kLagLifetime) {
        lag_looked_up_ = std::chrono::steady_clock::now();
        auto statistics = co_await store_.statistics(in(kReadyTimeout));
        lag_.reset();
        if (statistics) {
            const auto oldest = statistics->oldest_unpublished.value_or(clock_.now());
            const auto age = std::chrono::floor<std::chrono::seconds>(clock_.now() - oldest).count();
            lag_ = api::EventLag{static_cast<std::int64_t>(statistics->outbox), std::max<std::int64_t>(age, 0)};
        }
    }
    co_return lag_;
}

Task<http::Response> Controller::metrics(http::Request request) {
    auto statistics = co_await store_.statistics(in(kStoreTimeout));
    if (!statistics) co_return error_response(statistics.error(), request);
    http::Response response;
    response.headers.add("Content-Type", "text/plain; version=0.0.4; charset=utf-8");
    response.body = metrics_.exposition(*statistics, clock_.now(), feed_.followers());
    co_return response;
}

void Controller::add_tunnel_routes() {
    const auto refuse = [](http::Request request) -> Task<http::Response> {
        co_return error_response(Error(Code::unavailable, kTunnelsOff), request);
    };
    add("POST", "/v1/sandboxes/{id}/tunnels", refuse);
    add("DELETE", "/v1/sandboxes/{id}/tunnels/{tunnel_id}", refuse);
    add("GET", "/v1/local-tunnels/connect", refuse);
    add_worker("GET", "/v1/nodes/{id}/streams", 0, refuse);
    // Asked by an edge before it gets a certificate for a host name: there is no tunnel, so the answer is always no.
    router_.add({.method = "GET",
                 .pattern = "/v1/tunnels/authorize",
                 .body_limit = 0,
                 .handler = [](http::Request request) -> Task<http::Response> {
                     co_return error_response(404, "no active tunnel has this domain", request.request_id);
                 },
                 .guard = {}});
}

void Controller::start() {
    tasks_.spawn("sweep", sweep_forever());
    tasks_.spawn("publish events", publisher_.run());
}

void Controller::begin_stop() {
    stopping_ = true;
    store_.stop_waiting();
    feed_.stop();
}

Task<void> Controller::stop(Deadline deadline) {
    begin_stop();
    tasks_.cancel();
    if (!co_await tasks_.join(deadline)) {
        log::warn("background work did not end in time");
        co_return;
    }
    co_await publisher_.flush(std::min(deadline, in(kLastEvents)));
}

}  // namespace sandbox::sandboxd
