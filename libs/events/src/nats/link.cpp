#include "link.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>
#include <sandbox/base/text.hpp>

#include "servers.hpp"

namespace sandbox::events {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

/// For one server to answer, of those that there are.
constexpr auto kConnectTime = 2000ms;
constexpr auto kStreamLookUpTime = 2000ms;
/// A cluster that is choosing its leader does not answer for some seconds.
constexpr int kUnanswered = 3;
constexpr auto kAskAgain = 60s;
constexpr auto kWriteTime = 5000ms;
/// What the headers of a message take at most.
constexpr std::int64_t kHeaderBytes = 256;
constexpr std::size_t kShortValue = 256;
constexpr const char* kStreamNames = "$JS.API.STREAM.NAMES";
/// JetStream's own numbers for "not enabled" and "not enabled for this account".
constexpr std::array<std::int64_t, 2> kNoJetStream{10076, 10039};

std::int64_t milliseconds_left(Deadline deadline) {
    return std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
}

std::int64_t at_most(std::chrono::milliseconds limit, Deadline deadline) {
    return std::clamp<std::int64_t>(milliseconds_left(deadline), 1, limit.count());
}

/// Called on the library's threads, and instead of its own printing on standard error: every failure shows in the call
/// that it fails.
void ignore_error(natsConnection*, natsSubscription*, natsStatus, void*) noexcept {}

/// The event as it travels, in `limit` bytes: an error text, say, that is too long for the bus is cut.
std::string payload_of(const domain::Event& event, std::int64_t limit) {
    auto text = dump_json(event);
    if (std::cmp_less_equal(text.size(), limit)) return text;
    auto shorter = event;
    for (auto& [name, value] : shorter.attributes) value = shortened(value, kShortValue);
    return dump_json(shorter);
}

}  // namespace

NatsLink::NatsLink(NatsSettings settings)
    : settings_(std::move(settings)),
      node_subject_(settings_.subject + ".nodes"),
      hosts_(server_hosts(server_urls(settings_.servers.reveal()))) {}

std::unexpected<Error> NatsLink::failed(natsStatus status, std::string_view what) const {
    // The library's longer texts may quote what they were given; these never do.
    return failed(fmt::format("{}{}{}", what, what.empty() ? "" : ": ", natsStatus_GetText(status)));
}

std::unexpected<Error> NatsLink::failed(std::string_view what) const {
    return fail(Code::unavailable, fmt::format("NATS at {}: {}", hosts_, what));
}

std::string NatsLink::refusal() const {
    const char* text = nullptr;
    const auto status = natsConnection_GetLastError(connection_.get(), &text);
    if (status != NATS_NOT_PERMITTED) return "";
    return text ? text : "not permitted";
}

Result<void> NatsLink::permitted() const {
    const auto refused = refusal();
    for (const auto& subject : {settings_.subject, node_subject_})
        if (refused.find(fmt::format("\"{}\"", subject)) != std::string::npos)
            return failed(fmt::format("these credentials may not publish to {}", subject));
    return {};
}

Result<void> NatsLink::connect(Deadline deadline) {
    natsOptions* made = nullptr;
    if (const auto status = natsOptions_Create(&made); status != NATS_OK) return failed(status);
    const NatsOptions options(made);
    const auto urls = server_urls(settings_.servers.reveal());
    std::vector<const char*> pointers;
    for (const auto& url : urls) pointers.push_back(url.c_str());
    const bool secure = std::ranges::any_of(urls, [](const auto& url) { return url.starts_with("tls://"); });

    auto status = natsOptions_SetServers(made, pointers.data(), static_cast<int>(pointers.size()));
    const auto then = [&status](natsStatus next) {
        if (status == NATS_OK) status = next;
    };
    then(natsOptions_SetName(made, "sandboxd"));
    then(natsOptions_SetTimeout(made, at_most(kConnectTime, deadline)));
    then(natsOptions_SetWriteDeadline(made, kWriteTime.count()));
    then(natsOptions_SetAllowReconnect(made, false));
    then(natsOptions_SetSendAsap(made, true));
    then(natsOptions_SetErrorHandler(made, ignore_error, nullptr));
    if (secure) then(natsOptions_SetSecure(made, true));
    // Read at each connection: the file may be replaced meanwhile.
    if (settings_.credentials_file)
        then(natsOptions_SetUserCredentialsFromFiles(made, settings_.credentials_file->c_str(), nullptr));
    if (status != NATS_OK) return failed(status, "settings");

    natsConnection* connection = nullptr;
    status = natsConnection_Connect(&connection, made);
    connection_.reset(connection);
    if (status != NATS_OK) return failed(status);
    jsCtx* context = nullptr;
    status = natsConnection_JetStream(&context, connection, nullptr);
    jetstream_.reset(context);
    if (status != NATS_OK) return failed(status);
    may_ask_for_streams_ = true;
    return {};
}

Result<bool> NatsLink::is_captured(const std::string& subject, Deadline deadline) {
    if (!may_ask_for_streams_ || std::chrono::steady_clock::now() < no_jetstream_until_) return false;
    const auto question = dump_json(json{{"subject", subject}});
    natsMsg* answered = nullptr;
    const auto status = natsConnection_RequestString(&answered, connection_.get(), kStreamNames, question.c_str(),
                                                     at_most(kStreamLookUpTime, deadline));
    const NatsMessage answer(answered);
    if (status == NATS_NO_RESPONDERS) return false;  // servers without JetStream
    if (status != NATS_OK && !refusal().empty()) {
        may_ask_for_streams_ = false;  // these credentials may not: until the next connection, as if there were none
        return false;
    }
    if (status == NATS_TIMEOUT) return is_captured_though_nobody_answers(deadline);
    if (status != NATS_OK) return failed(status, "JetStream");
    unanswered_ = 0;
    auto parsed = parse_json({natsMsg_GetData(answered), static_cast<std::size_t>(natsMsg_GetDataLength(answered))});
    if (!parsed || !parsed->is_object()) return failed("JetStream's answer could not be understood");
    if (const auto error = parsed->find("error"); error != parsed->end() && error->is_object()) {
        const auto code = error->value("err_code", std::int64_t{0});
        if (std::ranges::find(kNoJetStream, code) != kNoJetStream.end()) return false;
        return failed(fmt::format("JetStream: error {}", code));
    }
    has_jetstream_ = true;
    const auto streams = parsed->find("streams");
    return streams != parsed->end() && streams->is_array() && !streams->empty();
}

Result<bool> NatsLink::is_captured_though_nobody_answers(Deadline deadline) {
    if (auto alive = flush(deadline); !alive) return fail(std::move(alive.error()));
    if (has_jetstream_ || ++unanswered_ < kUnanswered) return failed("JetStream does not answer");
    no_jetstream_until_ = std::chrono::steady_clock::now() + kAskAgain;
    unanswered_ = 0;
    return false;
}

Result<NatsMessage> NatsLink::message_of(const domain::Event& event, const std::string& subject) const {
    const auto payload = payload_of(event, natsConnection_GetMaxPayload(connection_.get()) - kHeaderBytes);
    natsMsg* made = nullptr;
    auto status = natsMsg_Create(&made, subject.c_str(), nullptr, payload.data(), static_cast<int>(payload.size()));
    NatsMessage message(made);
    if (status == NATS_OK) status = natsMsgHeader_Set(made, "Nats-Msg-Id", event.event_id.text().c_str());
    if (status != NATS_OK) return failed(status, "an event");
    return message;
}

Result<void> NatsLink::store(natsMsg* message, const std::string& event_id, Deadline deadline) {
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = std::max<std::int64_t>(milliseconds_left(deadline), 1);
    options.MsgId = event_id.c_str();
    jsErrCode code{};
    const auto status = js_PublishMsg(nullptr, jetstream_.get(), message, &options, &code);
    if (status == NATS_OK) return {};
    if (auto may = permitted(); !may) return may;
    if (static_cast<int>(code) != 0) return failed(fmt::format("JetStream: error {}", static_cast<int>(code)));
    return failed(status, "JetStream");
}

Result<void> NatsLink::flush(Deadline deadline) {
    const auto status =
        natsConnection_FlushTimeout(connection_.get(), std::max<std::int64_t>(milliseconds_left(deadline), 1));
    if (status != NATS_OK) return failed(status);
    // A server drops what it does not permit, and goes on; it has said so before it answered the flush.
    return permitted();
}

Result<void> NatsLink::publish_over_connection(std::span<const domain::Event> events, Deadline deadline) {
    if (!connection_ || natsConnection_IsClosed(connection_.get())) {
        jetstream_.reset();
        connection_.reset();
        if (auto connected = connect(deadline); !connected) return connected;
    }
    std::map<std::string, bool> captured;
    for (const auto& event : events) {
        const auto& subject = is_of_node(event) ? node_subject_ : settings_.subject;
        if (!captured.contains(subject)) {
            auto found = is_captured(subject, deadline);
            if (!found) return fail(std::move(found.error()));
            captured[subject] = *found;
        }
        auto message = message_of(event, subject);
        if (!message) return fail(std::move(message.error()));
        if (captured[subject]) {
            // One after another: a refused one must not be overtaken by those behind it.
            if (auto stored = store(message->get(), event.event_id.text(), deadline); !stored) return stored;
        } else if (const auto status = natsConnection_PublishMsg(connection_.get(), message->get());
                   status != NATS_OK) {
            return failed(status);
        }
    }
    return flush(deadline);
}

Result<void> NatsLink::publish(std::span<const domain::Event> events, Deadline deadline) {
    auto published = publish_over_connection(events, deadline);
    if (!published) {
        // Whatever was wrong with it: the next attempt begins afresh, with another server maybe.
        jetstream_.reset();
        connection_.reset();
    }
    return published;
}

}  // namespace sandbox::events
