#include "host.hpp"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <unistd.h>

namespace sandbox::guest::test {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Nonce random_nonce() {
    std::random_device random;
    Nonce nonce{};
    for (auto& byte : nonce) byte = static_cast<char>(random());
    return nonce;
}

void keep(std::string& text, std::uint64_t& total, std::string_view bytes) {
    total += bytes.size();
    if (text.size() < Host::kKept) text.append(bytes.substr(0, Host::kKept - text.size()));
}

}  // namespace

Host::Host(const Sandbox& sandbox) : sandbox_(&sandbox), reader_(Nonce{}), next_id_(std::random_device{}()) {
    const auto nonce = random_nonce();
    reader_ = HostReader(nonce);
    fcntl(sandbox.stream(), F_SETFL, O_NONBLOCK);
    append_attach(unsent_, {.nonce = nonce});
    if (!wait([&] { return ready_; })) throw std::runtime_error("the guest did not answer the hello");
}

void Host::flush() {
    while (!unsent_.empty()) {
        const auto count = write(sandbox_->stream(), unsent_.data(), unsent_.size());
        if (count <= 0) return;
        unsent_.erase(0, static_cast<std::size_t>(count));
    }
}

void Host::send(FrameType type, std::uint64_t id, std::string_view payload) {
    append_frame(unsent_, type, id, payload);
    flush();
}

void Host::send_raw(std::string_view bytes) {
    unsent_.append(bytes);
    flush();
}

void Host::grant(std::uint64_t id, Stream stream, std::uint32_t bytes) {
    append_credit(unsent_, id, {.stream = stream, .bytes = bytes});
    flush();
}

bool Host::settle() {
    if (!wait([this] { return sandbox_->has_spare(); })) return false;
    command.reset();
    send(FrameType::query_command, 0);
    return wait([this] { return command.has_value(); });
}

bool Host::wait(const std::function<bool()>& holds, std::chrono::milliseconds limit) {
    const auto until = Clock::now() + limit;
    while (!holds()) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
        if (left <= 0ms || fault) return false;
        read_some(std::min(left, std::chrono::milliseconds(20)));
    }
    return true;
}

void Host::read_some(std::chrono::milliseconds limit) {
    pollfd fd{.fd = sandbox_->stream(), .events = POLLIN, .revents = 0};
    if (!unsent_.empty()) fd.events |= POLLOUT;
    poll(&fd, 1, static_cast<int>(limit.count()));
    flush();
    const auto room = reader_.prepare();
    const auto count = read(sandbox_->stream(), room.data(), room.size());
    if (count <= 0) return;
    reader_.commit(static_cast<std::size_t>(count));
    for (;;) {
        const auto frame = reader_.next();
        if (!frame) fault = frame.error();
        if (!frame || !*frame) break;
        handle(**frame);
    }
    flush();
}

void Host::handle(const Frame& frame) {
    if (frame.type == FrameType::hello) {
        hello = decode_guest_hello(frame.payload).value();
    } else if (frame.type == FrameType::ready) {
        ready_ = true;
    } else if (frame.type == FrameType::running) {
        running.push_back(frame.id);
        execs_[frame.id];
    } else if (links_.contains(frame.id)) {
        handle_link(frame);
    } else if (frame.id == 0) {
        handle_command(frame);
    } else {
        handle_exec(frame);
    }
}

void Host::handle_command(const Frame& frame) {
    if (frame.type == FrameType::started) command_started = true;
    if (frame.type == FrameType::failed) command_failed = decode_failed(frame.payload).value();
    if (frame.type == FrameType::command_status) command = decode_command_status(frame.payload).value();
}

void Host::handle_exec(const Frame& frame) {
    auto& run = execs_[frame.id];
    switch (frame.type) {
        case FrameType::started:
            run.started = true;
            break;
        case FrameType::output:
            keep(run.output, run.output_bytes, frame.payload);
            run.after_skip += frame.payload;
            break;
        case FrameType::skipped:
            run.skipped += decode_skipped(frame.payload).value().bytes;
            run.after_skip.clear();
            break;
        case FrameType::error_output:
            keep(run.error, run.error_bytes, frame.payload);
            break;
        case FrameType::exited:
            run.exited = decode_exited(frame.payload).value();
            break;
        case FrameType::failed:
            run.failed = decode_failed(frame.payload).value();
            break;
        case FrameType::credit:
            run.input_credit.grant(decode_credit(frame.payload).value().bytes);
            send_input(frame.id, run);
            break;
        default:
            break;
    }
    if (run.grant && (frame.type == FrameType::output || frame.type == FrameType::error_output))
        append_credit(unsent_, frame.id,
                      {.stream = frame.type == FrameType::output ? Stream::output : Stream::error,
                       .bytes = static_cast<std::uint32_t>(frame.payload.size())});
    if (!run.done()) return;
    run.took = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - run.begun);
    if (acknowledge) append_frame(unsent_, FrameType::ack, frame.id);
}

void Host::handle_link(const Frame& frame) {
    auto& link = links_.at(frame.id);
    if (frame.type == FrameType::connected) link.connected = true;
    if (frame.type == FrameType::end_of_data) link.ended = true;
    if (frame.type == FrameType::close) link.closed = decode_close(frame.payload).value().error;
    if (frame.type != FrameType::data) return;
    link.received.append(frame.payload);
    if (link.grant)
        append_credit(unsent_, frame.id,
                      {.stream = Stream::connection, .bytes = static_cast<std::uint32_t>(frame.payload.size())});
}

void Host::send_input(std::uint64_t id, Run& run) {
    const auto count = std::min(run.input_credit.left(), run.to_send.size());
    append_bytes(unsent_, FrameType::input, id, std::string_view(run.to_send).substr(0, count));
    run.input_credit.spend(count);
    run.to_send.erase(0, count);
    if (run.to_end && run.to_send.empty()) {
        append_frame(unsent_, FrameType::end_of_input, id);
        run.to_end = false;
    }
}

std::uint64_t Host::start(std::vector<std::string> argv, Start options, std::optional<std::string> input) {
    const auto id = ++next_id_;
    options.argv = std::move(argv);
    options.output_credit = options.error_credit = kWindow;
    options.input = options.input || input.has_value();
    if (!append_start(unsent_, id, options)) throw std::runtime_error("the start is too long");
    auto& run = execs_[id];
    run.begun = Clock::now();
    if (input) {
        run.to_send = std::move(*input);
        run.to_end = true;
        send_input(id, run);
    }
    flush();
    return id;
}

Run Host::finish(std::uint64_t id) {
    if (!wait([&] { return exec(id).done(); }, 60s)) throw std::runtime_error("the exec did not end");
    return exec(id);
}

Run Host::run(std::vector<std::string> argv, Start options, std::optional<std::string> input) {
    return finish(start(std::move(argv), std::move(options), std::move(input)));
}

std::uint64_t Host::dial(std::uint16_t port) {
    const auto id = ++next_id_;
    links_[id];
    append_dial(unsent_, id, {.port = port, .credit = kWindow});
    flush();
    return id;
}

}  // namespace sandbox::guest::test
