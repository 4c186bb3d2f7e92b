#include "guest_link.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <sandbox/base/log.hpp>

#include "guest_session.hpp"

namespace sandbox::runtime {

namespace {

using namespace std::chrono_literals;

constexpr auto kAttachTime = 10s;
constexpr auto kFirstPause = 100ms;
constexpr auto kLongestPause = 5s;
/// What the guest may take, beyond a command's time limit or after a kill, to tell of its end.
constexpr auto kEndGrace = 10s;
/// How long a command is tried again that could not be run since the process limit was used up.
constexpr auto kProcessLimitPatience = 3s;

Task<void> pause(std::chrono::milliseconds duration) {
    asio::steady_timer timer(co_await asio::this_coro::executor, duration);
    co_await timer.async_wait(asio::use_awaitable);
}

}  // namespace

/// A command's place in the link: taken out again when its exec() ends, however that is.
struct GuestLink::Place {
    Place(GuestLink& of_link, GuestExec& of_exec) : link(of_link), exec(of_exec) { link.execs_[exec.id] = &exec; }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;
    ~Place() {
        link.execs_.erase(exec.id);
        // Nobody waits for it any more; what the guest still says of it is acknowledged and dropped.
        if (!exec.has_ended()) link.send_kill(exec.id);
        link.changed_.notify_all();
    }
    GuestLink& link;
    GuestExec& exec;
};

/// A command's place in the queue for its turn.
struct GuestLink::Turn {
    Turn(GuestLink& of_link, GuestExec& exec)
        : link(of_link), place(link.waiting_.insert(link.waiting_.end(), &exec)) {}
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn() {
        link.waiting_.erase(place);
        link.changed_.notify_all();
    }
    GuestLink& link;
    std::list<GuestExec*>::iterator place;
};

GuestLink::GuestLink(Settings settings, Random& random) : settings_(std::move(settings)), random_(random) {
    // A random start, so that the ids of a former process's commands are not met again.
    std::array<std::uint8_t, sizeof(next_id_)> bytes{};
    random_.fill(bytes);
    std::memcpy(&next_id_, bytes.data(), bytes.size());
    next_id_ >>= 1U;
}

Task<void> GuestLink::run() {
    auto self = shared_from_this();
    std::chrono::milliseconds wait = kFirstPause;
    while (!ended_) {
        auto stream = co_await settings_.attach(in(kAttachTime));
        if (ended_) break;
        if (stream) {
            wait = kFirstPause;
            co_await serve(std::move(*stream));
        } else if (stream.error().code() == Code::not_found) {
            end(std::move(stream.error()));
        } else {
            co_await pause(wait);
            wait = std::min<std::chrono::milliseconds>(2 * wait, kLongestPause);
        }
    }
}

Task<void> GuestLink::serve(std::unique_ptr<http::Stream> stream) {
    using asio::experimental::awaitable_operators::operator&&;
    auto session = std::make_shared<Session>(std::move(stream), random_);
    session_ = session;
    begin_session(*session);
    changed_.notify_all();
    co_await (read_frames(session) && write_frames(session));
    if (session_ == session) session_.reset();
    for (auto& [id, connection] : std::exchange(connections_, {}))
        connection->end("the connection to the sandbox broke");
    if (hostile_) {
        log::warn("a sandbox's guest broke the protocol", {{"reason", session->breach}});
        end(Error(Code::unavailable, "the sandbox's guest broke the protocol: " + session->breach));
    }
}

Task<void> GuestLink::read_frames(std::shared_ptr<Session> session) {
    auto self = shared_from_this();
    while (!session->closed) {
        auto count = co_await session->stream->read_some(session->reader.prepare(), session->next_opening());
        if (!count && count.error().code() == Code::deadline_exceeded) {
            session->send_opening();
            continue;
        }
        if (!count || *count == 0) break;
        session->reader.commit(*count);
        for (;;) {
            auto frame = session->reader.next();
            if (frame && !*frame) break;
            if (!frame) session->breach = guest::describe(frame.error());
            if (!frame || !take(*session, **frame)) {
                hostile_ = true;
                if (session->breach.empty()) session->breach = "a frame that makes no sense";
                break;
            }
        }
        if (hostile_) break;
    }
    session->close();
}

Task<void> GuestLink::write_frames(std::shared_ptr<Session> session) {
    auto self = shared_from_this();
    while (!session->closed) {
        if (session->out.empty()) {
            co_await session->written_to.wait(Deadline::max());
            continue;
        }
        auto frames = std::exchange(session->out, {});
        auto written = co_await session->stream->write(frames, Deadline::max());
        if (!written) session->close();
    }
}

void GuestLink::send(const std::string& frames) {
    if (session_) session_->send(frames);
}

void GuestLink::end(Error why) {
    if (ended_) return;
    ended_ = std::move(why);
    if (session_) session_->close();
    for (auto& [id, exec] : execs_) exec->finish(*ended_);
    for (auto& [id, connection] : std::exchange(connections_, {})) connection->end(ended_->message());
    changed_.notify_all();
    if (settings_.on_change) settings_.on_change();
}

void GuestLink::close(const Error& why) {
    settings_.on_change = nullptr;
    for (auto* exec : waiting_) exec->cancelled = true;
    for (auto& [id, exec] : execs_) {
        exec->cancelled = true;
        exec->cut_off = true;
        exec->finish(guest::Exited{.signal = SIGKILL, .killed = true});
    }
    end(why);
}

Task<Result<void>> GuestLink::wait_open(Deadline deadline) {
    auto self = shared_from_this();
    while (!hello_) {
        if (ended_) co_return fail(*ended_);
        if (!co_await changed_.wait(deadline))
            co_return fail(Code::deadline_exceeded, "the sandbox's guest did not answer in time");
    }
    co_return Result<void>{};
}

Task<Result<ExecResult>> GuestLink::exec(domain::OperationId operation, const domain::Command& command,
                                         std::size_t max_output_bytes) {
    auto self = shared_from_this();
    // The guest kills what an ended command has left behind as a fork bomb, which takes it a moment.
    const auto retry_until = in(kProcessLimitPatience);
    for (;;) {
        bool out_of_processes = false;
        auto result = co_await exec_once(operation, command, max_output_bytes, out_of_processes);
        if (!out_of_processes || in(kFirstPause) > retry_until) co_return result;
        co_await pause(kFirstPause);
    }
}

Task<Result<ExecResult>> GuestLink::exec_once(domain::OperationId operation, const domain::Command& command,
                                              std::size_t max_output_bytes, bool& out_of_processes) {
    GuestExec exec(next_id_++, operation, max_output_bytes);
    if (!guest::append_start(exec.start, exec.id, start_of(command, max_output_bytes)))
        co_return too_long_result(command);
    if (command.stdin_bytes && !command.stdin_bytes->empty()) {
        exec.input = *command.stdin_bytes;
        exec.input_open = true;
    }
    auto turn = co_await wait_for_turn(exec);
    if (!turn) co_return fail(std::move(turn.error()));
    if (exec.cancelled) co_return cancelled_result();

    Place place(*this, exec);
    const auto begun = std::chrono::steady_clock::now();
    exec.give_up = begun + std::chrono::seconds(command.timeout_seconds) + kEndGrace;
    send_start(exec);
    while (!exec.has_ended()) {
        if (co_await exec.changed.wait(exec.give_up) || exec.has_ended()) continue;
        if (std::chrono::steady_clock::now() < exec.give_up) continue;
        co_return fail(Code::deadline_exceeded,
                       exec.started ? "the sandbox's guest did not tell how the command ended"
                                    : "the sandbox's guest did not answer, and the command was not started");
    }
    const auto* failed = std::get_if<guest::Failed>(&exec.end);
    out_of_processes = failed != nullptr && failed->kind == guest::Failure::out_of_processes;
    const auto duration = std::chrono::steady_clock::now() - begun;
    co_return exec_result(exec, command, std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

Task<Result<void>> GuestLink::wait_for_turn(GuestExec& exec) {
    Turn turn(*this, exec);
    while (!exec.cancelled && !ended_) {
        if (waiting_.front() == &exec && execs_.size() < guest::kMaxExecs) co_return Result<void>{};
        co_await changed_.wait(Deadline::max());
    }
    if (ended_ && !exec.cancelled) co_return fail(*ended_);
    co_return Result<void>{};
}

void GuestLink::cancel(domain::OperationId operation) {
    for (auto* exec : waiting_)
        if (exec->operation == operation) exec->cancelled = true;
    changed_.notify_all();
    for (auto& [id, exec] : execs_) {
        if (exec->operation != operation || exec->cancelled) continue;
        exec->cancelled = true;
        exec->give_up = std::min(exec->give_up, in(kEndGrace));
        send_kill(id);
        exec->changed.notify_all();
    }
}

Task<Result<void>> GuestLink::start_command(const std::vector<std::string>& argv, Deadline deadline) {
    auto self = shared_from_this();
    guest::Start start;
    start.argv = argv;
    command_start_.clear();
    command_answer_.reset();
    if (!guest::append_start(command_start_, 0, start))
        co_return fail(Code::invalid_argument, "the start-up command is too long");
    send(command_start_);
    while (!command_answer_) {
        if (ended_) co_return fail(*ended_);
        if (!co_await changed_.wait(deadline))
            co_return fail(Code::deadline_exceeded, "the sandbox's guest did not start the start-up command in time");
    }
    co_return *command_answer_;
}

std::optional<domain::Startup> GuestLink::startup() {
    if (command_status_.state == guest::CommandStatus::State::running) {
        std::string query;
        guest::append_frame(query, guest::FrameType::query_command, 0);
        send(query);
    }
    return startup_of(command_status_);
}

Task<Result<std::unique_ptr<http::Stream>>> GuestLink::dial(std::uint16_t port, Deadline deadline) {
    auto self = shared_from_this();
    if (ended_) co_return fail(*ended_);
    if (!session_) co_return fail(Code::unavailable, "the connection to the sandbox is broken at present");
    auto connection =
        std::make_shared<GuestConnection>(next_id_++, [weak = weak_from_this()](const std::string& frames) {
            if (auto link = weak.lock()) link->send(frames);
        });
    connections_[connection->id] = connection;
    auto stream = stream_of(connection, [weak = weak_from_this(), id = connection->id] {
        if (auto link = weak.lock()) link->connections_.erase(id);
    });
    std::string frame;
    guest::append_dial(frame, connection->id, {.port = port, .credit = kConnectionWindow});
    send(frame);
    while (!connection->connected) {
        if (connection->over) co_return fail(Code::unavailable, fmt::format("port {}: {}", port, *connection->over));
        if (!co_await connection->changed.wait(deadline)) co_return fail(Code::deadline_exceeded, "timed out");
    }
    co_return stream;
}

}  // namespace sandbox::runtime
