#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "support/process.hpp"

namespace sandbox::test {

/// A real program with which a test talks over its standard input and output, line by line; its standard error goes to
/// a file. Killed (SIGKILL) and reaped when this goes. `Start::input` is not used.
class PipedProcess {
public:
    explicit PipedProcess(const Start& start);
    ~PipedProcess();
    PipedProcess(const PipedProcess&) = delete;
    PipedProcess& operator=(const PipedProcess&) = delete;

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }
    /// Writes all of it, while what the program writes is read, so that neither waits for the other.
    void write(std::string_view bytes);
    /// The end of its input.
    void close_input();
    /// The next line that it writes, without its end; nullopt when none comes in time or it has closed its output.
    [[nodiscard]] std::optional<std::string> read_line(std::chrono::milliseconds limit);
    /// Whether it has closed its output and everything of it was read.
    [[nodiscard]] bool ended() const noexcept { return ended_; }
    void signal(int number) const;
    /// Its exit status, or 128 + the signal that ended it; throws when it takes longer.
    int wait(std::chrono::milliseconds limit);
    [[nodiscard]] std::string err() const;

private:
    /// Reads what is there; waits for it, or for room to write, until the moment given.
    void pump(std::chrono::steady_clock::time_point until, bool for_writing);

    TemporaryDirectory files_;
    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
    std::string buffer_;
    std::size_t read_ = 0;  // of the buffer
    bool ended_ = false;
    std::optional<int> status_;
};

}  // namespace sandbox::test
