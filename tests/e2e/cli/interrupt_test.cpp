#include <csignal>

#include "cli_fixture.hpp"

namespace sandbox::test {
namespace {

class Interrupt : public CliTest {
protected:
    /// The newest operation of a sandbox, once it runs.
    std::string running_operation(const std::string& id) {
        nlohmann::json newest;
        const bool runs = eventually(10s, [&] {
            newest = json({"operations", id, "--limit", "1"})[0];
            return newest["kind"] == "exec" && newest["state"] == "running";
        });
        EXPECT_TRUE(runs) << newest;
        return newest["id"].get<std::string>();
    }
};

// Ctrl-C leaves the command running, names it and says what can be done.
TEST_F(Interrupt, of_an_exec_names_the_operation_that_goes_on) {
    const auto id = sandbox();
    Process exec(start_of({"exec", id, "--", "sleep", "60"}));
    const auto operation = running_operation(id);

    exec.signal(SIGINT);
    const auto ended = exec.wait(5s);

    EXPECT_EQ(ended.status, 130);
    EXPECT_EQ(ended.out, "");
    EXPECT_THAT(ended.err, HasSubstr("sandbox wait " + operation));
    EXPECT_THAT(ended.err, HasSubstr("sandbox cancel " + operation));
    EXPECT_EQ(json({"operations", id})[0]["state"], "running");
}

// However early the signal comes: once something was started, it is named.
TEST_F(Interrupt, at_any_moment_leaves_nothing_unnamed) {
    const auto id = sandbox();
    for (const auto pause : {0ms, 5ms, 10ms, 15ms, 20ms, 30ms, 50ms, 80ms}) {
        const auto before = json({"operations", id, "--limit", "100"}).size();
        Process exec(start_of({"exec", id, "--", "sleep", "60"}));
        std::this_thread::sleep_for(pause);
        exec.signal(SIGINT);
        const auto ended = exec.wait(5s);
        const auto after = json({"operations", id, "--limit", "100"});

        EXPECT_EQ(ended.status, 130);
        if (after.size() > before) {
            EXPECT_THAT(ended.err, HasSubstr(after[0]["id"].get<std::string>())) << pause.count();
        }
    }
}

TEST_F(Interrupt, gives_programs_a_document) {
    const auto id = sandbox();
    Process exec(start_of({"exec", id, "--json", "--", "sleep", "60"}));
    const auto operation = running_operation(id);

    exec.signal(SIGINT);
    const auto ended = exec.wait(5s);
    const auto error = nlohmann::json::parse(ended.err)["error"];

    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(error["code"], "interrupted");
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr(operation));
}

TEST_F(Interrupt, of_a_wait_names_it_too) {
    const auto id = sandbox();
    const auto operation = run({"exec", id, "--no-wait", "--quiet", "--", "sleep", "60"}).out.substr(0, 36);
    Process wait(start_of({"wait", operation}));
    std::this_thread::sleep_for(300ms);

    wait.signal(SIGTERM);
    const auto ended = wait.wait(5s);

    EXPECT_EQ(ended.status, 143);
    EXPECT_THAT(ended.err, HasSubstr("sandbox wait " + operation));
}

// Nothing was started, so there is nothing to say.
TEST_F(Interrupt, of_what_starts_nothing_is_silent) {
    auto start = start_of({"list"});
    start.environment["SANDBOX_URL"] = "http://127.255.255.254:9";
    Process list(start);
    list.signal(SIGTERM);
    EXPECT_THAT(list.wait(5s).err, Not(HasSubstr("goes on")));
}

}  // namespace
}  // namespace sandbox::test
