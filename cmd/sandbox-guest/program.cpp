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

// What became of the paths. Of those where something is, the first one's reason; without any, the last one's.
struct Attempt {
    const std::string* path = nullptr;
    int error = ENOENT;
    bool found = false;  // a missing interpreter is told apart from a missing file
};

// As a shell looks: the first that can be run.
Attempt try_all(const std::vector<std::string>& paths, char* const* argv, char* const* env) {
    Attempt best;
    for (const auto& path : paths) {
        execve(path.c_str(), argv, env);
        const int error = errno;
        const bool missing = error == ENOTDIR || error == ENAMETOOLONG || error == ELOOP ||
                             (error == ENOENT && access(path.c_str(), F_OK) != 0);
        if (!best.found) best = {.path = &path, .error = error, .found = !missing};
        if (!missing && error != EACCES && error != ENOENT) break;
    }
    return best;
}

std::vector<std::string> paths_of(const std::string& program, const Environment& env) {
    if (program.empty()) return {};
    if (program.contains('/')) return {program};
    auto path = value_of(env, "PATH");
    if (path.empty()) path = kDefaultPath;
    std::vector<std::string> paths;
    for (const auto part : std::views::split(path, ':')) {
        const std::string_view folder(part.begin(), part.end());
        paths.push_back((folder.empty() ? "." : std::string(folder)) + '/' + program);
    }
    return paths;
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

std::vector<Directory> home_directories(const Environment& env) {
    constexpr std::array<std::string_view, 6> kNames{"HOME",          "XDG_CONFIG_HOME", "XDG_CACHE_HOME",
                                                     "XDG_DATA_HOME", "XDG_STATE_HOME",  "XDG_RUNTIME_DIR"};
    std::vector<Directory> directories;
    for (const auto name : kNames) {
        const auto path = value_of(env, name);
        if (!below_workspace(path)) continue;
        for (auto at = path.find('/', kWorkspace.size() + 1); at != std::string_view::npos; at = path.find('/', at + 1))
            directories.push_back({.path = std::string(path.substr(0, at)), .mode = 0755});
        directories.push_back({.path = std::string(path), .mode = name == "XDG_RUNTIME_DIR" ? 0700U : 0755U});
    }
    return directories;
}

Program::Program(const Start& start, const Environment& sandbox_env)
    : start_(start),
      env_(merge(sandbox_env, start.env)),
      directories_(home_directories(env_)),
      paths_(paths_of(start.argv.front(), env_)),
      argv_(pointers_to(start.argv)),
      envp_(pointers_to(env_)) {}

Failed Program::run() const {
    for (const auto& directory : directories_) mkdir(directory.path.c_str(), directory.mode);
    if (auto failed = enter_directory(start_.cwd)) return *failed;

    const auto last = try_all(paths_, argv_.data(), envp_.data());
    const auto& program = start_.argv.front();
    const bool by_path = program.contains('/');
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
            .what = "program " + quoted(program) + " can't be run: " + reason(*last.path, last.error)};
}

}  // namespace sandbox::guest
