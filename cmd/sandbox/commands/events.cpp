#include <cstring>
#include <memory>

#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/async/first_of.hpp>
#include <sandbox/base/json_reader.hpp>

#include "../live_output.hpp"
#include "../operations.hpp"
#include "commands.hpp"

namespace sandbox::cli {
namespace {

struct EventsOptions {
    bool follow = false;
    std::uint64_t after = 0;
    std::optional<std::string> tenant;
};

constexpr std::int64_t kPage = 1000;
constexpr std::string_view kOlderServer = "this server has no event log; it is an older one";

/// Wide enough for all there are, so that what comes later stands in line with what came before.
std::string columns(std::string_view sequence, std::string_view time, std::string_view type, std::string_view id,
                    std::string_view tenant, std::string_view details, bool colors, Color color) {
    const auto padded = colored(fmt::format("{:<27}", type), color, colors);
    return fmt::format("{:<13}  {:<20}  {}  {:<36}  {:<12}  {}\n", sequence, time, padded, id, tenant, details);
}

std::string header(bool colors) {
    return colored(
               "SEQUENCE       TIME                  EVENT                        SANDBOX OR NODE                      "
               " "
               "TENANT        DETAILS",
               Color::dim, colors) +
           "\n";
}

Color color_of(std::string_view type) {
    const bool bad = type.ends_with("_failed") || type.ends_with(".lost") || type.ends_with(".stale");
    return bad ? Color::red : Color::none;
}

std::string line_of(const api::LoggedEvent& logged, bool colors) {
    const auto& event = logged.event;
    std::string details;
    for (const auto& [name, value] : event.attributes)
        details += fmt::format("{}{}={}", details.empty() ? "" : " ", name, shell_words({value}));
    return columns(std::to_string(logged.sequence), format_time(event.timestamp).substr(0, 19) + "Z",
                   printable_line(event.event_type), is_of_node(event) ? event.node_id.text() : event.sandbox_id.text(),
                   event.tenant.empty() ? "-" : printable_line(event.tenant), printable_line(details), colors,
                   color_of(event.event_type));
}

/// Events as they come: aligned lines under a header, or a JSON object on each line.
class EventLines {
public:
    explicit EventLines(Session& session) : output_(session.output()), live_(session.executor()) {}

    /// false when they must be drained first.
    [[nodiscard]] bool show(const api::LoggedEvent& logged) {
        std::string text;
        if (output_.json())
            text = dump_json(logged) + "\n";
        else if (!std::exchange(begun_, true) && !output_.quiet())
            text = header(output_.colors());
        if (!output_.json()) text += line_of(logged, output_.colors());
        return live_.offer(text);
    }
    /// false when nobody reads any more.
    [[nodiscard]] Task<bool> drain() { return live_.drain(); }
    [[nodiscard]] bool begun() const noexcept { return begun_; }
    [[nodiscard]] Task<void> unread() { return live_.unread(); }
    /// How a command ends whose standard output takes no more.
    [[nodiscard]] int status() {
        if (live_.problem() != EPIPE)
            output_.err(fmt::format("sandbox: standard output: {}\n", std::strerror(live_.problem())));
        return kFailed;
    }

private:
    Output& output_;
    LiveOutput live_;
    bool begun_ = false;
};

client::EventQuery query_of(const EventsOptions& options) {
    return {.after = options.after, .tenant = options.tenant, .limit = std::nullopt};
}

/// Hands every page of the log to `show`, which may stop it.
template <class Show>
Task<client::Answer<void>> each_page(client::Client& client, client::EventQuery query, Show show) {
    query.limit = kPage;
    while (true) {
        auto page = co_await client.events(query, in(kRequestTime));
        if (!page && page.error().status == 404) co_return failure("not_found", std::string(kOlderServer));
        if (!page) co_return pass_on(page);
        const bool last = page->events.size() < static_cast<std::size_t>(kPage);
        query.after = page->next;
        if (!co_await show(std::move(page->events)) || last) co_return client::Answer<void>{};
    }
}

Task<Outcome> list(Session& session, client::Client& client, client::EventQuery query) {
    auto& output = session.output();
    auto document = nlohmann::json::array();
    EventLines lines(session);
    bool read = true;
    auto show = [&](std::vector<api::LoggedEvent> events) -> Task<bool> {
        for (const auto& event : events) {
            if (output.json())
                document.push_back(event);
            else if (!lines.show(event))
                read = co_await lines.drain();
            if (!read) co_return false;
        }
        co_return true;
    };
    auto shown = co_await each_page(client, std::move(query), show);
    if (!shown) co_return pass_on(shown);
    if (!read) co_return lines.status();
    if (output.json())
        output.document(document);
    else if (!lines.begun())
        output.note("there are no such events");
    co_return kDone;
}

Task<Outcome> follow(Session& session, client::Client& client, client::EventQuery query) {
    const auto& output = session.output();
    EventLines lines(session);
    client::Following following;
    // What can't be written yet ends the stream: it goes on after this event once everything is.
    following.on_event = [&](const api::LoggedEvent& logged) {
        query.after = logged.sequence;
        return lines.show(logged);
    };
    following.on_away = [&](const client::Failure& failure) {
        output.note(fmt::format("{}; it is asked again until it is back", failure.error.message()));
    };
    following.on_back = [&] { output.note("the server is back"); };
    while (true) {
        auto first = co_await async::first_of(client.follow(query, following), lines.unread());
        if (first.index() == 1) co_return lines.status();
        auto& ended = std::get<0>(first);
        if (!ended && ended.error().status == 404) co_return failure("not_found", std::string(kOlderServer));
        if (!ended) co_return pass_on(ended);
        if (!co_await lines.drain()) co_return lines.status();
    }
}

Task<Outcome> events(Session& session, EventsOptions options) {
    auto client = session.client();
    if (!client) co_return pass_on(client);
    if (!options.follow) co_return co_await list(session, **client, query_of(options));
    // It has no end of its own: being interrupted is how it is meant to end.
    try {
        co_return co_await follow(session, **client, query_of(options));
    } catch (const boost::system::system_error& error) {
        if (error.code() != asio::error::operation_aborted || !session.interrupted()) throw;
    }
    co_return kDone;
}

}  // namespace

void add_events(CommandLine& line) {
    auto options = std::make_shared<EventsOptions>();
    auto& command = line.add(line.root(), "events", "Show the event log, oldest first; with --follow what comes, too",
                             {"sandbox events", "sandbox events --tenant ci --follow",
                              "sandbox events --follow --after 1785912345679 --json"});
    command.add_flag("--follow", options->follow, "Go on with what happens from now on, until interrupted");
    command.add_option("--after", options->after, "Only events with a higher number (SEQUENCE)")
        ->type_name("N")
        ->check(CLI::Range(std::uint64_t{0}, static_cast<std::uint64_t>(INT64_MAX)).description(""));
    command.add_option("--tenant", options->tenant, "Only this tenant's, which leaves out those of nodes")
        ->type_name("TENANT");
    line.on_chosen(command,
                   [options]() -> Action { return [options](Session& session) { return events(session, *options); }; });
}

}  // namespace sandbox::cli
