#include "program.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <ranges>
#include <sys/stat.h>
#include <unistd.h>

namespace sandbox::guest {

namespace {

constexpr std::string_view kWorkspace = "/workspace";
constexpr std::string_view kDefaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string_view name_of(std::string_view entry) {
    return entry.substr(0, entry.find('='));
}

std::string quoted(std::string_view text) {
    constexpr std::size_t kShown = 100;
    if (text.size() <= kShown) return '"' + std::string(text) + '"';
    return '"' + std::string(text.substr(0, kShown)) + "…\"";
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

std::optional<Failed> enter_directory(const std::string& wanted) {
    if (wanted.empty()) {
        if (chdir(kWorkspace.data()) == 0 || chdir("/") == 0) return std::nullopt;
        return Failed{Failure::bad_directory, errno, "neither /workspace nor / can be entered"};
    }
    if (chdir(wanted.c_str()) == 0) return std::nullopt;
    const int error = errno;
    const auto why = error == ENOENT ? " does not exist" : std::string(" can't be entered: ") + std::strerror(error);
    return Failed{Failure::bad_directory, error, "working directory " + quoted(wanted) + why};
}

std::string reason(const std::string& path, int error) {
    struct stat info{};
    switch (error) {
        case EACCES:
            if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return "it is a directory";
            return "permission denied";
        case ENOENT:
            return "its interpreter or loader is missing";
        case ENOEXEC:
            return "it is no program for this machine (exec format error)";
        case E2BIG:
            return "argument list too long";
        default:
            return std::strerror(error);
    }
}

// One try at one path. Comes back with errno; ENOENT then means that the file itself is missing, since a missing
// interpreter is told apart by `found`.
struct Attempt {
    std::string path;
    int error = ENOENT;
    bool found = false;
};

Attempt attempt(std::string path, char* const* argv, char* const* env) {
    execve(path.c_str(), argv, env);
    const int error = errno;
    const bool missing = error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP ||
                         (error == ENOENT && access(path.c_str(), F_OK) != 0);
    return {.path = std::move(path), .error = error, .found = !missing};
}

// As a shell looks: the first that can be run; else, of those that are there, the first one's reason.
Attempt search(const std::string& program, std::string_view path, char* const* argv, char* const* env) {
    Attempt best;
    for (const auto part : std::views::split(path, ':')) {
        const std::string_view folder(part.begin(), part.end());
        auto tried = attempt((folder.empty() ? "." : std::string(folder)) + '/' + program, argv, env);
        const bool look_on = !tried.found || tried.error == EACCES || tried.error == ENOENT;
        if (!best.found && tried.found) best = std::move(tried);
        if (!look_on) break;
    }
    return best;
}

void make_directories(std::string path, mode_t mode) {
    for (auto at = path.find('/', kWorkspace.size() + 1); at != std::string::npos; at = path.find('/', at + 1)) {
        path[at] = '\0';
        mkdir(path.c_str(), 0755);
        path[at] = '/';
    }
    mkdir(path.c_str(), mode);
}

bool below_workspace(std::string_view path) {
    if (!path.starts_with("/workspace/")) return false;
    return std::ranges::none_of(std::views::split(path, '/'),
                                [](auto part) { return std::string_view(part.begin(), part.end()) == ".."; });
}

}  // namespace

Environment current_environment() {
    Environment env;
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) env.emplace_back(*entry);
    return env;
}

Environment merge(const Environment& base, const Environment& changes) {
    Environment merged;
    merged.reserve(base.size() + changes.size());
    for (const auto& entry : base)
        if (std::ranges::find(changes, name_of(entry), [](const auto& other) { return name_of(other); }) ==
            changes.end())
            merged.push_back(entry);
    merged.insert(merged.end(), changes.begin(), changes.end());
    return merged;
}

std::string_view value_of(const Environment& env, std::string_view name) {
    for (const std::string_view entry : env)
        if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) return entry.substr(name.size() + 1);
    return {};
}

void make_home_directories(const Environment& env) {
    constexpr std::array<std::string_view, 6> kNames{"HOME",          "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
                                                     "XDG_DATA_HOME", "XDG_STATE_HOME",  "XDG_RUNTIME_DIR"};
    for (const auto name : kNames) {
        const auto path = value_of(env, name);
        if (below_workspace(path)) make_directories(std::string(path), name == "XDG_RUNTIME_DIR" ? 0700 : 0755);
    }
}

Program::Program(const Start& start, const Environment& sandbox_env)
    : start_(start), env_(merge(sandbox_env, start.env)), argv_(pointers_to(start.argv)), envp_(pointers_to(env_)) {}

Failed Program::run() const {
    make_home_directories(env_);
    if (auto failed = enter_directory(start_.cwd)) return *failed;

    const auto& program = start_.argv.front();
    const bool by_path = program.contains('/');
    auto path = value_of(env_, "PATH");
    if (path.empty()) path = kDefaultPath;
    const auto last = program.empty() ? Attempt{}
                      : by_path       ? attempt(program, argv_.data(), envp_.data())
                                      : search(program, path, argv_.data(), envp_.data());
    if (!last.found)
        return {.kind = Failure::not_found,
                .error = last.error,
                .what = "program " + quoted(program) + (by_path ? " was not found" : " was not found in PATH")};
    if (last.error == EAGAIN)
        return {.kind = Failure::out_of_processes,
                .error = last.error,
                .what = "program " + quoted(program) + " can't be run: out of processes"};
    return {.kind = Failure::cannot_run,
            .error = last.error,
            .what = "program " + quoted(program) + " can't be run: " + reason(last.path, last.error)};
}

}  // namespace sandbox::guest
