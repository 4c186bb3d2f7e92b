#include "docker/container_policy.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sandbox::runtime::docker {
namespace {

using nlohmann::json;

constexpr const char* kId = "019f2b7c-1111-7abc-8def-0123456789ab";
constexpr const char* kNode = "019f2b7c-2222-7abc-8def-0123456789ab";

domain::SandboxSpec spec() {
    domain::SandboxSpec spec;
    spec.tenant = "acme";
    spec.image = "python:3.12";
    spec.resources = {.cpu_millis = 1500, .memory_mib = 1024, .disk_mib = 2048, .pids = 100};
    return spec;
}

ContainerPlace place() {
    ContainerPlace place;
    place.id = *domain::SandboxId::parse(kId);
    place.node = *domain::NodeId::parse(kNode);
    place.guest_volume = "guest-volume";
    place.workspace_volume = "workspace-volume";
    place.host_cpus = 8;
    return place;
}

json host(const domain::SandboxSpec& spec, const ContainerPlace& place) {
    return container_request(spec, place).at("HostConfig");
}

bool has_env(const json& request, const std::string& entry) {
    const auto& env = request.at("Env");
    return std::find(env.begin(), env.end(), json(entry)) != env.end();
}

// The walls: a read-only root, no capability, no new privilege, and none of the doors that an engine has.
TEST(ContainerPolicy, gives_no_privilege) {
    auto given = host(spec(), place());
    EXPECT_EQ(given.at("ReadonlyRootfs"), true);
    EXPECT_EQ(given.at("Privileged"), false);
    EXPECT_EQ(given.at("CapDrop"), json::array({"ALL"}));
    EXPECT_EQ(given.at("SecurityOpt"), json::array({"no-new-privileges"}));
    EXPECT_EQ(given.at("IpcMode"), "private");
    for (const char* door : {"Binds", "Devices", "DeviceRequests", "DeviceCgroupRules", "CapAdd", "PidMode", "UTSMode",
                             "UsernsMode", "VolumesFrom", "PortBindings", "PublishAllPorts", "GroupAdd", "Sysctls",
                             "CgroupParent", "ExtraHosts", "Links", "OomKillDisable", "OomScoreAdj"})
        EXPECT_FALSE(given.contains(door)) << door;
}

// Whatever a spec says, in its signals as well, the walls are the same.
TEST(ContainerPolicy, takes_no_privilege_from_a_spec) {
    auto greedy = spec();
    greedy.signals = {.untrusted_repository = true,
                      .executes_generated_code = true,
                      .needs_secrets = true,
                      .host_mounts = true,
                      .privileged = true};
    greedy.labels = {{"sandbox.dev/id", "another"}, {"privileged", "true"}};
    EXPECT_EQ(container_request(greedy, place()), container_request(spec(), place()));
}

TEST(ContainerPolicy, sets_the_limits) {
    auto given = host(spec(), place());
    EXPECT_EQ(given.at("NanoCpus"), 1'500'000'000);
    EXPECT_EQ(given.at("Memory"), 1024LL * 1024 * 1024);
    EXPECT_EQ(given.at("MemorySwap"), given.at("Memory"));
    EXPECT_EQ(given.at("PidsLimit"), 100 + kGuestPids);
    EXPECT_EQ(given.at("Ulimits"), json::array({{{"Name", "core"}, {"Soft", 0}, {"Hard", 0}}}));
    EXPECT_EQ(given.at("ShmSize"), 64 * 1024 * 1024);
}

// The engine refuses a quota of more cores than there are, or of less than a hundredth of one.
TEST(ContainerPolicy, keeps_the_cpu_quota_within_what_the_engine_takes) {
    auto wish = spec();
    auto two_cores = place();
    two_cores.host_cpus = 2;
    wish.resources.cpu_millis = 4000;
    EXPECT_EQ(host(wish, two_cores).at("NanoCpus"), 2'000'000'000);
    wish.resources.cpu_millis = 1;
    EXPECT_EQ(host(wish, two_cores).at("NanoCpus"), 10'000'000);
    auto unknown = place();
    unknown.host_cpus = 0;
    wish.resources.cpu_millis = 4000;
    EXPECT_EQ(host(wish, unknown).at("NanoCpus"), 4'000'000'000);
}

TEST(ContainerPolicy, mounts_the_workspace_and_the_guest_and_nothing_else) {
    EXPECT_EQ(host(spec(), place()).at("Mounts"), json::parse(R"([
        {"Type": "volume", "Source": "workspace-volume", "Target": "/workspace", "VolumeOptions": {"NoCopy": true}},
        {"Type": "volume", "Source": "guest-volume", "Target": "/.sandbox", "ReadOnly": true,
         "VolumeOptions": {"NoCopy": true}}])"));
}

// /tmp has a quarter of the memory and runs programs; /run is small.
TEST(ContainerPolicy, makes_scratch_space_in_memory) {
    EXPECT_EQ(host(spec(), place()).at("Tmpfs"), json({{"/tmp", "rw,exec,nosuid,nodev,mode=1777,size=256m"},
                                                       {"/run", "rw,noexec,nosuid,nodev,mode=1777,size=16m"}}));
    auto small = spec();
    small.resources.memory_mib = 64;
    EXPECT_EQ(host(small, place()).at("Tmpfs").at("/tmp"), "rw,exec,nosuid,nodev,mode=1777,size=64m");
}

// A volume that an image declares would be writable space on the host's disk without any limit.
TEST(ContainerPolicy, puts_an_images_own_volumes_into_memory) {
    auto declared = place();
    declared.image_volumes = {"/data",     "/tmp",        "/workspace", "/workspace/cache",
                              "/.sandbox", "/.sandbox/x", "/.sandboxed"};
    auto tmpfs = host(spec(), declared).at("Tmpfs");
    EXPECT_EQ(tmpfs.at("/data"), "rw,exec,nosuid,nodev,mode=1777,size=256m");
    EXPECT_TRUE(tmpfs.contains("/workspace/cache"));
    EXPECT_TRUE(tmpfs.contains("/.sandboxed"));
    EXPECT_FALSE(tmpfs.contains("/workspace"));
    EXPECT_FALSE(tmpfs.contains("/.sandbox"));
    EXPECT_FALSE(tmpfs.contains("/.sandbox/x"));
}

// A user known by number owns what would be root's; one known by name only is root's guest there.
TEST(ContainerPolicy, gives_scratch_space_to_the_images_user) {
    auto of_user = [](const char* user) {
        auto with_user = place();
        with_user.image_user = user;
        return host(spec(), with_user).at("Tmpfs").at("/run").get<std::string>();
    };
    EXPECT_TRUE(of_user("10001:10002").ends_with(",uid=10001,gid=10002"));
    EXPECT_TRUE(of_user("10001").ends_with(",uid=10001"));
    EXPECT_TRUE(of_user("10001:staff").ends_with(",uid=10001"));
    for (const char* user : {"", "app", "app:1", "1,size=9g", "-1", "99999999999", "1 2"})
        EXPECT_TRUE(of_user(user).ends_with("size=16m")) << user;
}

TEST(ContainerPolicy, joins_the_network_it_is_told) {
    EXPECT_EQ(host(spec(), place()).at("NetworkMode"), "none");
    auto open = place();
    open.network = "4f2a";
    EXPECT_EQ(host(spec(), open).at("NetworkMode"), "4f2a");
    EXPECT_FALSE(container_request(spec(), open).contains("NetworkingConfig"));
}

// Values pass as they are; SANDBOX_ID can't be forged, HOME can be chosen.
TEST(ContainerPolicy, passes_the_environment) {
    auto wish = spec();
    wish.env = {{"TWO", "a\nb=c"}, {"SANDBOX_ID", "forged"}};
    auto request = container_request(wish, place());
    EXPECT_TRUE(has_env(request, "TWO=a\nb=c"));
    EXPECT_TRUE(has_env(request, std::string("SANDBOX_ID=") + kId));
    EXPECT_TRUE(has_env(request, "HOME=/workspace"));
    EXPECT_EQ(request.at("Env").size(), 3U);
    wish.env["HOME"] = "/workspace/home";
    EXPECT_TRUE(has_env(container_request(wish, place()), "HOME=/workspace/home"));
}

TEST(ContainerPolicy, names_and_labels_it) {
    auto request = container_request(spec(), place());
    EXPECT_EQ(request.at("Hostname"), "0123456789ab");
    EXPECT_EQ(request.at("Image"), "python:3.12");
    EXPECT_EQ(request.at("WorkingDir"), "/workspace");
    EXPECT_EQ(request.at("Labels"), json({{"sandbox.dev/id", kId},
                                          {"sandbox.dev/tenant", "acme"},
                                          {"sandbox.dev/node", kNode},
                                          {"sandbox.dev/resources", resources_text(spec().resources)}}));
}

// A worker that starts again reads from the label what it has given.
TEST(ContainerPolicy, tells_the_resources_in_a_label) {
    EXPECT_EQ(parse_resources(resources_text(spec().resources)), spec().resources);
    for (const char* text : {"", "{}", "[1,2,3,4]", R"({"cpu_millis":"x","memory_mib":1,"disk_mib":1,"pids":1})"})
        EXPECT_EQ(parse_resources(text), std::nullopt) << text;
}

// The guest is PID 1 whatever the image, the engine's settings or the spec's command say; its link stays open.
TEST(ContainerPolicy, runs_the_guest_on_open_standard_streams) {
    auto wish = spec();
    wish.command = {"server", "--port=1"};
    auto request = container_request(wish, place());
    EXPECT_EQ(request.at("Entrypoint"), json::array({"/.sandbox/sandbox-guest"}));
    EXPECT_EQ(request.at("Cmd"), json::array());
    EXPECT_EQ(request.at("Tty"), false);
    EXPECT_EQ(request.at("OpenStdin"), true);
    EXPECT_EQ(request.at("StdinOnce"), false);
    EXPECT_FALSE(request.contains("User"));
    EXPECT_EQ(request.at("HostConfig").at("Init"), false);
    EXPECT_EQ(request.at("Healthcheck").at("Test"), json::array({"NONE"}));
}

// A chatty process fills no disk, and nothing is started again behind our back.
TEST(ContainerPolicy, keeps_no_log_and_never_restarts) {
    auto given = host(spec(), place());
    EXPECT_EQ(given.at("LogConfig"), json({{"Type", "none"}}));
    EXPECT_EQ(given.at("RestartPolicy").at("Name"), "no");
    EXPECT_FALSE(given.contains("AutoRemove"));
}

TEST(ContainerPolicy, uses_the_oci_runtime_of_the_worker) {
    EXPECT_FALSE(host(spec(), place()).contains("Runtime"));
    auto strong = place();
    strong.oci_runtime = "runsc";
    EXPECT_EQ(host(spec(), strong).at("Runtime"), "runsc");
}

}  // namespace
}  // namespace sandbox::runtime::docker
