#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/guest/frame.hpp>

namespace sandbox::guest {

/// The most that argv, cwd and env may need on the wire: twice what Linux takes with the usual 8 MiB stack.
inline constexpr std::size_t kMaxStart = std::size_t{4} * 1024 * 1024;

/// What to run. No string may hold NUL. Used for an exec and (without time limit, credits and input) for the start-up
/// command.
struct Start {
    std::vector<std::string> argv;    // at least one
    std::string cwd;                  // empty: /workspace, or / where there is none
    std::vector<std::string> env;     // "NAME=value", added to the sandbox's own environment
    std::uint64_t time_limit_ms = 0;  // 0: none
    std::uint32_t output_credit = 0;  // bytes that may be sent before more is granted
    std::uint32_t error_credit = 0;
    /// Of each stream the host keeps the first half of so many bytes and the last half: what lies between may be
    /// skipped. 0: everything.
    std::uint32_t keep = 0;
    bool input = false;  // whether input and end_of_input follow; otherwise it is at its end at once

    bool operator==(const Start&) const = default;
};

/// Appends the frames of a start (id != 0) or of the start-up command (id 0). False, and nothing appended, when it is
/// longer than kMaxStart: no kernel would take it, and the answer is "argument list too long", exit code 126.
[[nodiscard]] bool append_start(std::string& out, std::uint64_t id, const Start& start);

enum class StartError { too_long, malformed };

/// Puts a start together from its frames. Pieces of one start follow each other without others between; whatever
/// breaks that drops what was there. Holds at most kMaxStart bytes.
class StartAssembly {
public:
    void add(std::uint64_t id, std::string_view piece);
    [[nodiscard]] std::expected<Start, StartError> finish(std::uint64_t id, std::string_view last_piece);
    /// Of a former session.
    void clear();

private:
    std::uint64_t id_ = 0;
    std::string bytes_;
    bool too_long_ = false;
};

/// A start's bytes as its frames carry them together, however long.
[[nodiscard]] std::string encode_start(const Start& start);
[[nodiscard]] std::optional<Start> decode_start(std::string_view bytes);

}  // namespace sandbox::guest
