#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include <sandbox/guest/reader.hpp>

namespace sandbox::guest::test {

/// What a container engine would set up around the guest.
struct SandboxOptions {
    uid_t uid = 1000;
    std::vector<std::string> env{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/workspace",
                                 "SANDBOX_ID=test"};
    /// Only these files, each at the root; without it, the machine's own programs and libraries.
    std::optional<std::vector<std::filesystem::path>> files;
    /// Control group limits.
    std::optional<int> pids;
    std::optional<std::int64_t> memory_bytes;
};

/// The real guest as PID 1 of new pid, mount and IPC namespaces, with a small root of its own, no capability and
/// no_new_privs, as Docker would run it. Needs root. Ends with this object, and everything in it.
class Sandbox {
public:
    explicit Sandbox(SandboxOptions options = {});
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    ~Sandbox();

    /// Our end of its streams.
    [[nodiscard]] int stream() const { return stream_; }

    /// All processes in it, the guest with them, by their command lines; without the spare supervisor, which comes and
    /// goes by itself.
    [[nodiscard]] std::vector<std::string> processes() const;
    /// Whether a supervisor waits for the next exec.
    [[nodiscard]] bool has_spare() const { return spare() != 0; }
    /// Its pid as this host sees it; 0 when there is none, and as long as there are two, one of which is ending.
    [[nodiscard]] int spare() const;
    /// How many processes and zombies there are besides PID 1.
    [[nodiscard]] std::size_t process_count() const { return processes().size() - 1; }
    /// How many forks the process limit has refused so far. It only grows, so that a bomb that is over already, before
    /// anybody looks, has still been seen.
    [[nodiscard]] long refused_forks() const;
    /// The command lines of all that are neither PID 1 nor a supervisor.
    [[nodiscard]] std::vector<std::string> commands() const;
    /// Of the guest.
    [[nodiscard]] std::size_t open_files() const;
    [[nodiscard]] std::size_t memory_kib() const;
    [[nodiscard]] double cpu_seconds() const;
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// The host's path of a path in it.
    [[nodiscard]] std::filesystem::path inside(const std::string& path) const;
    /// Waits for the guest to end by itself; its wait status.
    int wait();

private:
    void make_cgroup(const SandboxOptions& options);
    [[noreturn]] void become_guest(const SandboxOptions& options, int theirs) const;

    std::filesystem::path root_;
    std::vector<std::filesystem::path> cgroups_;
    pid_t pid_ = -1;
    int stream_ = -1;
};

}  // namespace sandbox::guest::test
