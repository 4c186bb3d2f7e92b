#include "docker/tool.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "docker/engine_answers.hpp"
#include "docker/file_descriptor.hpp"

namespace sandbox::runtime::docker {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kOutputLimit = 64 * 1024;

Error errno_error(std::string_view what) {
    return {Code::unavailable, fmt::format("{}: {}", what, std::strerror(errno))};
}

/// A descriptor that reads as `text`.
Result<FileDescriptor> as_file(std::string_view text) {
    FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
    if (!file) return fail(errno_error("memfd_create"));
    while (!text.empty()) {
        auto written = ::write(file.get(), text.data(), text.size());
        if (written < 0) return fail(errno_error("write"));
        text.remove_prefix(static_cast<std::size_t>(written));
    }
    if (::lseek(file.get(), 0, SEEK_SET) < 0) return fail(errno_error("lseek"));
    return file;
}

Result<pid_t> spawn(const std::vector<std::string>& argv, int input, int output) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    std::vector<char*> arguments;
    for (const auto& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    pid_t pid = -1;
    int error = ::posix_spawn(&pid, argv.front().c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) return fail(Code::unavailable, fmt::format("{}: {}", argv.front(), std::strerror(error)));
    return pid;
}

/// All that comes until the end; false at the deadline.
bool read_to_end(int from, std::string& output, Clock::time_point deadline) {
    std::array<char, 4096> buffer;
    for (;;) {
        auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
        if (left.count() <= 0) return false;
        pollfd watched{.fd = from, .events = POLLIN, .revents = 0};
        int ready = ::poll(&watched, 1, static_cast<int>(left.count()));
        if (ready <= 0) continue;
        auto count = ::read(from, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return true;
        output.append(buffer.data(), static_cast<std::size_t>(count));
        if (output.size() > kOutputLimit) output.erase(0, output.size() - kOutputLimit);
    }
}

}  // namespace

std::optional<std::string> find_tool(std::string_view name) {
    const char* path = std::getenv("PATH");
    auto directories = fmt::format("{}:/usr/sbin:/sbin:/usr/bin:/bin", path != nullptr ? path : "");
    for (std::string_view rest = directories; !rest.empty();) {
        auto directory = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
        auto candidate = fmt::format("{}/{}", directory, name);
        if (directory.starts_with('/') && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return std::nullopt;
}

Result<std::string> run_tool(const std::vector<std::string>& argv, std::string_view input,
                             std::chrono::milliseconds limit) {
    auto given = as_file(input);
    if (!given) return fail(std::move(given.error()));
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(errno_error("pipe"));
    FileDescriptor from(ends[0]);
    FileDescriptor to(ends[1]);
    auto pid = spawn(argv, given->get(), to.get());
    if (!pid) return fail(std::move(pid.error()));
    to.reset();
    std::string output;
    bool ended = read_to_end(from.get(), output, Clock::now() + limit);
    if (!ended) ::kill(*pid, SIGKILL);
    int status = 0;
    while (::waitpid(*pid, &status, 0) < 0 && errno == EINTR) continue;
    if (!ended) return fail(Code::unavailable, fmt::format("{} took longer than {} ms", argv.front(), limit.count()));
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
    return fail(Code::unavailable, fmt::format("{} failed: {}", argv.front(), one_line(output)));
}

}  // namespace sandbox::runtime::docker
