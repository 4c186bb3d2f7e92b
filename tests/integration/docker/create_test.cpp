// How sandboxes come and go on a real engine.
#include <chrono>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include "docker/names.hpp"
#include "docker_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace docker = runtime::docker;

// A create that has returned can run commands; a delete leaves nothing, and a second one is no error.
TEST_F(DockerTest, creates_and_removes_a_sandbox_whole) {
    auto id = running();
    EXPECT_THAT(phases_, ElementsAre("creating", "starting"));
    EXPECT_EQ(shell(id, "echo hello"), "hello\n");
    EXPECT_THAT(held(), ElementsAre("container sandbox-" + id.text(), "volume sandbox-" + id.text() + "-workspace"));
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_THAT(held(), IsEmpty());
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    EXPECT_EQ(exec(id, {"true"}).error().code(), Code::not_found);
}

TEST_F(DockerTest, creating_again_what_is_there_is_no_error) {
    auto id = running();
    shell(id, "echo 1 > /workspace/kept");
    EXPECT_TRUE(create(id));
    EXPECT_EQ(shell(id, "cat /workspace/kept"), "1\n");
}

TEST_F(DockerTest, says_that_a_local_image_is_missing_and_leaves_nothing) {
    auto spec = small();
    spec.image = "no-such-image:local";
    auto id = new_id();
    auto created = create(id, spec);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code(), Code::not_found);
    EXPECT_THAT(created.error().message(), HasSubstr("no-such-image:local is not on this host"));
    EXPECT_THAT(held(), IsEmpty());
}

TEST_F(DockerTest, refuses_a_tier_that_it_does_not_give) {
    auto created = wait(runtime_->create(new_id(), small(), domain::Tier::microvm, {}));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code(), Code::invalid_argument);
}

// Somebody else's container or volume of the same name stays as it is, also when the sandbox is deleted.
TEST_F(DockerTest, never_touches_what_is_not_its_own) {
    auto id = new_id();
    auto volume = "sandbox-" + id.text() + "-workspace";
    ASSERT_TRUE(wait(engine_.create_volume({.name = volume, .labels = {{"owner", "somebody"}}}, in(10s))));
    auto created = create(id);
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().code(), Code::conflict);
    EXPECT_THAT(created.error().message(), HasSubstr("is not touched"));
    EXPECT_FALSE(wait(runtime_->destroy(id)));
    EXPECT_TRUE(wait(engine_.remove_volume(volume, in(10s))));

    auto container = wait(engine_.create_container("sandbox-" + id.text(), {{"Image", kBusybox}}, in(10s)));
    ASSERT_TRUE(container);
    created = create(id);
    ASSERT_FALSE(created);
    EXPECT_THAT(created.error().message(), HasSubstr("is not touched"));
    EXPECT_FALSE(wait(runtime_->destroy(id)));
    EXPECT_EQ(exec(id, {"true"}).error().code(), Code::conflict);
    EXPECT_TRUE(wait(engine_.remove_container(*container, in(10s))));
    EXPECT_THAT(held(), IsEmpty());
}

// A delete that comes at any moment of a create wins, and nothing of the sandbox stays.
TEST_F(DockerTest, can_be_deleted_while_it_is_created) {
    for (int delay_ms : {0, 1, 5, 10, 20, 40, 80, 120, 200, 300}) {
        auto id = new_id();
        auto spec = small();
        auto creating = begin(runtime_->create(id, spec, domain::Tier::container, {}));
        eventually(std::chrono::milliseconds(delay_ms), [] { return false; });
        auto deleted = wait(runtime_->destroy(id));
        EXPECT_TRUE(deleted) << deleted.error().message();
        ASSERT_TRUE(eventually(5s, [&] { return creating->has_value(); }));
        if (!**creating) EXPECT_EQ((**creating).error().code(), Code::cancelled) << (**creating).error().message();
        EXPECT_THAT(held(), IsEmpty()) << "after " << delay_ms << " ms";
    }
}

// Ten creates at once share what they share: one guest volume, one network.
TEST_F(DockerTest, creates_many_side_by_side) {
    auto spec = small();
    spec.network = domain::Network::restricted_egress;
    std::vector<std::shared_ptr<std::optional<Result<void>>>> creating;
    for (int i = 0; i < 10; ++i) {
        made_.push_back(new_id());
        creating.push_back(begin(runtime_->create(made_.back(), spec, domain::Tier::container, {})));
    }
    for (auto& each : creating) {
        ASSERT_TRUE(eventually(60s, [&] { return each->has_value(); }));
        EXPECT_TRUE(**each) << (**each).error().message();
    }
    auto networks = wait(engine_.find_networks(restricted_network_, in(10s)));
    ASSERT_TRUE(networks);
    ASSERT_EQ(networks->size(), 1U);
    EXPECT_TRUE(networks->front().internal);
}

// The start-up command runs beside the commands; what becomes of it stands in the inventory.
TEST_F(DockerTest, starts_the_start_up_command) {
    auto spec = small();
    spec.command = {"sh", "-c", "echo up; sleep 0.3; echo down; exit 3"};
    auto id = running(spec);
    auto startup = [&]() -> std::optional<domain::Startup> {
        auto items = wait(runtime_->list(in(10s)));
        if (!items || items->empty()) return std::nullopt;
        return items->front().startup;
    };
    ASSERT_TRUE(startup());
    EXPECT_TRUE(startup()->running);
    EXPECT_TRUE(eventually(5s, [&] { return !startup()->running; }));
    EXPECT_EQ(startup()->exit_code, 3);
    EXPECT_EQ(startup()->tail, "up\ndown\n");
    EXPECT_EQ(shell(id, "echo hello"), "hello\n");
}

TEST_F(DockerTest, a_start_up_command_that_can_not_be_run_fails_the_create) {
    auto spec = small();
    spec.command = {"/no/such/program"};
    auto created = create(new_id(), spec);
    ASSERT_FALSE(created);
    EXPECT_THAT(created.error().message(), HasSubstr("/no/such/program"));
    EXPECT_THAT(held(), IsEmpty());
}

// An operator's prune takes the guest's volume and the network away: the next create makes them again.
TEST_F(DockerTest, makes_shared_parts_again_when_they_are_gone) {
    auto spec = small();
    spec.network = domain::Network::restricted_egress;
    auto first = running(spec);
    ASSERT_TRUE(wait(runtime_->destroy(first)));
    ASSERT_TRUE(wait(engine_.remove_network(restricted_network_, in(10s))));
    auto volumes = wait(engine_.list_volumes(fmt::format("{}=guest", docker::kRoleLabel), in(10s)));
    ASSERT_TRUE(volumes);
    // Those of other workers on this machine may be in use.
    for (const auto& volume : *volumes) (void)wait(engine_.remove_volume(volume.name, in(10s)));
    EXPECT_EQ(shell(running(spec), "echo hello"), "hello\n");
}

// What the sandbox was given is told, for the worker's sums after a restart.
TEST_F(DockerTest, lists_what_it_holds) {
    auto id = running();
    auto items = wait(runtime_->list(in(10s)));
    ASSERT_TRUE(items) << items.error().message();
    ASSERT_EQ(items->size(), 1U);
    EXPECT_EQ(items->front().sandbox_id, id);
    EXPECT_TRUE(items->front().running);
    EXPECT_EQ(items->front().resources, small().resources);
    EXPECT_FALSE(items->front().startup);
}

TEST_F(DockerTest, tells_what_it_can_do_and_has) {
    auto capabilities = wait(runtime_->probe(in(10s)));
    ASSERT_TRUE(capabilities) << capabilities.error().message();
    EXPECT_EQ(capabilities->info.name, "docker");
    EXPECT_THAT(capabilities->tiers, ElementsAre(domain::Tier::container));
    for (const char* feature : {"stdin", "cancel", "inventory"})
        EXPECT_THAT(capabilities->features, ::testing::Contains(feature));
    auto status = wait(runtime_->status(in(10s)));
    ASSERT_TRUE(status) << status.error().message();
    EXPECT_THAT(status->warm_images, ::testing::Contains(kBusybox));
    EXPECT_GE(status->pressure, 0.0F);
    EXPECT_LE(status->pressure, 1.0F);
}

}  // namespace
}  // namespace sandbox::test
