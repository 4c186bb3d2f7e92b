// Workers over a driver: risky work goes where its isolation is given and nowhere else, and restarts lose nothing.
#include <filesystem>

#include "workers.hpp"

namespace sandbox::test {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Risk 65: a micro-VM's.
json risky() {
    return {{"tenant", "acme"},
            {"image", "any:local"},
            {"isolation", "container"},
            {"resources", {{"cpu_millis", 100}, {"memory_mib", 64}, {"disk_mib", 64}, {"pids", 32}}},
            {"signals", {{"untrusted_repository", true}, {"executes_generated_code", true}, {"needs_secrets", true}}}};
}

Reply create(const Api& api, const json& spec) {
    return call(api.address(), "POST", "/v1/sandboxes?wait_seconds=60", json{{"spec", spec}}.dump());
}

std::size_t sandboxes_at(const WorkerProcess& worker) {
    std::error_code error;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(worker.state() + "/test-driver", error))
        count += entry.is_directory(error) ? 1 : 0;
    return count;
}

TEST(Isolation, risky_work_goes_to_a_microvm_or_nowhere) {
    Controller controller(8);
    const auto api = controller.api();
    const auto driver = source("tests/fixtures/drivers/test-driver");
    WorkerProcess containers(controller.url(), with_driver("containers", driver));
    const auto container_node = containers.start_registered(60s);

    auto refused = create(api, risky());
    EXPECT_EQ(refused.status, 503U);
    EXPECT_EQ(refused.json()["code"], "no_capacity");
    EXPECT_EQ(refused.json()["details"], json({{"nodes", 1}, {"rejected", {{"isolation", 1}}}}));

    auto variables = with_driver("vms", driver);
    variables["TEST_DRIVER_TIERS"] = "microvm";
    WorkerProcess vms(controller.url(), variables);
    const auto vm_node = vms.start_registered(60s);
    const auto created = create(api, risky());
    ASSERT_EQ(created.status, 201U) << created.body;
    const auto sandbox = created.json()["sandbox"];
    const auto id = sandbox["id"].get<std::string>();
    EXPECT_EQ(sandbox["state"], "running") << created.body;
    EXPECT_EQ(sandbox["isolation"], "microvm");
    EXPECT_EQ(sandbox["risk_score"], 65);
    EXPECT_EQ(sandbox["node_id"], vm_node);
    EXPECT_EQ(api.run(id, {"echo", "hello"})["output"]["stdout"], "hello\n");
    EXPECT_EQ(sandboxes_at(vms), 1U);

    // Its worker is gone for good: the sandbox is lost, and never anywhere else.
    vms.kill();
    ASSERT_TRUE(eventually(60s, [&] {
        const auto seen = api.sandbox(id);
        EXPECT_EQ(seen["node_id"], vm_node);
        return seen["state"] == "failed";
    })) << api.sandbox(id).dump();
    EXPECT_EQ(sandboxes_at(containers), 0U);
    refused = create(api, risky());
    EXPECT_EQ(refused.status, 503U);
    EXPECT_EQ(refused.json()["details"]["rejected"], json({{"isolation", 1}, {"stale", 1}})) << refused.body;
    EXPECT_EQ(sandboxes_at(containers), 0U);

    // Ordinary work is not held up by it.
    auto ordinary = risky();
    ordinary["signals"] = json::object();
    const auto container = create(api, ordinary);
    ASSERT_EQ(container.status, 201U) << container.body;
    EXPECT_EQ(container.json()["sandbox"]["node_id"], container_node);
    EXPECT_EQ(api.destroy(container.json()["sandbox"]["id"].get<std::string>())["state"], "succeeded");
}

// What the driver lists is what there is: found again after a restart of the worker, and missed when it is gone.
TEST(DriverWorker, finds_its_sandboxes_again_and_misses_what_is_gone) {
    Controller controller;
    const auto api = controller.api();
    WorkerProcess worker(controller.url(), with_driver("worker", source("tests/fixtures/drivers/test-driver")));
    worker.start_registered(60s);
    auto spec = risky();
    spec["signals"] = json::object();
    const auto kept = create(api, spec).json()["sandbox"]["id"].get<std::string>();
    const auto lost = create(api, spec).json()["sandbox"]["id"].get<std::string>();
    const auto cut = api.enqueue(kept, {{"argv", {"sleep", "120"}}});
    ASSERT_TRUE(eventually(30s, [&] {
        return api.get("/v1/operations/" + cut["id"].get<std::string>()).json()["operation"]["state"] == "running";
    }));

    worker.kill();
    std::filesystem::remove_all(worker.state() + "/test-driver/" + lost);
    worker.start_registered(60s);

    EXPECT_TRUE(eventually(60s, [&] { return api.sandbox(lost)["state"] == "failed"; })) << api.sandbox(lost).dump();
    EXPECT_EQ(api.sandbox(kept)["state"], "running") << api.sandbox(kept).dump() << worker.log();
    EXPECT_EQ(api.run(kept, {"echo", "again"})["output"]["stdout"], "again\n");
    EXPECT_EQ(api.wait(cut["id"].get<std::string>())["state"], "failed");
    for (const auto& id : {kept, lost}) EXPECT_EQ(api.destroy(id)["state"], "succeeded");
    EXPECT_EQ(sandboxes_at(worker), 0U);
}

// A runtime that can't be had is said at the start, again and again tried, and the node is not there meanwhile.
TEST(Isolation, a_worker_whose_runtime_does_not_answer_is_no_node) {
    Controller controller;
    auto variables = with_driver("promises", source("tests/fixtures/drivers/test-driver"));
    variables["SANDBOX__NODE__ISOLATION_TIERS"] = "microvm";
    WorkerProcess promises_too_much(controller.url(), variables);
    promises_too_much.start();
    WorkerProcess unknown_runtime(
        controller.url(), {{"SANDBOX__NODE__NAME", "unknown"}, {"SANDBOX__NODE__DOCKER_RUNTIME", "no-such-runtime"}});
    unknown_runtime.start();
    EXPECT_TRUE(eventually(60s,
                           [&] {
                               return promises_too_much.log().find(
                                          "node.isolation_tiers promises microvm, and the driver") !=
                                          std::string::npos &&
                                      unknown_runtime.log().find(
                                          "the engine knows no OCI runtime named no-such-runtime: set it up there, or "
                                          "change node.docker_runtime") != std::string::npos;
                           }))
        << promises_too_much.log() << unknown_runtime.log();
    EXPECT_THAT(promises_too_much.log(), HasSubstr("trying again"));
    EXPECT_THAT(unknown_runtime.log(), HasSubstr("trying again"));
    EXPECT_THAT(promises_too_much.log() + unknown_runtime.log(), Not(HasSubstr("registered with the controller")));
    EXPECT_EQ(controller.api().get("/v1/nodes").json()["nodes"], json::array());
}

}  // namespace
}  // namespace sandbox::test
