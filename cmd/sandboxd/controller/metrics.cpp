#include "metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <sandbox/base/version.hpp>

namespace sandbox::sandboxd {

namespace {
prometheus::Family<prometheus::Counter>& counter(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
prometheus::Family<prometheus::Gauge>& gauge(prometheus::Registry& registry, const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
const prometheus::Histogram::BucketBoundaries kSeconds{0.001, 0.005, 0.025, 0.1, 0.5, 2, 10, 60};
}  // namespace

struct Metrics::Families {
    prometheus::Registry registry;
    prometheus::Family<prometheus::Counter>& requests =
        counter(registry, "sandbox_http_requests_total", "Requests answered, by method, route and status");
    prometheus::Family<prometheus::Histogram>& durations =
        prometheus::BuildHistogram()
            .Name("sandbox_http_request_seconds")
            .Help("Time from a request's head to its answer, long polls included, by route")
            .Register(registry);
    prometheus::Counter& published =
        counter(registry, "sandbox_events_published_total", "Events accepted by the bus").Add({});
    prometheus::Counter& publish_failures =
        counter(registry, "sandbox_event_publish_failures_total", "Batches of events that the bus did not accept")
            .Add({});
    prometheus::Counter& expired =
        counter(registry, "sandbox_expired_total", "Sandboxes ended because their time was up").Add({});
    prometheus::Counter& lost = counter(registry, "sandbox_lost_total", "Sandboxes failed with their node").Add({});
    prometheus::Counter& requeued =
        counter(registry, "sandbox_leases_requeued_total", "Creates and deletes queued again after their lease ran out")
            .Add({});
    prometheus::Family<prometheus::Gauge>& sandboxes =
        gauge(registry, "sandbox_sandboxes", "Sandboxes on record, by state");
    prometheus::Family<prometheus::Gauge>& operations =
        gauge(registry, "sandbox_operations", "Operations on record, by state");
    prometheus::Gauge& nodes = gauge(registry, "sandbox_nodes", "Nodes registered").Add({});
    prometheus::Gauge& stale_nodes =
        gauge(registry, "sandbox_nodes_stale", "Nodes whose heartbeat is overdue: they get no new work").Add({});
    prometheus::Gauge& pending =
        gauge(registry, "sandbox_assignments_pending", "Assignments that no worker has taken yet").Add({});
    prometheus::Gauge& outbox = gauge(registry, "sandbox_outbox_events", "Events not yet accepted by the bus").Add({});
    prometheus::Gauge& outbox_age =
        gauge(registry, "sandbox_outbox_oldest_seconds", "Age of the oldest event not yet accepted by the bus").Add({});
    prometheus::Gauge& followers =
        gauge(registry, "sandbox_event_followers", "Streams of events (GET /v1/events?follow=true) that are open")
            .Add({});
};

Metrics::Metrics() : families_(std::make_unique<Families>()) {
    gauge(families_->registry, "sandbox_build_info", "Always 1; the labels tell version and commit")
        .Add({{"version", std::string(version())}, {"commit", std::string(commit())}})
        .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::request_served(std::string_view method, std::string_view route, unsigned status,
                             std::chrono::microseconds took) {
    const std::string pattern(route.empty() ? "none" : route);
    families_->requests
        .Add({{"method", std::string(route.empty() ? "any" : method)},
              {"route", pattern},
              {"status", std::to_string(status)}})
        .Increment();
    families_->durations.Add({{"route", pattern}}, kSeconds).Observe(std::chrono::duration<double>(took).count());
}

void Metrics::events_published(std::size_t count) {
    families_->published.Increment(static_cast<double>(count));
}
void Metrics::publish_failed() {
    families_->publish_failures.Increment();
}

void Metrics::swept(const store::Swept& swept) {
    families_->expired.Increment(static_cast<double>(swept.expired));
    families_->lost.Increment(static_cast<double>(swept.lost_sandboxes));
    families_->requeued.Increment(static_cast<double>(swept.releases));
}

std::string Metrics::exposition(const store::Statistics& statistics, Timestamp now, std::size_t followers) {
    for (const auto& [name, state] : domain::kSandboxStateNames) {
        const auto found = statistics.sandboxes.find(state);
        const auto count = found == statistics.sandboxes.end() ? 0 : found->second;
        families_->sandboxes.Add({{"state", std::string(name)}}).Set(static_cast<double>(count));
    }
    for (const auto& [name, state] : domain::kOperationStateNames) {
        const auto found = statistics.operations.find(state);
        const auto count = found == statistics.operations.end() ? 0 : found->second;
        families_->operations.Add({{"state", std::string(name)}}).Set(static_cast<double>(count));
    }
    families_->nodes.Set(static_cast<double>(statistics.nodes));
    families_->stale_nodes.Set(static_cast<double>(statistics.stale_nodes));
    families_->pending.Set(static_cast<double>(statistics.pending_assignments));
    families_->followers.Set(static_cast<double>(followers));
    families_->outbox.Set(static_cast<double>(statistics.outbox));
    families_->outbox_age.Set(statistics.oldest_unpublished
                                  ? std::chrono::duration<double>(now - *statistics.oldest_unpublished).count()
                                  : 0);
    return prometheus::TextSerializer{}.Serialize(families_->registry.Collect());
}

}  // namespace sandbox::sandboxd
