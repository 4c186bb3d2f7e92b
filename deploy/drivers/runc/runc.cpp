#include "runc.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sandbox/base/json_reader.hpp>

#include "docker/tool.hpp"
#include "guest_exec.hpp"

namespace sandbox::driver_runc {

using namespace std::chrono_literals;

namespace {

/// The last reason in runc's log, one JSON object a line.
std::string reason(const std::string& log) {
    std::string found = "it did not say why";
    std::ifstream file(log);
    for (std::string line; std::getline(file, line);) {
        const auto entry = parse_json(line);
        if (!entry || !entry->is_object()) continue;
        Problems problems;
        ObjectReader reader(*entry, "", problems, UnknownFields::ignore);
        if (auto message = reader.optional_string("msg")) found = runtime::sentence(*message);
    }
    return found;
}

/// This program's own, and two for the Go runtime: it lives too shortly for its garbage to matter, and its start is
/// faster with one thread. The sandbox has neither.
std::vector<char*> runc_environment() {
    static std::string no_collection("GOGC=off");
    static std::string one_thread("GOMAXPROCS=1");
    std::vector<char*> variables{no_collection.data(), one_thread.data()};
    for (char** variable = environ; *variable != nullptr; ++variable) variables.push_back(*variable);
    variables.push_back(nullptr);
    return variables;
}

/// Its exit status; 255 when it could not be run.
int run(std::vector<std::string> argv, int in, int out) {
    constexpr int kNotRun = 255;
    const FileDescriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, nowhere.get(), STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    std::vector<char*> arguments;
    for (auto& argument : argv) arguments.push_back(argument.data());
    arguments.push_back(nullptr);
    auto variables = runc_environment();
    pid_t pid = -1;
    const int problem = ::posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), variables.data());
    posix_spawn_file_actions_destroy(&actions);
    if (problem != 0) return kNotRun;
    int status = 0;
    while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : kNotRun;
}

}  // namespace

Result<void> run_detached(const Settings& settings, const Place& place) {
    // Both ends of both, so that PID 1 sees no end of a stream when nobody is there, and opening waits for nobody.
    const FileDescriptor in(::open(place.file("in").c_str(), O_RDWR | O_CLOEXEC));
    const FileDescriptor out(::open(place.file("out").c_str(), O_RDWR | O_CLOEXEC));
    if (!in || !out) return fail(Code::unavailable, fmt::format("open the guest's streams: {}", std::strerror(errno)));
    const auto log = place.file("runc.log");
    const int status = run({settings.runc, "--root", settings.runc_root(), "--log", log, "--log-format", "json", "run",
                            "--detach", "--bundle", place.file("."), place.name()},
                           in.get(), out.get());
    if (status == 0) return {};
    return fail(Code::unavailable, fmt::format("runc could not start the sandbox: {}", reason(log)));
}

Result<void> forget(const Settings& settings, const Place& place) {
    namespace fs = std::filesystem;
    const fs::path record(settings.runc_root() + "/" + place.name());
    std::error_code error;
    // runc mounts its own program there for a moment, and a file that is mounted on can't be removed.
    for (const auto& entry : fs::directory_iterator(record, error))
        ::umount2(entry.path().c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
    fs::remove_all(record, error);
    if (error) return fail(Code::unavailable, fmt::format("{}: {}", record.string(), error.message()));
    return {};
}

Result<std::string> runc_version(const Settings& settings) {
    auto said = runtime::docker::run_tool({settings.runc, "--version"}, "", 5s);
    if (!said) return fail(std::move(said.error()));
    constexpr std::string_view kBefore = "runc version ";
    const auto line = said->substr(0, said->find('\n'));
    return line.starts_with(kBefore) ? line.substr(kBefore.size()) : line;
}

}  // namespace sandbox::driver_runc
