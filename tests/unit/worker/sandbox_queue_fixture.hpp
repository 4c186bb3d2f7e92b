#pragma once

#include <algorithm>
#include <support/run_task.hpp>
#include <worker/sandbox_queue.hpp>

#include <boost/asio/io_context.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_runtime.hpp"

namespace sandbox::sandboxd {

using domain::SandboxState;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

/// A controller that takes every report at once, or not until told.
class Inbox final : public Reporter {
public:
    std::vector<domain::Completion> reports;
    bool away = false;

    Task<void> report(JobPtr job, domain::Completion completion) override {
        while (away) co_await back_.wait(Deadline::max());
        completion.attempt = job->assignment.attempt;
        reports.push_back(std::move(completion));
    }
    void come_back() {
        away = false;
        back_.notify_all();
    }

private:
    async::Signal back_;
};

class SandboxQueueTest : public testing::Test {
protected:
    SandboxQueueTest() : queue(io.get_executor(), runtime, inbox) {}
    ~SandboxQueueTest() override { io.stop(); }

    template <class Id>
    Id id() {
        Id made;
        made.uuid.bytes[15] = ++last_id_;
        made.uuid.bytes[14] = static_cast<std::uint8_t>(last_id_ == 0 ? ++high_ : high_);
        return made;
    }
    domain::SandboxId sandbox() { return id<domain::SandboxId>(); }

    domain::Assignment assignment(domain::SandboxId of, domain::Work work) {
        domain::Assignment made;
        made.id = id<domain::AssignmentId>();
        made.operation_id = id<domain::OperationId>();
        made.sandbox_id = of;
        made.kind = std::move(work);
        made.attempt = 1;
        return made;
    }
    domain::Assignment give(domain::SandboxId of, domain::Work work) {
        auto made = assignment(of, std::move(work));
        EXPECT_TRUE(queue.accept(made));
        settle();
        return made;
    }
    domain::Assignment give_create(domain::SandboxId of) { return give(of, domain::CreateWork{}); }
    domain::OperationId give_exec(domain::SandboxId of) { return give(of, domain::ExecWork{}).operation_id; }
    domain::Assignment give_delete(domain::SandboxId of) { return give(of, domain::DeleteWork{}); }

    void settle() { test::settle(io); }
    const domain::Completion& report_of(domain::OperationId operation) {
        for (const auto& report : inbox.reports)
            if (report.operation_id == operation) return report;
        throw std::logic_error("nothing was reported of this operation");
    }

    asio::io_context io{1};
    HandRuntime runtime;
    Inbox inbox;
    SandboxQueue queue;

private:
    std::uint8_t last_id_ = 0;
    std::uint8_t high_ = 0;
};

}  // namespace sandbox::sandboxd
