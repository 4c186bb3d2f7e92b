#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sandbox/async/signal.hpp>
#include <sandbox/async/task.hpp>
#include <sandbox/base/error.hpp>
#include <sandbox/base/random.hpp>
#include <sandbox/domain/ids.hpp>
#include <sandbox/domain/operation.hpp>
#include <sandbox/domain/sandbox.hpp>
#include <sandbox/domain/spec.hpp>
#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/reader.hpp>
#include <sandbox/http/stream.hpp>
#include <sandbox/runtime/runtime.hpp>

#include "guest_connection.hpp"
#include "guest_exec.hpp"

namespace sandbox::runtime {

/// The worker's end of one sandbox's guest: attaches, attaches again when the stream breaks, and runs commands, the
/// start-up command and connections over it. Whatever the guest sends is hostile: a breach of the protocol ends the
/// link for good. Made as a shared pointer; lives until run() has returned; io thread.
class GuestLink : public std::enable_shared_from_this<GuestLink> {
public:
    struct Settings {
        /// Opens the byte stream to the guest. Code::not_found: the sandbox is gone for good, and the message says
        /// how it ended. Any other error: tried again later.
        std::function<Task<Result<std::unique_ptr<http::Stream>>>(Deadline)> attach;
        /// The start-up command has ended, or the link has ended by itself. May be empty.
        std::function<void()> on_change;
    };

    /// `random` must outlive it.
    GuestLink(Settings settings, Random& random);
    GuestLink(const GuestLink&) = delete;
    GuestLink& operator=(const GuestLink&) = delete;

    /// Keeps the link; returns when it has ended. To be spawned once, by who made it.
    Task<void> run();
    /// Ends it: commands under way end as cancelled, connections with `why`.
    void close(const Error& why);

    /// Waits until the guest has answered for the first time, or the link has ended (that error).
    Task<Result<void>> wait_open(Deadline deadline);
    /// What the guest said of itself; nullopt before it has answered.
    [[nodiscard]] const std::optional<guest::GuestHello>& hello() const noexcept { return hello_; }
    /// Why the link has ended; nullopt while it lives.
    [[nodiscard]] const std::optional<Error>& ended() const noexcept { return ended_; }
    /// Whether it has ended since the guest broke the protocol.
    [[nodiscard]] bool is_hostile() const noexcept { return hostile_; }

    /// Runs a command; waits its turn when as many run as the guest takes. When the task is cancelled, so is the
    /// command.
    Task<Result<ExecResult>> exec(domain::OperationId operation, const domain::Command& command,
                                  std::size_t max_output_bytes);
    /// Kills that command's process tree; nothing when there is none.
    void cancel(domain::OperationId operation);

    /// Starts the start-up command; again, when it has been started, is no error.
    Task<Result<void>> start_command(const std::vector<std::string>& argv, Deadline deadline);
    /// How it is doing, as far as is known, and asks the guest for news.
    [[nodiscard]] std::optional<domain::Startup> startup();

    /// Connects to a port on the sandbox's loopback. Errors: unavailable with the reason.
    Task<Result<std::unique_ptr<http::Stream>>> dial(std::uint16_t port, Deadline deadline);

private:
    struct Session;
    struct Place;
    struct Turn;

    Task<Result<ExecResult>> exec_once(domain::OperationId operation, const domain::Command& command,
                                       std::size_t max_output_bytes, bool& out_of_processes);
    Task<void> serve(std::unique_ptr<http::Stream> stream);
    Task<void> read_frames(std::shared_ptr<Session> session);
    Task<void> write_frames(std::shared_ptr<Session> session);
    void begin_session(Session& session);
    void send(const std::string& frames);
    void end(Error why);

    /// The handlers return false for a breach of the protocol.
    bool take(Session& session, const guest::Frame& frame);
    bool take_exec_frame(Session& session, const guest::Frame& frame);
    bool take_connection_frame(const guest::Frame& frame);
    bool take_hello(Session& session, const guest::Frame& frame);
    bool take_output(GuestExec& exec, const guest::Frame& frame);
    bool take_credit(const guest::Frame& frame);
    bool take_end(Session& session, const guest::Frame& frame);
    bool take_command_answer(const guest::Frame& frame);
    bool take_command_status(const guest::Frame& frame);
    void take_running(std::uint64_t id);
    void settle_former_session();

    void send_start(GuestExec& exec);
    void send_input(GuestExec& exec);
    void send_kill(std::uint64_t id);
    [[nodiscard]] Task<Result<void>> wait_for_turn(GuestExec& exec);

    Settings settings_;
    Random& random_;
    std::shared_ptr<Session> session_;  // the present one, once attached
    std::optional<guest::GuestHello> hello_;
    std::optional<Error> ended_;
    bool hostile_ = false;
    std::uint64_t next_id_ = 0;
    std::map<std::uint64_t, GuestExec*> execs_;  // each belongs to its exec() call
    std::list<GuestExec*> waiting_;              // for their turn, in order
    std::map<std::uint64_t, std::shared_ptr<GuestConnection>> connections_;
    std::string command_start_;  // the start-up command's frames until they are answered
    std::optional<Result<void>> command_answer_;
    guest::CommandStatus command_status_;
    async::Signal changed_;  // a session began or was opened, a turn came free, the link ended, a command was answered
};

}  // namespace sandbox::runtime
