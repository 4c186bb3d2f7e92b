#pragma once

#include <algorithm>
#include <chrono>
#include <support/local_runtime.hpp>
#include <support/process.hpp>
#include <support/run_task.hpp>
#include <worker/worker.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controller_desk.hpp"

namespace sandbox::sandboxd {

using domain::SandboxState;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WorkerTest : public testing::Test {
protected:
    WorkerTest() : runtime(io.get_executor(), directory.path()) {}
    ~WorkerTest() override {
        if (worker) stop(milliseconds(0));
    }

    void start() {
        if (!desk) desk.emplace(io);
        client = std::make_unique<client::WorkerClient>(io.get_executor(), desk->settings());
        WorkerSettings settings;
        settings.node_id = id<domain::NodeId>();
        settings.name = "worker";
        settings.region = "local";
        settings.zone = "local-a";
        settings.resources = {.cpu_millis = 8000, .memory_mib = 8192, .disk_mib = 1000, .pids = 4096};
        settings.concurrency = concurrency;
        settings.state_dir = directory.path();
        worker = std::make_unique<Worker>(io.get_executor(), settings, runtime, *client, clock, random);
        worker->start();
    }
    void start_registered() {
        start();
        ASSERT_TRUE(eventually([&] { return worker->registered() && !desk->heartbeats.empty(); }));
    }
    void stop(milliseconds grace) {
        test::run(io, worker->stop(in(grace)));
        worker.reset();
    }

    /// Lets everything run until the condition holds.
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
    void run_for(milliseconds time) {
        io.restart();
        io.run_for(time);
    }

    template <class Id>
    Id id() {
        return Id::make(clock.now(), random);
    }
    domain::Assignment assignment(domain::SandboxId of, domain::Work work) {
        domain::Assignment made;
        made.id = id<domain::AssignmentId>();
        made.operation_id = id<domain::OperationId>();
        made.sandbox_id = of;
        made.node_id = id<domain::NodeId>();
        made.kind = std::move(work);
        made.created_at = clock.now();
        return made;
    }
    domain::Assignment lay(domain::SandboxId of, domain::Work work) {
        auto made = assignment(of, std::move(work));
        desk->lay(made);
        return made;
    }
    domain::Assignment lay_create(domain::SandboxId of, std::string image = "image:local") {
        domain::CreateWork work;
        work.spec.tenant = "tenant";
        work.spec.image = std::move(image);
        work.spec.resources = {.cpu_millis = 1000, .memory_mib = 1024, .disk_mib = 100, .pids = 256};
        return lay(of, work);
    }
    domain::Assignment lay_exec(domain::SandboxId of, std::vector<std::string> argv) {
        domain::ExecWork work;
        work.command.argv = std::move(argv);
        return lay(of, work);
    }
    const domain::Completion* report_of(const domain::Assignment& assignment) {
        const auto found = std::ranges::find(desk->reports, assignment.operation_id, &domain::Completion::operation_id);
        return found == desk->reports.end() ? nullptr : &*found;
    }
    bool reported(const domain::Assignment& assignment, milliseconds limit = seconds(10)) {
        return eventually([&] { return report_of(assignment) != nullptr; }, limit);
    }
    domain::SandboxId make_sandbox() {
        const auto box = id<domain::SandboxId>();
        const auto create = lay_create(box);
        EXPECT_TRUE(reported(create));
        return box;
    }

    asio::io_context io{1};
    test::TemporaryDirectory directory;
    async::SystemClock clock;
    SystemRandom random;
    test::LocalRuntime runtime;
    std::optional<ControllerDesk> desk;
    std::unique_ptr<client::WorkerClient> client;
    std::unique_ptr<Worker> worker;
    std::size_t concurrency = 16;
};

}  // namespace sandbox::sandboxd
