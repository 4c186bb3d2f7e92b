#include "bundle.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "docker/container_policy.hpp"
#include "docker/names.hpp"

namespace sandbox::driver_runc {

namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kPeriodMicros = 100'000;
constexpr std::int64_t kLeastQuotaMicros = 1'000;
constexpr std::int64_t kLeastScratchMib = 64;

json mount(std::string_view destination, std::string_view type, std::string_view source, json options) {
    return {{"destination", destination}, {"type", type}, {"source", source}, {"options", std::move(options)}};
}

json mounts(const Settings& settings, const domain::SandboxSpec& spec, const std::string& disk) {
    const auto scratch = fmt::format("size={}m", std::max(spec.resources.memory_mib / 4, kLeastScratchMib));
    return json::array({
        mount("/proc", "proc", "proc", {"nosuid", "noexec", "nodev"}),
        mount("/dev", "tmpfs", "tmpfs", {"nosuid", "noexec", "mode=755", "size=64k"}),
        mount("/dev/pts", "devpts", "devpts", {"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}),
        mount("/dev/shm", "tmpfs", "shm", {"nosuid", "noexec", "nodev", "mode=1777", "size=64m"}),
        mount("/sys", "sysfs", "sysfs", {"nosuid", "noexec", "nodev", "ro"}),
        // The guest sees there that memory or processes ran out.
        mount("/sys/fs/cgroup", "cgroup", "cgroup", {"nosuid", "noexec", "nodev", "relatime", "ro"}),
        mount("/tmp", "tmpfs", "tmpfs", {"nosuid", "nodev", "mode=1777", scratch}),
        mount("/run", "tmpfs", "tmpfs", {"nosuid", "nodev", "noexec", "mode=1777", "size=16m"}),
        // Mounted inside only: it goes with the sandbox's last process, and the loop device with it. Nothing of it is
        // read after a crash of the host, so no fsync inside, and no unmounting, waits for the host's own disk.
        mount(runtime::docker::kWorkspace, "ext4", disk, {"nosuid", "nodev", "noatime", "noinit_itable", "barrier=0"}),
        mount(runtime::docker::kGuestProgram, "bind", settings.guest, {"bind", "ro", "nosuid", "nodev"}),
    });
}

/// What nobody in a sandbox has a use for and holes were found in. Everything else is allowed: this list is weaker than
/// the Docker engine's, which allows what it names.
json seccomp() {
    const json denied = {"acct",
                         "add_key",
                         "bpf",
                         "clock_adjtime",
                         "clock_settime",
                         "delete_module",
                         "fanotify_init",
                         "finit_module",
                         "fsconfig",
                         "fsmount",
                         "fsopen",
                         "fspick",
                         "init_module",
                         "io_uring_enter",
                         "io_uring_register",
                         "io_uring_setup",
                         "ioperm",
                         "iopl",
                         "kexec_file_load",
                         "kexec_load",
                         "keyctl",
                         "lookup_dcookie",
                         "mount",
                         "mount_setattr",
                         "move_mount",
                         "move_pages",
                         "name_to_handle_at",
                         "nfsservctl",
                         "open_by_handle_at",
                         "open_tree",
                         "perf_event_open",
                         "personality",
                         "pivot_root",
                         "process_vm_readv",
                         "process_vm_writev",
                         "quotactl",
                         "reboot",
                         "request_key",
                         "setns",
                         "settimeofday",
                         "swapoff",
                         "swapon",
                         "syslog",
                         "umount",
                         "umount2",
                         "unshare",
                         "userfaultfd",
                         "vhangup"};
    const json new_user = {
        {{"index", 0}, {"value", CLONE_NEWUSER}, {"valueTwo", CLONE_NEWUSER}, {"op", "SCMP_CMP_MASKED_EQ"}}};
    return {{"defaultAction", "SCMP_ACT_ALLOW"},
            {"syscalls",
             json::array({{{"names", denied}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", EPERM}},
                          {{"names", {"clone"}}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", EPERM}, {"args", new_user}},
                          // Its flags can't be looked at; libraries then use clone.
                          {{"names", {"clone3"}}, {"action", "SCMP_ACT_ERRNO"}, {"errnoRet", ENOSYS}}})}};
}

json resources(const domain::Resources& resources) {
    const auto memory = resources.memory_mib * kMiB;
    json limits = {{"memory", {{"limit", memory}}},
                   {"cpu",
                    {{"period", kPeriodMicros},
                     {"quota", std::max(resources.cpu_millis * kPeriodMicros / 1000, kLeastQuotaMicros)}}},
                   {"pids", {{"limit", resources.pids + runtime::docker::kGuestPids}}},
                   {"devices", json::array({{{"allow", false}, {"access", "rwm"}}})}};
    // Memory and swap together: no swap. Kernels without swap accounting have no such limit.
    const bool is_version_2 = ::access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
    const bool counts_swap =
        ::access(is_version_2 ? "/proc/swaps" : "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes", F_OK) == 0;
    if (counts_swap) limits["memory"]["swap"] = memory;
    return limits;
}

json process(const Place& place, const domain::SandboxSpec& spec, const Image& image) {
    auto variables = runtime::docker::sandbox_env(spec, place.id());
    for (const auto& [name, value] : image.env)
        if (name != "HOME") variables.try_emplace(name, value);
    variables.try_emplace("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
    json env = json::array();
    for (const auto& [name, value] : variables) env.push_back(name + "=" + value);
    const auto none = json::array();
    return {{"terminal", false},
            {"user", {{"uid", image.uid}, {"gid", image.gid}}},
            {"args", {runtime::docker::kGuestProgram}},
            {"env", std::move(env)},
            {"cwd", runtime::docker::kWorkspace},
            {"capabilities",
             {{"bounding", none}, {"effective", none}, {"permitted", none}, {"inheritable", none}, {"ambient", none}}},
            {"rlimits", json::array({{{"type", "RLIMIT_CORE"}, {"hard", 0}, {"soft", 0}}})},
            {"noNewPrivileges", true}};
}

}  // namespace

json bundle_config(const Settings& settings, const Place& place, const domain::SandboxSpec& spec, const Image& image,
                   const std::string& disk) {
    const auto text = place.id().text();
    json namespaces = json::array();
    for (const auto* kind : {"pid", "network", "ipc", "uts", "mount", "cgroup"}) namespaces.push_back({{"type", kind}});
    return {{"ociVersion", "1.0.2"},
            {"root", {{"path", image.rootfs}, {"readonly", true}}},
            {"hostname", text.substr(text.size() - 12)},
            {"process", process(place, spec, image)},
            {"mounts", mounts(settings, spec, disk)},
            {"linux",
             {{"cgroupsPath", "/" + place.name()},
              {"namespaces", std::move(namespaces)},
              {"resources", resources(spec.resources)},
              {"seccomp", seccomp()},
              {"maskedPaths",
               {"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
                "/proc/timer_stats", "/proc/sched_debug", "/sys/firmware", "/proc/scsi"}},
              {"readonlyPaths", {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}}}}};
}

}  // namespace sandbox::driver_runc
