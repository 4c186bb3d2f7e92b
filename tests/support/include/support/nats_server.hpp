#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <support/process.hpp>
#include <vector>

namespace sandbox::test {

/// A NATS server of the test's own: on a loopback port that stays the same, in a directory of its own.
class NatsServer {
public:
    struct Options {
        bool jetstream = false;
        std::string configuration;  // more lines of its file
        std::string scheme = "nats";
    };
    explicit NatsServer(Options options);
    NatsServer() : NatsServer(Options{}) {}

    [[nodiscard]] std::string url() const { return options_.scheme + "://" + address(); }
    [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
    /// In order: what it has taken is written.
    void stop();
    void kill();
    /// Stopped in the midst of everything, and again: SIGSTOP and SIGCONT. It keeps its connections and says nothing.
    void freeze();
    void thaw();
    void start();

private:
    bool try_to_start();

    Options options_;
    TemporaryDirectory directory_;
    std::uint16_t port_ = 0;
    std::unique_ptr<Process> process_;
};

/// A message as a consumer sees it.
struct NatsReceived {
    std::string subject;
    std::string id;  // Nats-Msg-Id
    std::string data;
};

/// A program outside, subscribed from now on.
class NatsConsumer {
public:
    NatsConsumer(const std::string& url, const std::string& subject);
    ~NatsConsumer();
    NatsConsumer(const NatsConsumer&) = delete;
    NatsConsumer& operator=(const NatsConsumer&) = delete;

    /// What has come since the last call: waits for `count`, at most so long, and then a moment for one too many.
    std::vector<NatsReceived> receive(std::size_t count, std::chrono::milliseconds limit);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

/// Makes a stream that captures the subjects. `more` are further members of its configuration, as in ",\"max_msgs\":5".
void create_nats_stream(const std::string& url, const std::string& name, const std::string& subjects,
                        const std::string& more = "");
/// Everything that a stream holds, in its order.
std::vector<NatsReceived> nats_stream_messages(const std::string& url, const std::string& name);

}  // namespace sandbox::test
