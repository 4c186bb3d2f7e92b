// A worker with the reference driver that is killed at any moment under load loses nothing, doubles nothing and leaves
// nothing. SANDBOX_TEST_KILLS=50 makes the long series of it.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "workers.hpp"

namespace sandbox::test {
namespace {

namespace fs = std::filesystem;
using testing::IsEmpty;

/// Files of sandboxes that the driver still has: empty disk images to copy, and locks, stay.
std::vector<std::string> held(const WorkerProcess& worker) {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto* directory : {"/runc/sandboxes", "/runc/state", "/runc/disks"})
        for (const auto& entry : fs::directory_iterator(worker.state() + directory, error))
            if (const auto name = entry.path().filename().string(); name != "lock" && !name.starts_with("template-"))
                names.push_back(entry.path());
    return names;
}

std::size_t loop_devices(const WorkerProcess& worker) {
    std::size_t count = 0;
    for (const auto& device : fs::directory_iterator("/sys/block")) {
        std::ifstream backing(device.path() / "loop/backing_file");
        std::string name;
        if (std::getline(backing, name) && name.starts_with(worker.state())) ++count;
    }
    return count;
}

TEST(RuncWorker, killed_under_load_loses_doubles_and_leaves_nothing) {
    TemporaryDirectory images;
    const auto image = std::string("sandbox-base-busybox:local");
    auto made = run_program({.argv = {source("scripts/build-base-image.sh"), "busybox"}});
    ASSERT_EQ(made.status, 0) << made.err;
    made = run_program({.argv = {source("deploy/drivers/runc/unpack-image"), image},
                        .environment = {{"RUNC_DRIVER_IMAGES", images.path()}}});
    ASSERT_EQ(made.status, 0) << made.err;

    Controller controller;
    const auto api = controller.api();
    auto variables = with_driver("runc", program("sandbox-driver-runc"));
    variables["RUNC_DRIVER_IMAGES"] = images.path();
    WorkerProcess worker(controller.url(), variables);
    worker.start_registered(60s);

    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::vector<std::string> ids;
    std::vector<std::string> wrong;
    int good = 0;
    auto live = [&](int user) {
        for (int round = 0; !stop; ++round) {
            const auto mark = std::to_string(user) + "-" + std::to_string(round);
            const auto reply =
                call(api.address(), "POST", "/v1/sandboxes?wait_seconds=60",
                     json{{"spec",
                           {{"tenant", "acme"},
                            {"image", image},
                            {"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 32}}}}}}
                         .dump());
            if (reply.status != 201) continue;  // no node at the moment
            const auto id = reply.json()["sandbox"]["id"].get<std::string>();
            {
                const std::scoped_lock lock(mutex);
                ids.push_back(id);
            }
            // Runs once or not at all: twice would be two lines. One that the kill cost its sandbox is refused.
            const auto line = "echo " + mark + " >> /workspace/n; cat /workspace/n";
            const auto asked = call(api.address(), "POST", "/v1/sandboxes/" + id + "/exec?wait_seconds=60",
                                    json{{"command", {{"argv", {"sh", "-c", line}}}}}.dump());
            const auto ended = asked.json().value("operation", json::object());
            if (asked.status == 202 && ended["state"] == "succeeded") {
                const std::scoped_lock lock(mutex);
                ++good;
                if (ended["output"]["stdout"] != mark + "\n") wrong.push_back(ended.dump());
            }
            (void)call(api.address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
        }
    };
    std::vector<std::thread> users;
    for (int user = 0; user < 4; ++user) users.emplace_back(live, user);
    for (int kill = 0; kill < repeats("SANDBOX_TEST_KILLS", 3); ++kill) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1200 + 170 * (kill % 7)));  // any moment will do
        worker.kill();
        worker.start_registered(60s);
    }
    stop = true;
    for (auto& user : users) user.join();

    EXPECT_THAT(wrong, IsEmpty());
    EXPECT_GT(good, 0);
    for (const auto& id : ids) (void)call(api.address(), "DELETE", "/v1/sandboxes/" + id + "?wait_seconds=60");
    EXPECT_TRUE(eventually(90s, [&] { return held(worker).empty() && loop_devices(worker) == 0; }));
    EXPECT_THAT(held(worker), IsEmpty());
    EXPECT_EQ(loop_devices(worker), 0U);
    for (const auto& id : ids) EXPECT_EQ(api.sandbox(id)["state"], "stopped") << api.sandbox(id).dump();
    const auto capacity = api.node()["capacity"];
    EXPECT_EQ(capacity["running_sandboxes"], 0);
}

}  // namespace
}  // namespace sandbox::test
