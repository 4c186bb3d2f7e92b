// The event log: pages of it, and streams.
#include <charconv>

#include <nlohmann/json.hpp>

#include <sandbox/api/messages.hpp>

#include "controller.hpp"
#include "limits.hpp"
#include "respond.hpp"

namespace sandbox::sandboxd {

static constexpr std::int64_t kDefaultPage = 100;
static constexpr std::int64_t kLargestPage = 1000;

namespace {

struct EventQuery {
    store::EventFilter filter;
    bool follow = false;
};

/// Where to go on: a stream that was cut off names the last number it saw in a header, which then is the truth.
Result<std::uint64_t> read_after(const http::Request& request) {
    auto after = query_integer(request, "after", 0, INT64_MAX);
    if (!after) return fail(std::move(after.error()));
    const auto* last = request.headers.find("Last-Event-ID");
    if (!last) return static_cast<std::uint64_t>(after->value_or(0));
    std::int64_t number = -1;
    const auto [end, problem] = std::from_chars(last->data(), last->data() + last->size(), number);
    if (problem != std::errc{} || end != last->data() + last->size() || number < 0)
        return fail(Code::invalid_argument, "Last-Event-ID must be the id of an event of this stream");
    return static_cast<std::uint64_t>(number);
}

Result<EventQuery> read_query(const http::Request& request) {
    EventQuery query;
    auto after = read_after(request);
    if (!after) return fail(std::move(after.error()));
    query.filter.after = *after;
    if (const auto* tenant = request.query_value("tenant")) query.filter.tenant = *tenant;
    if (const auto* follow = request.query_value("follow")) {
        if (*follow != "true" && *follow != "false")
            return fail(Code::invalid_argument, "query parameter follow must be true or false");
        query.follow = *follow == "true";
    }
    auto limit = query_integer(request, "limit", 1, kLargestPage);
    if (!limit) return fail(std::move(limit.error()));
    if (query.follow && *limit)
        return fail(Code::invalid_argument, "query parameter limit is for pages: a stream (follow=true) has none");
    query.filter.limit = query.follow ? EventFeed::kPage : static_cast<std::size_t>(limit->value_or(kDefaultPage));
    return query;
}

}  // namespace

void Controller::add_event_routes() {
    add("GET", "/v1/events", [this](http::Request request) { return events(std::move(request)); });
}

Task<http::Response> Controller::events(http::Request request) {
    auto query = read_query(request);
    if (!query) co_return error_response(query.error(), request);
    // Read before a stream begins too, so that a store that is away is a 503 and no silent stream.
    auto page = co_await store_.events(query->filter, in({}));
    if (!page) co_return error_response(page.error(), request);
    if (!query->follow) {
        api::EventList answer;
        for (auto& logged : page->events) answer.events.push_back({logged.sequence, std::move(logged.event)});
        answer.next = page->next;
        co_return json_response(200, answer);
    }
    http::Response response;
    response.headers.add("Content-Type", "text/event-stream");
    response.headers.add("Cache-Control", "no-store");
    response.headers.add("X-Accel-Buffering", "no");  // nginx would gather it first
    response.stream = [this, tenant = std::move(query->filter.tenant),
                       first = std::move(*page)](http::BodyWriter& to) mutable {
        return feed_.follow(to, std::move(tenant), std::move(first));
    };
    co_return response;
}

}  // namespace sandbox::sandboxd
