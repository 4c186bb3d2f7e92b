// Controller, memory store and worker over real HTTP, with a runtime that runs commands as processes: what the control
// plane promises, without an engine.
#include <algorithm>
#include <chrono>
#include <controller/controller.hpp>
#include <support/local_runtime.hpp>
#include <support/process.hpp>
#include <support/run_task.hpp>
#include <worker/worker.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sandbox/client/client.hpp>
#include <sandbox/events/event_bus.hpp>
#include <sandbox/http/server.hpp>
#include <sandbox/store/memory_store.hpp>

namespace sandbox::sandboxd {
namespace {

using domain::OperationState;
using domain::SandboxState;
using std::chrono::milliseconds;
using std::chrono::seconds;

const std::string kNodeToken(32, 'n');
const std::string kApiToken(32, 'a');

/// One controller process's worth of objects.
struct Plane {
    Plane(asio::io_context& io, async::Clock& clock, Random& random, const std::string& bind, seconds lease)
        : store(store::create_memory_store(store_settings(lease), clock, random)),
          bus(events::create_memory_bus()),
          controller(io.get_executor(), controller_settings(lease), *store, *bus, clock),
          server(io.get_executor(), http::ServerSettings{.bind = bind, .tls = std::nullopt}, controller.service(),
                 random) {
        if (auto listening = server.listen(); !listening) throw std::runtime_error(listening.error().message());
        server.start();
        controller.start();
    }

    static store::Settings store_settings(seconds lease) {
        store::Settings settings;
        settings.lease = lease;
        settings.aegis.microvm_risk_threshold = 101;
        settings.aegis.heartbeat_timeout = seconds(45);
        return settings;
    }
    static ControllerSettings controller_settings(seconds lease) {
        ControllerSettings settings;
        settings.api_token = Secret(kApiToken);
        settings.node_token = Secret(kNodeToken);
        settings.heartbeat_interval = std::max(seconds(1), lease / 3);
        return settings;
    }

    Task<void> stop() {
        controller.begin_stop();
        co_await server.stop(in(seconds(2)));
        co_await controller.stop(in(seconds(2)));
    }

    std::unique_ptr<store::Store> store;
    std::unique_ptr<events::EventBus> bus;
    Controller controller;
    http::Server server;
};

class ControlPlane : public testing::Test {
protected:
    ControlPlane() : runtime(io.get_executor(), directory.path()) {}
    ~ControlPlane() override {
        stop_worker();
        stop_controller();
    }

    void start_controller(const std::string& bind = "127.0.0.1:0") {
        plane = std::make_unique<Plane>(io, clock, random, bind, lease);
        const auto url = *http::Url::parse("http://" + plane->server.address());
        operators = std::make_unique<client::Client>(
            io.get_executor(), client::Settings{.server = url, .token = Secret(kApiToken), .ca_file = std::nullopt});
        workers = workers ? std::move(workers)
                          : std::make_unique<client::WorkerClient>(
                                io.get_executor(),
                                client::Settings{.server = url, .token = Secret(kNodeToken), .ca_file = std::nullopt});
    }
    void stop_controller() {
        if (plane) test::run(io, plane->stop());
        plane.reset();
    }
    void start_worker() {
        WorkerSettings settings;
        settings.node_id = node_id;
        settings.name = "worker";
        settings.region = "local";
        settings.zone = "local-a";
        settings.max_sandboxes = 5;
        settings.resources = {.cpu_millis = 8000, .memory_mib = 65536, .disk_mib = 1000, .pids = 100'000};
        settings.state_dir = directory.path();
        worker = std::make_unique<Worker>(io.get_executor(), settings, runtime, *workers, clock, random);
        worker->start();
        ASSERT_TRUE(eventually([&] { return worker->registered(); }));
    }
    void stop_worker(milliseconds grace = milliseconds(0)) {
        if (worker) test::run(io, worker->stop(in(grace)));
        worker.reset();
    }
    void start() {
        start_controller();
        start_worker();
    }

    template <class Condition>
    bool eventually(Condition condition, milliseconds limit = seconds(10)) {
        const auto until = std::chrono::steady_clock::now() + limit;
        io.restart();
        while (!condition()) {
            if (std::chrono::steady_clock::now() >= until) return false;
            io.run_one_for(milliseconds(20));
        }
        return true;
    }
    /// The answer of one call; a refusal ends the test with its message.
    template <class T>
    T must(Task<client::Answer<T>> call) {
        auto answer = test::run(io, std::move(call));
        if (!answer) throw std::runtime_error(answer.error().code + ": " + answer.error().error.message());
        return std::move(*answer);
    }

    static domain::SandboxSpec spec(std::string image = "image:local") {
        domain::SandboxSpec made;
        made.tenant = "tenant";
        made.image = std::move(image);
        made.resources = {.cpu_millis = 1000, .memory_mib = 64, .disk_mib = 64, .pids = 16};
        return made;
    }
    domain::SandboxId make_sandbox() {
        const auto made = must(operators->create(spec(), "", 10, in(seconds(20))));
        EXPECT_EQ(made.operation.state, OperationState::succeeded) << made.operation.error.value_or("");
        return made.sandbox.id;
    }
    domain::Operation exec(domain::SandboxId box, std::vector<std::string> argv, int wait = 10) {
        domain::Command command;
        command.argv = std::move(argv);
        return must(operators->exec(box, command, "", wait, in(seconds(30))));
    }
    domain::Operation ended(const domain::Operation& operation) {
        return must(operators->wait(operation.id, in(seconds(20))));
    }
    SandboxState state_of(domain::SandboxId box) { return must(operators->sandbox(box, in(seconds(5)))).state; }
    domain::Capacity capacity() { return must(operators->nodes(in(seconds(5)))).front().capacity; }

    asio::io_context io{1};
    test::TemporaryDirectory directory;
    async::SystemClock clock;
    SystemRandom random;
    test::LocalRuntime runtime;
    seconds lease{30};
    domain::NodeId node_id = domain::NodeId::make(clock.now(), random);
    std::unique_ptr<Plane> plane;
    std::unique_ptr<client::Client> operators;
    std::unique_ptr<client::WorkerClient> workers;
    std::unique_ptr<Worker> worker;
};

TEST_F(ControlPlane, carries_a_sandbox_through_its_life) {
    start();
    const auto box = make_sandbox();
    EXPECT_EQ(state_of(box), SandboxState::running);
    EXPECT_EQ(exec(box, {"echo", "hello"}).output->stdout_text, "hello\n");
    const auto failed = exec(box, {"sh", "-c", "exit 3"});
    EXPECT_EQ(failed.state, OperationState::failed);
    EXPECT_EQ(failed.error, "command exited with status 3");

    EXPECT_EQ(must(operators->destroy(box, 10, in(seconds(20)))).state, OperationState::succeeded);
    EXPECT_EQ(state_of(box), SandboxState::stopped);
    EXPECT_EQ(runtime.sandboxes(), 0);
    EXPECT_EQ(capacity().available, capacity().total);
}

// A short command is one round trip; nothing on the way waits for a timer.
TEST_F(ControlPlane, answers_a_short_command_at_once) {
    start();
    const auto box = make_sandbox();
    auto fastest = milliseconds(seconds(60));
    for (int i = 0; i < 10; ++i) {
        const auto begun = std::chrono::steady_clock::now();
        EXPECT_EQ(exec(box, {"true"}).state, OperationState::succeeded);
        fastest = std::min(fastest, std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun));
    }
    EXPECT_LT(fastest, milliseconds(240));
}

// Room for five, fifty at once: five and forty-five. A create that fails gives its room back.
TEST_F(ControlPlane, never_promises_more_than_fits) {
    start();
    const auto missing = must(operators->create(spec("missing/image"), "", 10, in(seconds(20))));
    EXPECT_EQ(missing.operation.state, OperationState::failed);
    EXPECT_EQ(missing.operation.error, "no such image: missing/image");

    int placed = 0, refused = 0;
    auto one = [&]() -> Task<void> {
        const auto answer = co_await operators->create(spec(), "", 20, in(seconds(30)));
        if (answer && answer->operation.state == OperationState::succeeded)
            ++placed;
        else if (!answer && answer.error().code == "no_capacity")
            ++refused;
    };
    for (int i = 0; i < 50; ++i) asio::co_spawn(io, one(), asio::detached);
    ASSERT_TRUE(eventually([&] { return placed + refused == 50; }, seconds(30)));
    EXPECT_EQ(placed, 5);
    EXPECT_EQ(refused, 45);
    EXPECT_EQ(runtime.sandboxes(), 5);
}

// A lease much shorter than the command: it runs once.
TEST_F(ControlPlane, renews_the_lease_of_a_long_command) {
    lease = seconds(3);
    start();
    const auto box = make_sandbox();
    const auto operation = exec(box, {"sh", "-c", "echo x >> runs; sleep 7; cat runs"}, 20);
    EXPECT_EQ(operation.state, OperationState::succeeded);
    EXPECT_EQ(operation.output->stdout_text, "x\n");
}

// As many commands as run at once and one more, then the delete.
TEST_F(ControlPlane, deletes_a_sandbox_full_of_commands) {
    start();
    const auto box = make_sandbox();
    std::vector<domain::Operation> execs;
    for (int i = 0; i < 65; ++i) execs.push_back(exec(box, {"sleep", "120"}, 0));
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 64; }));

    const auto begun = std::chrono::steady_clock::now();
    EXPECT_EQ(must(operators->destroy(box, 10, in(seconds(20)))).state, OperationState::succeeded);
    EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
    for (const auto& operation : execs) {
        const auto end = ended(operation);
        EXPECT_EQ(end.state, OperationState::failed);
        EXPECT_EQ(end.error, "cancelled");
    }
}

TEST_F(ControlPlane, cancels_a_command) {
    start();
    const auto box = make_sandbox();
    const auto operation = exec(box, {"sh", "-c", "echo begun; touch begun; sleep 120"}, 0);
    ASSERT_TRUE(eventually([&] { return exec(box, {"test", "-e", "begun"}).state == OperationState::succeeded; }));
    must(operators->cancel(operation.id, in(seconds(5))));

    const auto end = ended(operation);
    EXPECT_EQ(end.error, "cancelled");
    EXPECT_EQ(end.output->exit_code, 137);
    EXPECT_EQ(end.output->stdout_text, "begun\n");
    EXPECT_EQ(exec(box, {"true"}).state, OperationState::succeeded);
}

TEST_F(ControlPlane, deletes_while_an_image_is_pulled) {
    start();
    const auto made = must(operators->create(spec("slow/image"), "", 0, in(seconds(5))));
    ASSERT_TRUE(eventually(
        [&] { return must(operators->operation(made.operation.id, 0, in(seconds(5)))).phase == "pulling image"; }));

    EXPECT_EQ(must(operators->destroy(made.sandbox.id, 5, in(seconds(10)))).state, OperationState::succeeded);
    EXPECT_EQ(ended(made.operation).state, OperationState::failed);
    EXPECT_EQ(state_of(made.sandbox.id), SandboxState::stopped);
}

// Create and delete in quick succession, again and again: nothing is left.
TEST_F(ControlPlane, leaves_nothing_of_a_sandbox_deleted_at_once) {
    start();
    std::vector<domain::Operation> deletes;
    for (int i = 0; i < 100; ++i) {
        const auto made = must(operators->create(spec(), "", 0, in(seconds(5))));
        deletes.push_back(must(operators->destroy(made.sandbox.id, 5, in(seconds(10)))));
    }
    for (const auto& operation : deletes) EXPECT_EQ(operation.state, OperationState::succeeded);
    EXPECT_EQ(runtime.sandboxes(), 0);
    EXPECT_EQ(capacity().available, capacity().total);
}

// The worker's process starts anew: its commands are interrupted, its sandboxes live on.
TEST_F(ControlPlane, survives_a_worker_that_starts_anew) {
    start();
    const auto box = make_sandbox();
    const auto operation = exec(box, {"sleep", "120"}, 0);
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 1; }));
    stop_worker();
    start_worker();

    EXPECT_EQ(ended(operation).error, "interrupted");
    EXPECT_EQ(state_of(box), SandboxState::running);
    EXPECT_EQ(exec(box, {"echo", "here"}).output->stdout_text, "here\n");
    EXPECT_EQ(capacity().available.cpu_millis, 7000);
}

// Its process is told to stop: what is under way is finished and reported first.
TEST_F(ControlPlane, finishes_a_short_command_before_it_stops) {
    start();
    const auto box = make_sandbox();
    const auto operation = exec(box, {"sleep", "0.5"}, 0);
    ASSERT_TRUE(eventually([&] { return runtime.commands() == 1; }));
    stop_worker(seconds(5));
    EXPECT_EQ(ended(operation).state, OperationState::succeeded);
}

// Somebody removed the container: the sandbox is failed within seconds.
TEST_F(ControlPlane, notices_a_sandbox_that_is_gone) {
    lease = seconds(3);
    start();
    const auto box = make_sandbox();
    const auto kept = make_sandbox();
    runtime.lose(box);
    EXPECT_TRUE(eventually([&] { return state_of(box) == SandboxState::failed; }, seconds(5)));
    EXPECT_EQ(state_of(kept), SandboxState::running);
}

// The controller comes back with an empty memory: the worker registers again, and keeps sandboxes nobody knows for now.
TEST_F(ControlPlane, finds_its_workers_again_after_a_restart) {
    lease = seconds(3);
    start();
    make_sandbox();
    const auto address = plane->server.address();
    stop_controller();
    start_controller(address);

    EXPECT_TRUE(eventually([&] { return !must(operators->nodes(in(seconds(5)))).empty(); }));
    make_sandbox();
    EXPECT_EQ(runtime.sandboxes(), 2);
}

}  // namespace
}  // namespace sandbox::sandboxd
