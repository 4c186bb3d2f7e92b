#include <chrono>
#include <future>
#include <operations.hpp>
#include <report.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

domain::Operation failed_exec(std::string error) {
    domain::Operation operation;
    operation.kind = domain::OperationKind::exec;
    operation.state = domain::OperationState::failed;
    operation.error = std::move(error);
    return operation;
}

// One word is not enough: whoever reads it must know that the command may have run, and will not run again.
TEST(FailedOperation, that_was_interrupted_says_that_the_worker_restarted_and_nothing_is_repeated) {
    const auto failure = operation_failed(failed_exec("interrupted")).error();

    EXPECT_THAT(failure.error.message(), AllOf(HasSubstr("exec failed: interrupted"), HasSubstr("worker restarted"),
                                               HasSubstr("not run again")));
    EXPECT_EQ(operation_failed(failed_exec("no such program")).error().error.message(), "exec failed: no such program");
}

/// How a wait fails whose server is away all the time.
client::Failure wait_without_server(const domain::Operation& operation) {
    Output output(false, true, ColorChoice::never);
    asio::io_context io{1};
    Globals globals;
    globals.server = "http://127.0.0.1:1";
    Session session(io.get_executor(), globals, [](std::string_view) { return std::optional<std::string>(); }, output);
    auto client = session.client();
    if (!client) return client.error();
    auto answer = asio::co_spawn(io, wait_for(session, **client, operation, 1s, "exec"), asio::use_future);
    io.run();
    return answer.get().error();
}

// Only our wait has failed: what was started is still there, and must be found again.
TEST(Wait, whose_server_is_away_names_the_operation_that_goes_on) {
    domain::Operation operation;
    operation.kind = domain::OperationKind::exec;
    operation.state = domain::OperationState::running;
    const auto exec = wait_without_server(operation);
    EXPECT_EQ(exec.error.code(), Code::unavailable);
    EXPECT_THAT(message_of(exec), AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("; " + goes_on(pending_exec(operation))),
                                        HasSubstr("`sandbox doctor`")));
    EXPECT_THAT(goes_on(pending_exec(operation)),
                AllOf(HasSubstr("goes on without us"), HasSubstr("`sandbox wait " + operation.id.text() + "`"),
                      HasSubstr("`sandbox cancel " + operation.id.text() + "`")));

    operation.kind = domain::OperationKind::create;
    EXPECT_THAT(message_of(wait_without_server(operation)),
                AllOf(HasSubstr("creating sandbox "), HasSubstr("`sandbox delete ")));
}

}  // namespace
}  // namespace sandbox::cli
