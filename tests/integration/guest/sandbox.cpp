#include "sandbox.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <grp.h>
#include <iterator>
#include <linux/capability.h>
#include <sched.h>
#include <set>
#include <sstream>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace sandbox::guest::test {

namespace fs = std::filesystem;

namespace {

[[noreturn]] void give_up(const std::string& what) {
    std::perror(("test sandbox: " + what).c_str());
    std::_Exit(99);
}

void need(bool ok, const std::string& what) {
    if (!ok) give_up(what);
}

void write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.close();
    if (!file) throw std::runtime_error("can't write " + path.string());
}

// The supervisor that waits for the next exec.
constexpr auto kSpareName = "sandbox-spare\n";

// Empty when it is gone, as files of processes are at any time.
std::string read_file(const fs::path& path) {
    std::string text;
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    char buffer[4096];
    for (ssize_t count = 0; fd >= 0 && (count = read(fd, buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(count));
    close(fd);
    return text;
}

std::vector<pid_t> children_and_below(pid_t root) {
    std::vector<std::pair<pid_t, pid_t>> parents;
    for (const auto& entry : fs::directory_iterator("/proc")) {
        const auto name = entry.path().filename().string();
        if (name.find_first_not_of("0123456789") != std::string::npos) continue;
        const auto stat = read_file(entry.path() / "stat");
        const auto behind = stat.rfind(')');
        if (behind == std::string::npos) continue;
        parents.emplace_back(std::stoi(stat.substr(behind + 4)), std::stoi(name));
    }
    std::vector<pid_t> found{root};
    for (std::size_t i = 0; i < found.size(); ++i)
        for (const auto& [parent, pid] : parents)
            if (parent == found[i]) found.push_back(pid);
    return found;
}

void mount_tmpfs(const fs::path& at, const char* options) {
    fs::create_directories(at);
    need(mount("tmpfs", at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options) == 0, "mount " + at.string());
}

void bind(const fs::path& from, const fs::path& to) {
    if (fs::is_directory(from)) {
        fs::create_directories(to);
    } else {
        fs::create_directories(to.parent_path());
        std::ofstream(to).flush();
    }
    need(mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0, "bind " + from.string());
}

void drop_privileges(uid_t uid) {
    for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
        need(prctl(PR_CAPBSET_DROP, capability) == 0, "drop a capability");
    need(setgroups(0, nullptr) == 0 && setresgid(uid, uid, uid) == 0 && setresuid(uid, uid, uid) == 0, "change user");
    __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    __user_cap_data_struct none[2] = {};
    need(syscall(SYS_capset, &header, &none) == 0, "drop capabilities");
    need(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
}

}  // namespace

Sandbox::Sandbox(SandboxOptions options) {
    if (geteuid() != 0) throw std::runtime_error("this test makes namespaces and control groups: run it as root");
    std::string pattern = fs::temp_directory_path() / "sandbox-guest-test-XXXXXX";
    root_ = mkdtemp(pattern.data());
    make_cgroup(options);
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    const auto flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD;
    pid_ = static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, nullptr));
    if (pid_ < 0) throw std::runtime_error("clone");
    if (pid_ == 0) become_guest(options, ends[1]);
    close(ends[1]);
    stream_ = ends[0];
}

long Sandbox::refused_forks() const {
    for (const auto& cgroup : cgroups_) {
        std::ifstream events(cgroup / "pids.events");
        std::string word;
        long count = 0;
        if (events >> word >> count && word == "max") return count;
    }
    return 0;
}

void Sandbox::make_cgroup(const SandboxOptions& options) {
    const fs::path base = "/sys/fs/cgroup";
    const auto name = root_.filename();
    if (fs::exists(base / "cgroup.controllers")) {
        if (!options.pids && !options.memory_bytes) return;
        cgroups_.push_back(base / name);
        fs::create_directory(cgroups_.back());
        if (options.pids) write_file(base / name / "pids.max", std::to_string(*options.pids));
        if (options.memory_bytes) write_file(base / name / "memory.max", std::to_string(*options.memory_bytes));
        return;
    }
    const auto limit = [&](const char* controller, const char* file, std::int64_t value) {
        cgroups_.push_back(base / controller / name);
        fs::create_directory(cgroups_.back());
        write_file(cgroups_.back() / file, std::to_string(value));
    };
    if (options.pids) limit("pids", "pids.max", *options.pids);
    if (options.memory_bytes) limit("memory", "memory.limit_in_bytes", *options.memory_bytes);
}

// In the new namespaces: lays out the root, gives up what Docker would take, and becomes the guest.
void Sandbox::become_guest(const SandboxOptions& options, int theirs) const {
    for (const auto& cgroup : cgroups_) write_file(cgroup / "cgroup.procs", "0");
    need(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "private mounts");
    mount_tmpfs(root_, "mode=755");
    if (options.files) {
        for (const auto& file : *options.files) bind(file, root_ / file.filename());
    } else {
        for (const char* folder : {"bin", "sbin", "lib", "lib64", "usr", "etc"})
            if (fs::exists(fs::path("/") / folder)) bind(fs::path("/") / folder, root_ / folder);
        mount_tmpfs(root_ / "tmp", "mode=1777");
    }
    bind("/dev", root_ / "dev");
    const char* other_build = std::getenv("SANDBOX_TEST_GUEST");
    bind(other_build != nullptr ? other_build : SANDBOX_GUEST, root_ / ".sandbox" / "sandbox-guest");
    mount_tmpfs(root_ / "workspace", "mode=1777");
    for (const auto& cgroup : cgroups_) {
        const bool version_2 = cgroup.parent_path() == "/sys/fs/cgroup";
        bind(cgroup, version_2 ? root_ / "sys/fs/cgroup" : root_ / cgroup.parent_path().relative_path());
    }
    fs::create_directories(root_ / "proc");
    need(mount("proc", (root_ / "proc").c_str(), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0, "proc");
    need(chroot(root_.c_str()) == 0 && chdir("/") == 0, "chroot");
    drop_privileges(options.uid);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(theirs, 0);
    dup2(theirs, 1);
    std::vector<char*> env;
    for (const auto& entry : options.env) env.push_back(const_cast<char*>(entry.c_str()));
    env.push_back(nullptr);
    char name[] = "sandbox-guest";
    char* argv[] = {name, nullptr};
    execve("/.sandbox/sandbox-guest", argv, env.data());
    give_up("exec the guest");
}

Sandbox::~Sandbox() {
    if (stream_ >= 0) close(stream_);
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    std::error_code ignored;
    for (const auto& cgroup : cgroups_)
        for (int tries = 0; tries < 100 && rmdir(cgroup.c_str()) != 0; ++tries)
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
    fs::remove(root_, ignored);
}

int Sandbox::wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
}

std::vector<std::string> Sandbox::processes() const {
    std::vector<std::string> lines;
    for (const auto pid : children_and_below(pid_)) {
        const auto process = fs::path("/proc") / std::to_string(pid);
        if (read_file(process / "comm") == kSpareName) continue;
        auto line = read_file(process / "cmdline");
        std::ranges::replace(line, '\0', ' ');
        lines.push_back(line.empty() ? "(zombie)" : line);
    }
    return lines;
}

int Sandbox::spare() const {
    int found = 0;
    for (const auto pid : children_and_below(pid_)) {
        if (read_file(fs::path("/proc") / std::to_string(pid) / "comm") != kSpareName) continue;
        if (found != 0) return 0;
        found = pid;
    }
    return found;
}

std::vector<std::string> Sandbox::commands() const {
    auto lines = processes();
    std::erase(lines, "sandbox-guest ");
    return lines;
}

std::size_t Sandbox::open_files() const {
    const auto fds = fs::directory_iterator(fs::path("/proc") / std::to_string(pid_) / "fd");
    return static_cast<std::size_t>(std::distance(fs::begin(fds), fs::end(fds)));
}

std::size_t Sandbox::memory_kib() const {
    std::istringstream status(read_file(fs::path("/proc") / std::to_string(pid_) / "status"));
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("RssAnon:")) return std::stoul(line.substr(8));
    return 0;
}

double Sandbox::cpu_seconds() const {
    const auto stat = read_file(fs::path("/proc") / std::to_string(pid_) / "stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    const std::vector<std::string> all{std::istream_iterator<std::string>(fields), {}};
    return static_cast<double>(std::stol(all[11]) + std::stol(all[12])) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

fs::path Sandbox::inside(const std::string& path) const {
    return fs::path("/proc") / std::to_string(pid_) / "root" / fs::path(path).relative_path();
}

}  // namespace sandbox::guest::test
