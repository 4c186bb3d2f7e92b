#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sandbox/guest/credit.hpp>
#include <sandbox/guest/messages.hpp>
#include <sandbox/guest/start.hpp>

#include "sandbox.hpp"

namespace sandbox::guest::test {

/// What a worker would know of one exec.
struct Run {
    bool started = false;
    std::optional<Exited> exited;
    std::optional<Failed> failed;
    std::string output;
    std::string error;
    std::uint64_t output_bytes = 0;
    std::uint64_t error_bytes = 0;
    std::uint64_t skipped = 0;         // of the standard output
    std::string after_skip;            // what has come since the last skip; all of it without one
    std::chrono::milliseconds took{};  // from start to answer

    [[nodiscard]] bool done() const { return exited || failed; }
    [[nodiscard]] int code() const { return exited ? exit_code(*exited) : exit_code(*failed).value_or(-1); }

    bool grant = true;  // credit for what arrives
    std::string to_send;
    bool to_end = false;
    SendCredit input_credit{kInputWindow};
    std::chrono::steady_clock::time_point begun;
};

/// What a worker would know of one connection.
struct Link {
    bool connected = false;
    bool ended = false;
    std::optional<int> closed;
    std::string received;
    bool grant = true;
};

/// The worker's end of the protocol, as simple as a test can have it. Keeps the first `kKept` bytes of a stream.
class Host {
public:
    static constexpr std::size_t kKept = 4 * 1024 * 1024;
    static constexpr std::uint32_t kWindow = 256 * 1024;

    /// Attaches, and waits for ready.
    explicit Host(const Sandbox& sandbox);

    /// Whether `holds` came to be within the time; reads and answers meanwhile.
    bool wait(const std::function<bool()>& holds, std::chrono::milliseconds limit = std::chrono::seconds(20));
    /// Until the guest has made its spare supervisor and waits.
    [[nodiscard]] bool settle();

    /// With `options.input` and no input here, its input stays open.
    std::uint64_t start(std::vector<std::string> argv, Start options = {}, std::optional<std::string> input = {});
    std::uint64_t start_shell(const std::string& script, Start options = {}) {
        return start({"sh", "-c", script}, std::move(options));
    }
    /// Starts it and waits for its answer.
    Run run(std::vector<std::string> argv, Start options = {}, std::optional<std::string> input = {});
    Run shell(const std::string& script, Start options = {}) { return run({"sh", "-c", script}, std::move(options)); }
    Run finish(std::uint64_t id);
    void kill(std::uint64_t id) { send(FrameType::kill, id); }
    void ack(std::uint64_t id) { send(FrameType::ack, id); }

    std::uint64_t dial(std::uint16_t port);
    void send(FrameType type, std::uint64_t id, std::string_view payload = {});
    void send_raw(std::string_view bytes);
    void grant(std::uint64_t id, Stream stream, std::uint32_t bytes);

    [[nodiscard]] Run& exec(std::uint64_t id) { return execs_.at(id); }
    [[nodiscard]] Link& link(std::uint64_t id) { return links_.at(id); }

    GuestHello hello;
    std::vector<std::uint64_t> running;  // told between hello and ready
    std::optional<CommandStatus> command;
    std::optional<Failed> command_failed;
    bool command_started = false;
    bool acknowledge = true;
    std::optional<Fault> fault;

private:
    void read_some(std::chrono::milliseconds limit);
    void handle(const Frame& frame);
    void handle_exec(const Frame& frame);
    void handle_link(const Frame& frame);
    void handle_command(const Frame& frame);
    void send_input(std::uint64_t id, Run& run);
    void flush();

    const Sandbox* sandbox_;
    HostReader reader_;
    std::string unsent_;
    bool ready_ = false;
    std::uint64_t next_id_;
    std::map<std::uint64_t, Run> execs_;
    std::map<std::uint64_t, Link> links_;
};

}  // namespace sandbox::guest::test
