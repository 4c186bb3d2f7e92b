// What a guest sends, frame by frame. Nothing of it is believed: what breaks the protocol ends the link.
#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <sandbox/base/text.hpp>

#include "guest_link.hpp"
#include "guest_session.hpp"

namespace sandbox::runtime {

using guest::FrameType;

void GuestLink::begin_session(Session& session) {
    session.send_opening();
    // A start that was sent in a former session and not answered may have been lost with it; the guest runs none twice.
    for (auto& [id, exec] : execs_) {
        exec->known = false;
        if (!exec->started) send_start(*exec);
    }
    send(command_start_);
}

void GuestLink::send_start(GuestExec& exec) {
    exec.input_sent = 0;
    exec.input_credit = guest::SendCredit(guest::kInputWindow);
    send(exec.start);
    send_input(exec);
}

void GuestLink::send_input(GuestExec& exec) {
    if (!exec.input_open || exec.has_ended() || !session_) return;
    std::string frames;
    auto piece = exec.input.substr(exec.input_sent, exec.input_credit.left());
    guest::append_bytes(frames, FrameType::input, exec.id, piece);
    exec.input_credit.spend(piece.size());
    exec.input_sent += piece.size();
    if (exec.input_sent == exec.input.size()) {
        guest::append_frame(frames, FrameType::end_of_input, exec.id);
        exec.input_open = false;
    }
    send(frames);
}

void GuestLink::send_kill(std::uint64_t id) {
    std::string frame;
    guest::append_frame(frame, FrameType::kill, id);
    send(frame);
}

bool GuestLink::take(Session& session, const guest::Frame& frame) {
    switch (frame.type) {
        case FrameType::hello:
            return take_hello(session, frame);
        case FrameType::ready:
            session.settled = true;
            settle_former_session();
            return frame.payload.empty();
        case FrameType::running:
            take_running(frame.id);
            return frame.payload.empty();
        case FrameType::started:
        case FrameType::output:
        case FrameType::error_output:
        case FrameType::skipped:
        case FrameType::exited:
        case FrameType::failed:
            return frame.id == 0 ? take_command_answer(frame) : take_exec_frame(session, frame);
        case FrameType::command_status:
            return take_command_status(frame);
        case FrameType::credit:
            return take_credit(frame);
        case FrameType::connected:
        case FrameType::data:
        case FrameType::end_of_data:
        case FrameType::close:
            return take_connection_frame(frame);
        case FrameType::start_part:
        case FrameType::start:
        case FrameType::input:
        case FrameType::end_of_input:
        case FrameType::kill:
        case FrameType::ack:
        case FrameType::start_command:
        case FrameType::query_command:
        case FrameType::dial:
            return false;  // those are ours to send
    }
    return false;
}

bool GuestLink::take_hello(Session& session, const guest::Frame& frame) {
    auto hello = guest::decode_guest_hello(frame.payload);
    if (!hello) return false;
    if (hello->version != guest::kProtocolVersion) {
        session.breach =
            fmt::format("it speaks version {} of the protocol, not {}", hello->version, guest::kProtocolVersion);
        return false;
    }
    session.greeted = true;
    hello_ = *hello;
    changed_.notify_all();
    return true;
}

void GuestLink::take_running(std::uint64_t id) {
    auto found = execs_.find(id);
    if (found == execs_.end()) {  // of a former process of ours: nobody waits for it
        send_kill(id);
        return;
    }
    auto& exec = *found->second;
    exec.known = true;
    exec.started = true;
    exec.start = std::string();
    std::string frames;
    for (auto [stream, output] : {std::pair(guest::Stream::output, &exec.out), {guest::Stream::error, &exec.err}}) {
        output->credit = guest::ReceiveCredit(kOutputWindow);
        guest::append_credit(frames, id, {.stream = stream, .bytes = kOutputWindow});
    }
    send(frames);
    // How much of its input arrived is not known, so it can't be gone on with.
    if (exec.cancelled || exec.input_sent > 0 || exec.input_open) {
        exec.input_cut = !exec.cancelled;
        exec.input_open = false;
        send_kill(id);
    }
}

void GuestLink::settle_former_session() {
    for (auto& [id, exec] : execs_)
        if (exec->started && !exec->known && !exec->has_ended())
            exec->finish(Error(Code::unavailable,
                               "the connection to the sandbox broke, and how the command ended is "
                               "not known"));
}

bool GuestLink::take_exec_frame(Session& session, const guest::Frame& frame) {
    if (frame.type == FrameType::exited || frame.type == FrameType::failed) return take_end(session, frame);
    auto found = execs_.find(frame.id);
    if (found == execs_.end()) return true;  // nobody waits for it any more
    auto& exec = *found->second;
    exec.known = true;
    if (frame.type == FrameType::started) {
        exec.started = true;
        exec.start = std::string();
        return frame.payload.empty();
    }
    if (frame.type == FrameType::skipped) {
        const auto skipped = guest::decode_skipped(frame.payload);
        if (!skipped) return false;
        (skipped->stream == guest::Stream::error ? exec.err : exec.out).capture.skip(skipped->bytes);
        return true;
    }
    return take_output(exec, frame);
}

bool GuestLink::take_output(GuestExec& exec, const guest::Frame& frame) {
    bool is_error = frame.type == FrameType::error_output;
    auto& output = is_error ? exec.err : exec.out;
    if (!output.credit.receive(frame.payload.size())) return false;
    output.capture.append(frame.payload);
    if (auto granted = output.credit.consume(frame.payload.size()); granted != 0) {
        std::string credit;
        guest::append_credit(credit, frame.id,
                             {.stream = is_error ? guest::Stream::error : guest::Stream::output, .bytes = granted});
        send(credit);
    }
    return true;
}

bool GuestLink::take_end(Session& session, const guest::Frame& frame) {
    GuestExec::End how;
    if (frame.type == FrameType::exited) {
        auto exited = guest::decode_exited(frame.payload);
        if (!exited) return false;
        how = *exited;
    } else {
        auto failed = guest::decode_failed(frame.payload);
        if (!failed) return false;
        how = std::move(*failed);
    }
    std::string ack;
    guest::append_frame(ack, FrameType::ack, frame.id);
    session.out += ack;  // in no hurry: it goes with what is sent next
    if (auto found = execs_.find(frame.id); found != execs_.end()) found->second->finish(std::move(how));
    return true;
}

bool GuestLink::take_credit(const guest::Frame& frame) {
    auto credit = guest::decode_credit(frame.payload);
    if (!credit) return false;
    if (credit->stream == guest::Stream::input) {
        if (auto found = execs_.find(frame.id); found != execs_.end()) {
            found->second->input_credit.grant(credit->bytes);
            send_input(*found->second);
        }
        return true;
    }
    if (credit->stream != guest::Stream::connection) return false;
    if (auto found = connections_.find(frame.id); found != connections_.end()) {
        found->second->send_credit.grant(credit->bytes);
        found->second->changed.notify_all();
    }
    return true;
}

bool GuestLink::take_connection_frame(const guest::Frame& frame) {
    std::optional<guest::Close> close;
    if (frame.type == FrameType::close && !(close = guest::decode_close(frame.payload))) return false;
    auto found = connections_.find(frame.id);
    if (found == connections_.end()) return true;  // closed here while this was under way
    auto connection = found->second;
    if (close) {
        connections_.erase(found);
        connection->end(close->error == 0 ? "" : std::generic_category().message(close->error));
        return true;
    }
    if (frame.type == FrameType::connected) {
        connection->connected = true;
    } else if (frame.type == FrameType::end_of_data) {
        connection->received_end = true;
    } else {
        if (connection->received_end || !connection->receive_credit.receive(frame.payload.size())) return false;
        connection->received += frame.payload;
    }
    connection->changed.notify_all();
    return true;
}

bool GuestLink::take_command_answer(const guest::Frame& frame) {
    if (command_start_.empty()) return false;  // there was none to answer to
    if (frame.type == FrameType::started) {
        command_answer_ = Result<void>{};
        command_status_.state = guest::CommandStatus::State::running;
    } else if (frame.type == FrameType::failed) {
        auto failed = guest::decode_failed(frame.payload);
        if (!failed) return false;
        command_answer_ = fail(Code::invalid_argument, "the start-up command can't be run: " + sentence(failed->what));
    } else {
        return false;
    }
    command_start_.clear();
    changed_.notify_all();
    return true;
}

bool GuestLink::take_command_status(const guest::Frame& frame) {
    auto status = guest::decode_command_status(frame.payload);
    if (!status) return false;
    using State = guest::CommandStatus::State;
    bool has_ended = status->state == State::ended && command_status_.state != State::ended;
    command_status_ = std::move(*status);
    if (has_ended && settings_.on_change) settings_.on_change();
    return true;
}

}  // namespace sandbox::runtime
