#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <sandbox/client/client.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>

#include "message.hpp"

namespace sandbox::mcp {

/// What a tool has to say: the same twice, since some clients show their model only the text and others only the
/// structure.
struct ToolResult {
    std::string text;
    nlohmann::json structure = nlohmann::json::object();
    bool is_error = false;
};

/// An error of ours: what went wrong and what to do about it, in the text and under "error".
[[nodiscard]] ToolResult refusal(std::string message);
/// Arguments that do not fit; nothing was done.
[[nodiscard]] ToolResult bad_arguments(const Error& problems);
/// What a call asked the server for by its id, so that "not found" can say where such ids are found.
enum class Sought { nothing, sandbox, operation };
/// A call to the server that failed. `doing` says what was tried: "create the sandbox". Never names the server's
/// address, which is the bridge's own affair.
[[nodiscard]] ToolResult failed(const client::Failure& failure, std::string_view doing, Sought sought);
/// Whether the server says that what was sought is not there, and not that there is no such path.
[[nodiscard]] bool is_missing(const client::Failure& failure);
/// The failure as one sentence. `short_resources` says what a refusal for lack of capacity is about.
[[nodiscard]] std::string explain(const client::Failure& failure, std::string_view doing, Sought sought,
                                  std::string_view short_resources = "");
/// Turns a result into an error: `message` goes before the text and under "error".
void make_error(ToolResult& result, const std::string& message);

/// Adds what to do next, to the text and under "note", for clients that show their model only one of the two.
void add_note(ToolResult& result, const std::string& note);

/// The API's object as a model may see it: with the values of its environment masked.
[[nodiscard]] nlohmann::json shown(const domain::Sandbox& sandbox);
/// The API's object with each stream cut to `max_output` bytes.
[[nodiscard]] nlohmann::json shown(const domain::Operation& operation, std::size_t max_output);

/// "Sandbox 0199… is running (container, risk 10), image …, tenant …, network deny, expires …".
[[nodiscard]] std::string describe(const domain::Sandbox& sandbox);
/// "exec 0199… of sandbox 0199… is running (phase)".
[[nodiscard]] std::string describe(const domain::Operation& operation);

/// What an operation came to, as a whole result under `name` ("operation"): a command's status and output; an error
/// when it failed or its command did. An operation that has not ended is none: the text says how to wait on.
[[nodiscard]] ToolResult account(const domain::Operation& operation, std::size_t max_output,
                                 const std::string& name = "operation");

/// The bytes of a stream as the command wrote them, as far as they were kept.
enum class Stream { out, err };
[[nodiscard]] std::string kept_bytes(const domain::Output& output, Stream stream);
[[nodiscard]] std::string_view to_text(Stream stream) noexcept;

/// Part of a stream, exactly as it was kept. It begins at `offset`, or with the character that reaches over it, and
/// ends between characters; at least one is in it unless the stream is at its end. Bytes that are in no character stand
/// each for itself, so the pages from 0 on, each from the end of the last, make the whole.
struct Page {
    std::string bytes;
    std::size_t offset = 0;
    std::size_t end = 0;  // where the next page begins
};
[[nodiscard]] Page page_of(std::string_view bytes, std::size_t offset, std::size_t limit);

/// Head and tail in at most `limit` bytes, with a line in between that says how to read the rest, and how to have the
/// exact bytes when they are no text.
[[nodiscard]] std::string cut(const std::string& bytes, std::size_t limit, const domain::Operation& operation,
                              Stream stream);

}  // namespace sandbox::mcp
