#include "docker/container_policy.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "docker/names.hpp"

namespace sandbox::runtime::docker {

namespace {

using nlohmann::json;

constexpr std::int64_t kMiB = 1024 * 1024;
constexpr std::int64_t kRunMib = 16;
constexpr std::int64_t kSharedMemoryMib = 64;

/// The engine takes 0.01 cores at least, and no more than there are.
std::int64_t nano_cpus(std::int64_t cpu_millis, std::int64_t host_cpus) {
    auto millis = std::max<std::int64_t>(cpu_millis, 10);
    if (host_cpus > 0) millis = std::min(millis, host_cpus * 1000);
    return millis * 1'000'000;
}

/// A quarter of the memory, at least 64 MiB.
std::int64_t scratch_mib(std::int64_t memory_mib) {
    return std::max<std::int64_t>(memory_mib / 4, 64);
}

bool is_within(std::string_view path, std::string_view directory) {
    return path == directory ||
           (path.starts_with(directory) && path.size() > directory.size() && path[directory.size()] == '/');
}

/// The owner of what would belong to root otherwise, where the image names its user by number: the OCI runtime gives a
/// tmpfs the mode of the image's directory below it, which is seldom open to everybody.
std::string tmpfs_owner(std::string_view image_user) {
    auto is_number = [](std::string_view text) {
        constexpr std::size_t kMostDigits = 10;
        return !text.empty() && text.size() <= kMostDigits && text.find_first_not_of("0123456789") == text.npos;
    };
    auto colon = image_user.find(':');
    auto uid = image_user.substr(0, colon);
    if (!is_number(uid)) return "";
    auto gid = colon == image_user.npos ? "" : image_user.substr(colon + 1);
    return is_number(gid) ? fmt::format(",uid={},gid={}", uid, gid) : fmt::format(",uid={}", uid);
}

/// Writable places in memory. An image's own volumes are among them: the engine would give each an anonymous volume
/// without any limit on the host's disk.
json tmpfs_mounts(const domain::SandboxSpec& spec, const ContainerPlace& place) {
    auto scratch = scratch_mib(spec.resources.memory_mib);
    auto owner = tmpfs_owner(place.image_user);
    json mounts = {{"/tmp", fmt::format("rw,exec,nosuid,nodev,mode=1777,size={}m", scratch)},
                   {"/run", fmt::format("rw,noexec,nosuid,nodev,mode=1777,size={}m{}", kRunMib, owner)}};
    for (const auto& path : place.image_volumes) {
        bool covered = path == kWorkspace || is_within(path, kGuestDirectory) || mounts.contains(path);
        if (!covered) mounts[path] = fmt::format("rw,exec,nosuid,nodev,mode=1777,size={}m{}", scratch, owner);
    }
    return mounts;
}

json volume_mounts(const ContainerPlace& place) {
    // NoCopy: otherwise the engine gives the workspace the owner and mode of the image's directory of that name.
    return json::array({{{"Type", "volume"},
                         {"Source", place.workspace_volume},
                         {"Target", kWorkspace},
                         {"VolumeOptions", {{"NoCopy", true}}}},
                        {{"Type", "volume"},
                         {"Source", place.guest_volume},
                         {"Target", kGuestDirectory},
                         {"ReadOnly", true},
                         {"VolumeOptions", {{"NoCopy", true}}}}});
}

json host_config(const domain::SandboxSpec& spec, const ContainerPlace& place) {
    const auto memory = spec.resources.memory_mib * kMiB;
    json host = {
        {"ReadonlyRootfs", true},
        {"Privileged", false},
        {"CapDrop", json::array({"ALL"})},
        {"SecurityOpt", json::array({"no-new-privileges"})},
        {"NanoCpus", nano_cpus(spec.resources.cpu_millis, place.host_cpus)},
        {"Memory", memory},
        {"MemorySwap", memory},  // memory and swap together: no swap
        {"PidsLimit", spec.resources.pids + kGuestPids},
        {"Ulimits", json::array({{{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}})},
        {"ShmSize", kSharedMemoryMib * kMiB},
        {"IpcMode", "private"},
        {"NetworkMode", place.network},
        {"Tmpfs", tmpfs_mounts(spec, place)},
        {"Mounts", volume_mounts(place)},
        {"LogConfig", {{"Type", "none"}}},
        {"RestartPolicy", {{"Name", "no"}}},
        {"Init", false},  // the guest is PID 1, also where the engine is set up to put an init before everything
    };
    if (place.oci_runtime) host["Runtime"] = *place.oci_runtime;
    return host;
}

}  // namespace

std::string resources_text(const domain::Resources& resources) {
    return dump_json(json(resources));
}

std::optional<domain::Resources> parse_resources(std::string_view text) {
    auto document = parse_json(text);
    if (!document) return std::nullopt;
    Problems problems;
    auto resources = domain::read_resources(*document, "", problems, UnknownFields::ignore);
    return problems.empty() ? std::optional(resources) : std::nullopt;
}

std::map<std::string, std::string> sandbox_labels(const domain::SandboxId& id, const std::string& tenant,
                                                  const domain::NodeId& node) {
    return {{std::string(kIdLabel), id.text()},
            {std::string(kTenantLabel), tenant},
            {std::string(kNodeLabel), node.text()}};
}

std::map<std::string, std::string> sandbox_env(const domain::SandboxSpec& spec, const domain::SandboxId& id) {
    auto env = spec.env;
    env["SANDBOX_ID"] = id.text();
    env.try_emplace("HOME", kWorkspace);
    return env;
}

json container_request(const domain::SandboxSpec& spec, const ContainerPlace& place) {
    json env = json::array();
    for (const auto& [name, value] : sandbox_env(spec, place.id)) env.push_back(name + "=" + value);
    const auto text = place.id.text();
    auto labels = sandbox_labels(place.id, spec.tenant, place.node);
    labels[std::string(kResourcesLabel)] = resources_text(spec.resources);
    return {
        {"Image", spec.image},
        {"Hostname", text.substr(text.size() - 12)},
        {"Entrypoint", json::array({kGuestProgram})},
        {"Cmd", json::array()},
        {"Env", std::move(env)},
        {"WorkingDir", kWorkspace},
        {"Labels", std::move(labels)},
        // The guest's link is the standard streams, which must stay open when nobody is attached.
        {"Tty", false},
        {"OpenStdin", true},
        {"StdinOnce", false},
        {"AttachStdin", true},
        {"AttachStdout", true},
        {"AttachStderr", true},
        // An image's own health check would start processes beside the guest, by a shell that may not be there.
        {"Healthcheck", {{"Test", json::array({"NONE"})}}},
        {"HostConfig", host_config(spec, place)},
    };
}

}  // namespace sandbox::runtime::docker
