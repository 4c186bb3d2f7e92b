#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace sandbox::test {

/// A directory of one test's own, gone with it.
class TemporaryDirectory {
public:
    TemporaryDirectory();
    ~TemporaryDirectory();
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// Variables of a program's environment that are set or, with nullopt, taken away.
using Variables = std::map<std::string, std::optional<std::string>>;

/// How a program is started.
struct Start {
    std::vector<std::string> argv;
    Variables environment;
    std::string input;              // its standard input, then the end
    std::string working_directory;  // "" for a directory of its own
    bool ends_with_thread = false;  // SIGTERM when the thread that starts it ends, whatever ends that
};

/// What a program left.
struct Ended {
    int status = 0;  // exit status, or 128 + the signal that ended it
    std::string out;
    std::string err;
};

/// A real program, running. Killed (SIGKILL) and reaped when this goes.
class Process {
public:
    explicit Process(const Start& start);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool running();
    void signal(int number) const;
    /// Waits for its end; throws when it takes longer.
    Ended wait(std::chrono::milliseconds limit);
    /// What it has written so far.
    [[nodiscard]] std::string out() const;
    [[nodiscard]] std::string err() const;

private:
    TemporaryDirectory files_;
    pid_t pid_ = -1;
    std::optional<int> status_;
};

/// Runs a program to its end, at most a minute.
Ended run_program(const Start& start, std::chrono::milliseconds limit = std::chrono::minutes(1));

/// How often a long series repeats: what the variable says, else a few times.
[[nodiscard]] int repeats(const char* variable, int otherwise);

/// The folder of the programs under test (build/<preset>/bin).
[[nodiscard]] std::string program(std::string_view name);

/// A loopback port that is free, and below those that outgoing connections get: a server can have it again after a
/// pause, and a client that knocks meanwhile is never given that very port to talk to itself.
[[nodiscard]] std::uint16_t lasting_port();

/// Waits until the condition holds, looking every few milliseconds; false when the time is up.
template <class Condition>
bool eventually(std::chrono::milliseconds limit, Condition condition);

void sleep_a_little();

template <class Condition>
bool eventually(std::chrono::milliseconds limit, Condition condition) {
    const auto until = std::chrono::steady_clock::now() + limit;
    while (!condition()) {
        if (std::chrono::steady_clock::now() >= until) return false;
        sleep_a_little();
    }
    return true;
}

/// Removes what the node with this state directory still holds in the engine, and names it on standard error: a test
/// that fails half-way leaves nothing to the next run.
void remove_what_node_holds(const std::string& state_directory) noexcept;

/// A sandboxd of the test's own on a free loopback port with a state directory of its own. It ends with this, or with
/// the thread that started it; what its node then still holds is removed.
class Daemon {
public:
    /// `variables` are added to the environment; `arguments` to --dev when `development`.
    struct Options {
        Variables variables;
        std::vector<std::string> arguments{"--dev"};
        bool wait_for_node = true;
    };
    explicit Daemon(Options options);
    Daemon() : Daemon(Options{}) {}
    ~Daemon();
    Daemon(const Daemon&) = delete;
    Daemon& operator=(const Daemon&) = delete;

    [[nodiscard]] const std::string& address() const noexcept { return address_; }  // host:port
    [[nodiscard]] std::string url() const { return "http://" + address_; }
    [[nodiscard]] Process& process() noexcept { return *process_; }
    [[nodiscard]] const std::string& state_directory() const noexcept { return state_.path(); }
    /// SIGTERM and wait; returns its exit status.
    int stop();
    /// SIGKILL and start again with the same state directory and address.
    void restart_after_kill();

private:
    void start();

    Options options_;
    TemporaryDirectory state_;
    std::string address_;
    std::unique_ptr<Process> process_;
};

}  // namespace sandbox::test
