// The reference driver leaves nothing on the host: not under load, not when it is killed in the middle.
// SANDBOX_TEST_SANDBOXES=200 makes the long series of it.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <sys/mount.h>

#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "driver_fixture.hpp"
#include "driver_kill.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
namespace fs = std::filesystem;

constexpr const char* kImage = "sandbox-base-busybox:local";
constexpr int kSideBySide = 8;

std::string text_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return std::move(text).str();
}

class RuncDriver : public DriverTest {
protected:
    static void SetUpTestSuite() {
        images_ = std::make_unique<TemporaryDirectory>();
        ::setenv("RUNC_DRIVER_IMAGES", images_->path().c_str(), 1);
        const auto built = run_program({.argv = {source("scripts/build-base-image.sh"), "busybox"}});
        ASSERT_EQ(built.status, 0) << built.err;
        const auto unpacked = run_program({.argv = {source("deploy/drivers/runc/unpack-image"), kImage},
                                           .environment = {{"RUNC_DRIVER_IMAGES", images_->path()}}});
        ASSERT_EQ(unpacked.status, 0) << unpacked.err;
    }
    static void TearDownTestSuite() { images_.reset(); }
    void SetUp() override { use_driver(); }
    void use_driver() {
        const auto probed = wait(use(driver()).probe(in(30s)));
        ASSERT_TRUE(probed) << probed.error().message();
    }

    static std::string driver() { return program("sandbox-driver-runc"); }
    static domain::SandboxSpec small() {
        auto spec = any_spec();
        spec.image = kImage;
        spec.resources = {.cpu_millis = 1000, .memory_mib = 64, .disk_mib = 64, .pids = 32};
        return spec;
    }
    static int count() { return repeats("SANDBOX_TEST_SANDBOXES", 24); }

    domain::SandboxId running(const domain::SandboxSpec& spec = small()) {
        ids_.push_back(new_id());
        const auto created = wait(runtime_->create(ids_.back(), spec, domain::Tier::container, {}));
        EXPECT_TRUE(created) << created.error().message();
        return ids_.back();
    }
    std::string shell(domain::SandboxId id, const std::string& line) {
        auto result = wait(runtime_->exec(id, new_operation(), command({"sh", "-c", line}), 1024 * 1024));
        EXPECT_TRUE(result) << result.error().message();
        return result ? result->output.stdout_text : "";
    }
    /// From the create to the delete; what goes wrong on the way is told by who wants to know.
    Task<void> live(domain::SandboxId id, int& good) {
        const auto spec = small();
        const auto says = command({"echo", id.text()});
        const auto created = co_await runtime_->create(id, spec, domain::Tier::container, {});
        const auto said = co_await runtime_->exec(id, new_operation(), says, 1000);
        const auto removed = co_await runtime_->destroy(id);
        if (created && said && said->output.stdout_text == id.text() + "\n" && removed) ++good;
    }
    Task<void> live_many(int lives, int& good, int& left) {
        for (int i = 0; i < lives; ++i) {
            ids_.push_back(new_id());
            co_await live(ids_.back(), good);
        }
        --left;
    }
    /// That many lives, eight at a time, and what `meanwhile` does while they go on. How many went well.
    int live_side_by_side(int lives, const std::function<void()>& meanwhile) {
        int good = 0;
        int left = kSideBySide;
        for (int i = 0; i < kSideBySide; ++i)
            asio::co_spawn(io_, live_many(lives / kSideBySide, good, left), asio::detached);
        const auto until = in(std::chrono::minutes(10));
        while (left > 0 && std::chrono::steady_clock::now() < until) {
            io_.restart();
            io_.run_for(20ms);
            meanwhile();
        }
        EXPECT_EQ(left, 0);
        return good;
    }

    /// Whatever the host still holds of this test's sandboxes.
    [[nodiscard]] std::vector<std::string> on_the_host() const {
        std::vector<std::string> found;
        std::error_code error;
        for (const auto* directory : {"/runc/sandboxes", "/runc/state", "/runc/disks"})
            for (const auto& entry : fs::directory_iterator(state() + directory, error))
                if (const auto name = entry.path().filename().string();
                    name != "lock" && !name.starts_with("template-"))
                    found.push_back("file " + entry.path().string());
        for (const auto& device : fs::directory_iterator("/sys/block", error))
            if (const auto file = text_of(device.path() / "loop/backing_file"); file.starts_with(state()))
                found.push_back("loop device " + file);
        if (text_of("/proc/self/mountinfo").find(state()) != std::string::npos) found.emplace_back("a mount");
        std::set<std::string> names;
        for (const auto& id : ids_) names.insert("sandbox-" + id.text());
        for (const auto& hierarchy : fs::directory_iterator("/sys/fs/cgroup", error)) {
            if (names.contains(hierarchy.path().filename())) found.push_back("cgroup " + hierarchy.path().string());
            for (const auto& group : fs::directory_iterator(hierarchy.path(), error))
                if (names.contains(group.path().filename())) found.push_back("cgroup " + group.path().string());
        }
        // A namespace lives as long as a process in it.
        for (const auto& process : fs::directory_iterator("/proc", error)) {
            const auto environment = text_of(process.path() / "environ");
            const auto at = environment.find("SANDBOX_ID=");
            constexpr std::size_t kIdLength = 36;
            if (at != std::string::npos && names.contains("sandbox-" + environment.substr(at + 11, kIdLength)))
                found.push_back("process " + process.path().string());
        }
        return found;
    }
    void expect_nothing_left() {
        EXPECT_TRUE(test::eventually(20s, [&] { return on_the_host().empty(); }));
        EXPECT_THAT(on_the_host(), IsEmpty());
    }

    std::vector<domain::SandboxId> ids_;

private:
    static std::unique_ptr<TemporaryDirectory> images_;
};
std::unique_ptr<TemporaryDirectory> RuncDriver::images_;

TEST_F(RuncDriver, many_sandboxes_leave_nothing) {
    const int lives = count() / kSideBySide * kSideBySide;
    EXPECT_EQ(live_side_by_side(lives, [] {}), lives);
    expect_nothing_left();
}

// Drivers die at any moment of whatever they do; deletes and a list set it right again.
TEST_F(RuncDriver, killed_at_any_moment_it_leaves_nothing_after_a_delete) {
    int killed = 0;
    int turn = 0;
    const char* const actions[] = {"create", "exec", "delete", "create"};
    live_side_by_side(count() / kSideBySide * kSideBySide, [&] {
        if (++turn % 5 == 0 && driver_check::kill_driver_run(driver(), actions[turn / 5 % 4])) ++killed;
    });
    EXPECT_GT(killed, 0);
    for (const auto& id : ids_) {
        const auto removed = wait(runtime_->destroy(id));
        EXPECT_TRUE(removed) << removed.error().message();
    }
    EXPECT_THAT(*wait(runtime_->list(in(30s))), IsEmpty());
    expect_nothing_left();
}

// A create that was cut off is not listed, and the listing itself clears it away.
TEST_F(RuncDriver, a_list_clears_away_what_a_cut_create_left) {
    for (const auto delay : {20ms, 60ms, 120ms, 240ms}) {
        ids_.push_back(new_id());
        const auto spec = small();
        settings_.limits.destroy = 1ms;  // so that what the failed create left stays
        use_driver();
        auto creating = begin(runtime_->create(ids_.back(), spec, domain::Tier::container, {}));
        eventually(delay, [&] { return creating->has_value(); });
        (void)driver_check::kill_driver_run(driver(), "create");
        ASSERT_TRUE(eventually(60s, [&] { return creating->has_value(); }));
        if (**creating) continue;  // it was faster
        const auto listed = wait(runtime_->list(in(30s)));
        ASSERT_TRUE(listed) << listed.error().message();
        for (const auto& item : *listed) EXPECT_NE(item.sandbox_id, ids_.back());
    }
    settings_.limits.destroy = 60s;
    use_driver();
    for (const auto& id : ids_) EXPECT_TRUE(wait(runtime_->destroy(id)));
    expect_nothing_left();
}

// runc mounts its own program on a file of its record for a moment; killed then, it leaves that on the host.
TEST_F(RuncDriver, a_delete_undoes_the_mount_of_a_killed_runc) {
    ids_.push_back(new_id());
    const auto record = state() + "/runc/state/sandbox-" + ids_.back().text();
    fs::create_directories(record);
    const auto copy = record + "/runc.copy";
    std::ofstream(copy).close();
    ASSERT_EQ(::mount(driver().c_str(), copy.c_str(), "", MS_BIND, nullptr), 0);
    const auto removed = wait(runtime_->destroy(ids_.back()));
    ::umount2(copy.c_str(), MNT_DETACH);  // of a driver that did not
    EXPECT_TRUE(removed) << removed.error().message();
    EXPECT_THAT(on_the_host(), IsEmpty());
}

// sandbox-driver-check that is told to end deletes the sandbox of the check under way, with mount, loop device and
// cgroups.
TEST_F(RuncDriver, leaves_nothing_of_a_check_that_is_interrupted) {
    const auto sandboxes = state() + "/runc/sandboxes";
    const auto ready = [&] {
        std::error_code error;
        for (const auto& entry : fs::directory_iterator(sandboxes, error)) {
            if (!fs::exists(entry.path() / "ready")) continue;
            ids_.push_back(domain::SandboxId::parse(entry.path().filename().string()).value());
            return true;
        }
        return false;
    };
    for (const int number : {SIGTERM, SIGINT}) {
        Process check({.argv = {program("sandbox-driver-check"), driver(), "--only", "limit-cpu", "--state-dir",
                                state(), "--image", kImage}});
        ASSERT_TRUE(test::eventually(30s, ready)) << check.err();
        EXPECT_THAT(on_the_host(), Not(IsEmpty()));
        check.signal(number);
        const auto ended = check.wait(30s);
        EXPECT_EQ(ended.status, 128 + number) << ended.out << ended.err;
        EXPECT_THAT(on_the_host(), IsEmpty());
    }
}

// What an exec whose driver was killed had begun does not outlive the next exec's beginning.
TEST_F(RuncDriver, ends_the_command_of_a_killed_exec) {
    const auto id = running();
    const auto sleep = command({"sleep", "997"});
    auto cut = begin(runtime_->exec(id, new_operation(), sleep, 1000));
    ASSERT_TRUE(eventually(20s, [&] { return driver_check::kill_driver_run(driver(), "exec"); }));
    ASSERT_TRUE(eventually(20s, [&] { return cut->has_value(); }));
    EXPECT_TRUE(test::eventually(20s, [&] { return shell(id, "ps -o args | grep -c '^sleep' || true") == "0\n"; }));
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    expect_nothing_left();
}

TEST_F(RuncDriver, a_sandbox_that_dies_is_not_listed_any_more) {
    const auto id = running();
    ASSERT_EQ(wait(runtime_->list(in(30s)))->size(), 1U);
    std::ifstream processes("/sys/fs/cgroup/pids/sandbox-" + id.text() + "/cgroup.procs");
    if (!processes) processes.open("/sys/fs/cgroup/sandbox-" + id.text() + "/cgroup.procs");
    pid_t pid = 0;
    ASSERT_TRUE(processes >> pid);
    ASSERT_EQ(::kill(pid, SIGKILL), 0);
    EXPECT_TRUE(test::eventually(20s, [&] { return wait(runtime_->list(in(30s)))->empty(); }));
    auto late = wait(runtime_->exec(id, new_operation(), command({"true"}), 1000));
    ASSERT_FALSE(late);
    EXPECT_THAT(late.error().message(), HasSubstr("has ended"));
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    expect_nothing_left();
}

TEST_F(RuncDriver, refuses_what_it_can_not_give) {
    auto spec = small();
    spec.network = domain::Network::open_egress;
    auto created = wait(runtime_->create(new_id(), spec, domain::Tier::container, {}));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().message(),
              "driver create: this driver gives no network: network must be deny, not open_egress");
    for (const char* image : {"../../../etc", "no-such-image:local", "a/../b:local"}) {
        spec = small();
        spec.image = image;
        EXPECT_FALSE(wait(runtime_->create(new_id(), spec, domain::Tier::container, {}))) << image;
    }
    expect_nothing_left();
}

// Values of the environment are in no file and no command line while the sandbox lives.
TEST_F(RuncDriver, keeps_secrets_out_of_files) {
    auto spec = small();
    spec.env = {{"TOKEN", "s3cr3t-value-1"}};
    const auto id = running(spec);
    EXPECT_EQ(shell(id, "echo $TOKEN"), "s3cr3t-value-1\n");
    const auto found = run_program({.argv = {"grep", "-rl", "--devices=skip", "s3cr3t-value-1", state() + "/runc"}});
    EXPECT_EQ(found.out, "");
    EXPECT_TRUE(wait(runtime_->destroy(id)));
}

TEST_F(RuncDriver, has_no_capability_and_gains_none) {
    const auto id = running();
    const auto status = shell(id, "cat /proc/self/status");
    for (const char* line : {"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000",
                             "NoNewPrivs:\t1", "Seccomp:\t2"})
        EXPECT_THAT(status, HasSubstr(line));
    for (const char* line : {"touch /x", "touch /.sandbox/x", "echo x > /proc/1/fd/0", "cat /proc/1/environ",
                             "mount -t tmpfs none /tmp", "unshare -U true"})
        EXPECT_EQ(shell(id, std::string(line) + " 2>/dev/null || echo refused"), "refused\n") << line;
    EXPECT_TRUE(wait(runtime_->destroy(id)));
    expect_nothing_left();
}

}  // namespace
}  // namespace sandbox::test
