#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>

#include <sandbox/api/messages.hpp>
#include <sandbox/async/clock.hpp>
#include <sandbox/async/task_group.hpp>
#include <sandbox/events/event_bus.hpp>
#include <sandbox/http/router.hpp>
#include <sandbox/store/store.hpp>

#include "event_feed.hpp"
#include "metrics.hpp"
#include "publisher.hpp"
#include "settings.hpp"

namespace sandbox::sandboxd {

/// The control plane's HTTP API and its background work over one store. Holds no truth of its own: several may stand
/// on one store. Lives on the io thread; what it is given must outlive it.
class Controller {
public:
    Controller(asio::any_io_executor executor, ControllerSettings settings, store::Store& store, events::EventBus& bus,
               async::Clock& clock);

    /// What the HTTP server serves.
    [[nodiscard]] http::Service& service() noexcept { return router_; }

    /// Starts the sweeps and the outbox's publisher.
    void start();
    /// Lets long polls answer with what they have, from now on; the server's stop can then wait for them.
    void begin_stop();
    /// Ends the background work, and publishes what is still to be. Afterwards nothing of this object runs.
    Task<void> stop(Deadline deadline);

private:
    void add_meta_routes();
    void add_sandbox_routes();
    void add_operation_routes();
    void add_node_routes();
    void add_event_routes();
    void add_worker_routes();
    void add_tunnel_routes();
    void add(std::string method, std::string pattern, http::Handler handler);  // operators, small bodies
    void add_worker(std::string method, std::string pattern, std::size_t body_limit, http::Handler handler);
    void check_against_openapi() const;

    // meta
    Task<http::Response> health(http::Request request, bool ready);
    Task<http::Response> metrics(http::Request request);
    /// What waits for the bus, looked up every few seconds at most: anyone may ask. nullopt when the store can't say.
    Task<std::optional<api::EventLag>> event_lag();
    // sandboxes
    Task<http::Response> create(http::Request request);
    Task<http::Response> list_sandboxes(http::Request request);
    Task<http::Response> show_sandbox(http::Request request);
    Task<http::Response> exec(http::Request request);
    Task<http::Response> extend(http::Request request);
    Task<http::Response> destroy(http::Request request);
    // operations
    Task<http::Response> list_operations(http::Request request);
    Task<http::Response> show_operation(http::Request request);
    Task<http::Response> cancel(http::Request request);
    // nodes
    Task<http::Response> list_nodes(http::Request request);
    Task<http::Response> show_node(http::Request request);
    Task<http::Response> drain(http::Request request);
    // events
    Task<http::Response> events(http::Request request);
    // workers
    Task<http::Response> register_node(http::Request request);
    Task<http::Response> heartbeat(http::Request request);
    Task<http::Response> lease(http::Request request);
    Task<http::Response> release(http::Request request);
    Task<http::Response> complete(http::Request request);

    /// The operation when it has ended, or as it is after wait_seconds of the request's query.
    Task<Result<domain::Operation>> wait_as_asked(const http::Request& request, domain::Operation operation);

    // background (sweeps.cpp)
    Task<void> sweep_forever();

    ControllerSettings settings_;
    store::Store& store_;
    async::Clock& clock_;
    Metrics metrics_;
    http::Router router_;
    async::TaskGroup tasks_;
    EventFeed feed_;
    Publisher publisher_;
    std::optional<api::EventLag> lag_;
    std::chrono::steady_clock::time_point lag_looked_up_{};
    bool stopping_ = false;
};

}  // namespace sandbox::sandboxd
