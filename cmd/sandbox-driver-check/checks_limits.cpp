// That it isolates: each limit holds, and nobody else notices.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <unistd.h>

#include <fmt/format.h>

#include "checks.hpp"
#include "host_view.hpp"

namespace sandbox::driver_check {

namespace {

using namespace std::chrono_literals;

/// After a limit was hit, the sandbox goes on.
Task<void> expect_next_works(Kit& kit, domain::SandboxId id) {
    std::string wrong;
    for (int attempt = 0; attempt < 200; ++attempt) {
        const auto next = co_await kit.try_exec(id, command({"echo", "next"}));
        if (next && next->output.stdout_text == "next\n") co_return;
        wrong = next ? describe(*next) : next.error().message();
        co_await kit.pause(200ms);
    }
    throw Broken("the next command does not work: " + wrong);
}

Task<std::string> limits_memory(Kit& kit) {
    auto spec = kit.spec();
    spec.resources.memory_mib = 64;
    const auto id = co_await kit.create(std::move(spec));
    const auto filled = co_await kit.sh(id, "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c");
    expect(filled.output.stdout_text.find("200000000") == std::string::npos,
           "200 MB could be filled with memory_mib 64");
    co_await expect_next_works(kit, id);
    co_return filled.output.oom_killed ? "" : "oom_killed is not told";
}

Task<std::string> limits_processes(Kit& kit) {
    auto spec = kit.spec();
    spec.resources.pids = 32;
    const auto id = co_await kit.create(std::move(spec));
    const auto forked =
        co_await kit.sh(id, "i=0; while [ $i -lt 200 ]; do sleep 30 & i=$((i+1)); done 2>/dev/null; echo all of them");
    expect(forked.output.stdout_text.find("all of them") == std::string::npos,
           "200 processes could be made with pids 32");
    co_await expect_next_works(kit, id);
    co_return "";
}

Task<std::string> limits_disk(Kit& kit) {
    if (!kit.settings().limits_disks) throw NotOffered("disks are not limited on this host");
    const auto id = co_await kit.create();
    const auto filled = co_await kit.sh(id, "dd if=/dev/zero of=f bs=1M count=256");
    expect(filled.output.exit_code != 0, "256 MiB could be written with disk_mib 64");
    expect(filled.output.stderr_text.find("No space left") != std::string::npos, describe(filled));
    co_await kit.sh(id, "rm f");
    co_await expect_next_works(kit, id);
    co_return "";
}

/// User and system time of the children, the second line of `times`: "0m0.48s 0m0.01s".
double cpu_seconds_of(const runtime::ExecResult& times) {
    const auto& text = times.output.stdout_text;
    const auto line = text.find('\n');
    std::array<double, 4> parts{};
    expect(line != std::string::npos && std::sscanf(text.c_str() + line + 1, "%lfm%lfs %lfm%lfs", &parts[0], &parts[1],
                                                    &parts[2], &parts[3]) == 4,
           describe(times));
    return 60 * (parts[0] + parts[2]) + parts[1] + parts[3];
}

Task<std::string> limits_cpu(Kit& kit) {
    auto spec = kit.spec();
    spec.resources.cpu_millis = 250;
    const auto id = co_await kit.create(std::move(spec));
    // Several: beside others that want the processors, they still get more together than the limit allows.
    constexpr auto kLoops = "for i in 1 2 3 4 5 6 7 8; do (while :; do :; done) & all=\"$all $!\"; done; ";
    const auto spare = spare_cpu_seconds();
    const auto begun = Clock::now();
    const auto spent = co_await kit.sh(id, std::string(kLoops) + "sleep 2; kill $all; wait $all; times");
    const double took = std::chrono::duration<double>(Clock::now() - begun).count();
    const double used = cpu_seconds_of(spent);
    judge_cpu(used, took, spare_cpu_seconds() - spare);
    co_return fmt::format("{:.2f} s of CPU time in {:.1f} s with cpu_millis 250", used, took);
}

Task<std::string> denies_the_network(Kit& kit) {
    const auto id = co_await kit.create();
    const auto seen = co_await kit.sh(id, "echo $(grep : /proc/net/dev | cut -d : -f 1)");
    auto names = seen.output.stdout_text;
    std::erase(names, '\n');
    expect(names == "lo" || names.empty(), "with network deny there are the interfaces " + names);
    co_return names.empty() ? "no interface" : "only loopback";
}

/// As our command line begins.
std::string own_program() {
    std::ifstream file("/proc/self/cmdline");
    std::string name;
    std::getline(file, name, '\0');
    return name;
}

/// A file in the host's /tmp, gone with this.
class HostFile {
public:
    HostFile() {
        const int file = ::mkstemp(path_.data());
        expect(file >= 0, "no file can be made in /tmp");
        ::close(file);
    }
    ~HostFile() { ::unlink(path_.c_str()); }
    HostFile(const HostFile&) = delete;
    HostFile& operator=(const HostFile&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_ = "/tmp/sandbox-driver-check.XXXXXX";
};

Task<std::string> hides_the_host(Kit& kit) {
    const HostFile file;
    const auto id = co_await kit.create();
    const auto seen =
        co_await kit.sh(id, fmt::format("ls {}; tr '\\0' ' ' < /proc/{}/cmdline", file.path(), ::getpid()));
    expect(seen.output.stdout_text.find(file.path()) == std::string::npos, "the host's /tmp is there to read");
    expect(seen.output.stdout_text.find(own_program()) == std::string::npos, "the host's processes are there to see");
    co_return "";
}

constexpr std::array kChecks{
    Check{"limit-memory", true, "memory_mib holds, and the sandbox goes on", limits_memory},
    Check{"limit-pids", true, "pids holds, and the sandbox goes on", limits_processes},
    Check{"limit-disk", true, "disk_mib holds for /workspace", limits_disk},
    Check{"limit-cpu", true, "cpu_millis holds", limits_cpu},
    Check{"network-deny", true, "network deny leaves no interface but loopback", denies_the_network},
    Check{"host", true, "the host's files and processes are not there", hides_the_host},
};

}  // namespace

void judge_cpu(double used, double took, double spare) {
    constexpr double kMost = 0.6;  // processors; a quarter is right
    expect(used <= kMost * took,
           fmt::format("busy loops took {:.1f} s of CPU time in {:.1f} s with cpu_millis 250", used, took));
    // With as much to spare as makes it wrong, it was the limit that kept the loops from it.
    if (spare >= kMost * took) return;
    throw NotJudged(fmt::format(
        "could not be judged: the machine is busy (it had {:.1f} s of CPU time to spare in {:.1f} s)", spare, took));
}

std::span<const Check> limit_checks() {
    return kChecks;
}

}  // namespace sandbox::driver_check
