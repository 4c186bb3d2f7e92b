#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "../arguments.hpp"
#include "../schema.hpp"
#include "../steps.hpp"
#include "../tools.hpp"

namespace sandbox::mcp {
namespace {

constexpr std::int64_t kWait = 300;
constexpr std::int64_t kMostPage = 1024 * 1024;
constexpr std::int64_t kMostOffset = std::int64_t{1} << 40;
constexpr domain::Names<Stream, 2> kStreams{{{"stdout", Stream::out}, {"stderr", Stream::err}}};

struct Look {
    domain::OperationId id;
    std::optional<Stream> stream;
    std::int64_t offset = 0;
    std::int64_t limit = 0;
};

Result<Look> read_look(const nlohmann::json& arguments, const Options& options) {
    Arguments given(arguments);
    Look asked;
    asked.id = given.id<domain::OperationId>("operation_id");
    if (given.has("stream")) asked.stream = given.enumeration<Stream>("stream", kStreams, Stream::out);
    asked.offset = given.integer_or("offset", 0, kMostOffset, 0);
    asked.limit = given.integer_or("limit", 1, kMostPage, static_cast<std::int64_t>(options.max_output));
    if (!asked.stream && (given.has("offset") || given.has("limit")))
        given.problem("stream", "is required with offset or limit: stdout or stderr");
    if (auto ended = given.end(); !ended) return fail(ended.error());
    return asked;
}

/// Part of a stream instead of both: the other one is left empty, so that nothing is shown twice.
ToolResult page(const domain::Operation& operation, const Look& asked) {
    const auto stream = *asked.stream;
    if (!operation.output)
        return refusal(
            fmt::format("There is no output: {}.{}", describe(operation),
                        domain::has_ended(operation.state)
                            ? ""
                            : " A command's output is there when it has ended; sandbox_wait waits for that."));
    const auto bytes = kept_bytes(*operation.output, stream);
    const auto part = page_of(bytes, static_cast<std::size_t>(asked.offset), static_cast<std::size_t>(asked.limit));
    const bool more = part.end < bytes.size();

    ToolResult result;
    nlohmann::json json = operation;
    auto& output = json["output"];
    const bool is_text = is_utf8(part.bytes);
    const auto encoded = is_text ? std::string() : base64_encode(part.bytes);
    for (const auto* name : {"stdout", "stderr"}) output[name] = "";
    for (const auto* name : {"stdout_base64", "stderr_base64"}) output[name] = nullptr;
    const std::string name(to_text(stream));
    output[name] = to_utf8(part.bytes);
    if (!is_text) output[name + "_base64"] = encoded;
    result.structure["operation"] = std::move(json);
    result.structure["page"] = {{"stream", to_text(stream)},
                                {"offset", part.offset},
                                {"bytes", part.end - part.offset},
                                {"kept_bytes", bytes.size()},
                                {"next_offset", more ? nlohmann::json(part.end) : nlohmann::json()}};
    result.text = fmt::format(
        "{} of operation {}, bytes {} to {} of {}{}{}\n\n{}", name, operation.id.text(), part.offset, part.end,
        bytes.size(), more ? fmt::format("; read on with offset {}", part.end) : std::string("; this is its end"),
        is_text ? "" : "; these are no text: they are shown as base64", is_text ? part.bytes : encoded);
    return result;
}

Task<ToolResult> look(Bridge& bridge, Call& /*call*/, nlohmann::json arguments) {
    auto asked = read_look(arguments, bridge.options());
    if (!asked) co_return bad_arguments(asked.error());
    auto operation = co_await bridge.client().operation(asked->id, 0, in(kRequestTime));
    if (!operation) co_return failed(operation.error(), "look at the operation", Sought::operation);
    if (asked->stream) co_return page(*operation, *asked);
    co_return account(*operation, bridge.options().max_output);
}

Task<ToolResult> wait(Bridge& bridge, Call& call, nlohmann::json arguments) {
    Arguments given(arguments);
    const auto id = given.id<domain::OperationId>("operation_id");
    const std::chrono::seconds limit(given.integer_or("timeout_seconds", 0, domain::kMostTimeoutSeconds, kWait));
    if (auto ended = given.end(); !ended) co_return bad_arguments(ended.error());
    auto operation = co_await bridge.client().operation(id, 0, in(kRequestTime));
    if (operation) {
        const auto what = fmt::format("waiting for the {}", domain::to_text(operation->kind));
        operation = co_await wait_for(bridge, call, std::move(*operation), limit, what);
    }
    if (!operation) co_return failed(operation.error(), "wait for the operation", Sought::operation);
    co_return account(*operation, bridge.options().max_output);
}

Json look_input(const Options& options) {
    using namespace schema;
    return object(
        {{"operation_id", id("The operation's id")},
         {"stream",
          one_of("Show part of this stream of a command that has ended, in place of everything", {"stdout", "stderr"})},
         {"offset",
          number("Where that part begins, in bytes; within a character it begins with that", 0, kMostOffset, 0)},
         {"limit",
          number("How much of it to show, in bytes", 1, kMostPage, static_cast<std::int64_t>(options.max_output))}},
        1);
}

Json look_output() {
    using namespace schema;
    auto page = object("Which part of the stream this is; only there with `stream`",
                       {{"stream", one_of("", {"stdout", "stderr"})},
                        {"offset", number("Where it begins", 0, kMostOffset)},
                        {"bytes", number("As many of the stream's bytes as are in it", 0, kMostOffset)},
                        {"kept_bytes", number("As many as can be read", 0, kMostOffset)},
                        {"next_offset", or_null("Where the next part begins; null at the end")}},
                       5);
    return output({{"operation", operation()}, {"page", std::move(page)}});
}

Json wait_input(const Options& /*options*/) {
    using namespace schema;
    return object({{"operation_id", id("The operation's id")},
                   {"timeout_seconds", number("How long to wait; it goes on afterwards, and can be waited for again", 0,
                                              domain::kMostTimeoutSeconds, kWait)}},
                  1);
}

}  // namespace

Tool operation_tool() {
    return {
        .name = "sandbox_operation",
        .title = "Look at an operation",
        .description =
            "Shows how far an operation is and what it left, without waiting. With `stream` it pages through output "
            "that was too long to be shown; what is no text comes as base64, byte for byte.",
        .hints = {.read_only = true, .idempotent = true},
        .input = look_input,
        .output = look_output,
        .run = look};
}

Tool wait_tool() {
    return {
        .name = "sandbox_wait",
        .title = "Wait for an operation",
        .description =
            "Waits until an operation that was started with wait false, or did not end in time, has ended, and shows "
            "what it left. When its own time runs out it says so, and the operation goes on.",
        .hints = {.read_only = true, .idempotent = true},
        .input = wait_input,
        .output = [] { return schema::output({{"operation", schema::operation()}}); },
        .run = wait};
}

}  // namespace sandbox::mcp
