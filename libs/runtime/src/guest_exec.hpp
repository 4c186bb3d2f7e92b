#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/frame.hpp>
#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>
#include <sandbox/runtime/output_capture.hpp>
#include <sandbox/runtime/runtime.hpp>

namespace sandbox::runtime {

/// Of a command that was killed.
inline constexpr int kKilledExitCode = 128 + SIGKILL;
/// What a guest may send of one stream before we have taken it.
inline constexpr std::uint32_t kOutputWindow = 256 * 1024;

/// One command under way in a guest: what is still to be sent to it, what has come of it, and its end. Belongs to the
/// exec() call that waits for it; the link fills it.
struct GuestExec {
    struct Output {
        explicit Output(std::size_t limit) : capture(limit) {}
        OutputCapture capture;
        guest::ReceiveCredit credit{kOutputWindow};
    };
    /// What is known of the end: nothing yet, what the guest said, or why it can't be known.
    using End = std::variant<std::monostate, guest::Exited, guest::Failed, Error>;

    GuestExec(std::uint64_t exec_id, domain::OperationId of_operation, std::size_t max_output_bytes)
        : id(exec_id), operation(of_operation), keep(max_output_bytes), out(keep), err(keep) {}

    std::uint64_t id;
    domain::OperationId operation;
    std::size_t keep;   // bytes of each stream
    std::string start;  // its start's frames, until it has started

    std::string_view input;  // all of it; the command's own bytes
    std::size_t input_sent = 0;
    bool input_open = false;  // some of it, or its end, is still to be sent
    guest::SendCredit input_credit{guest::kInputWindow};

    Output out;
    Output err;
    bool started = false;
    bool known = false;  // the present session's guest has told of it
    bool cancelled = false;
    bool cut_off = false;    // its sandbox went: how much more it wrote is not known
    bool input_cut = false;  // killed since its input was lost with a broken connection

    End end;
    Deadline give_up;  // when its end is no longer waited for
    async::Signal changed;

    [[nodiscard]] bool has_ended() const { return !std::holds_alternative<std::monostate>(end); }
    void finish(End how) {
        if (!has_ended()) end = std::move(how);
        changed.notify_all();
    }
};

/// What a guest says is hostile text: one bounded line of UTF-8 of it.
[[nodiscard]] std::string sentence(std::string_view text);

/// What the guest is asked to run. `command` passes byte for byte.
[[nodiscard]] guest::Start start_of(const domain::Command& command, std::size_t max_output_bytes);

/// The result of an exec that has ended; takes its captured output. Errors: the exec's own, when its end is not known
/// or the guest could not run anything.
[[nodiscard]] Result<ExecResult> exec_result(GuestExec& exec, const domain::Command& command,
                                             std::chrono::milliseconds duration);
/// That of a command which was cancelled before it ran.
[[nodiscard]] ExecResult cancelled_result();
/// That of a command whose arguments no kernel takes.
[[nodiscard]] ExecResult too_long_result(const domain::Command& command);

[[nodiscard]] std::optional<domain::Startup> startup_of(const guest::CommandStatus& status);

}  // namespace sandbox::runtime
