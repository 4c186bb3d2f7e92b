#include <operations.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

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

}  // namespace
}  // namespace sandbox::cli
