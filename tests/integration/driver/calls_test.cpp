// How the driver is called: what it is given, in which order, and how a call is ended.
#include <chrono>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <sandbox/base/log.hpp>

#include "driver_fixture.hpp"

namespace sandbox::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kAnswersAll =
    R"(echo '{"success": true, "result": {"name": "script", "version": "1", "tiers": ["container"], "exit_code": 0, )"
    R"("sandboxes": []}, "error": null}')";

std::chrono::milliseconds since(std::chrono::steady_clock::time_point begun) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
}

TEST_F(DriverTest, is_asked_what_the_contract_says) {
    auto& runtime = use(script("printf '%s' \"$request\" > \"$1\"\n" + std::string(kAnswersAll)));
    ASSERT_TRUE(wait(runtime.probe(in(60s))));
    const auto probe = json::parse(written("probe"));
    EXPECT_EQ(probe["protocol_version"], "sandbox.runtime.v1");
    EXPECT_TRUE(domain::SandboxId::parse(probe["sandbox_id"].get<std::string>()));
    EXPECT_TRUE(probe["payload"].is_null());

    const auto id = new_id();
    auto spec = any_spec();
    spec.env = {{"A", "b\nc"}};
    ASSERT_TRUE(wait(runtime.create(id, spec, domain::Tier::container, {})));
    const auto create = json::parse(written("create"));
    EXPECT_EQ(create["sandbox_id"], id.text());
    EXPECT_EQ(create["payload"]["spec"], json(spec));
    EXPECT_EQ(create["payload"]["isolation"], "container");

    auto asked = command({"printf", "%s", ""});
    asked.stdin_bytes = std::string("\xFF\0", 2);
    const auto operation = new_operation();
    ASSERT_TRUE(wait(runtime.exec(id, operation, asked, 1000)));
    const auto exec = json::parse(written("exec"))["payload"];
    EXPECT_EQ(exec["argv"], json({"printf", "%s", ""}));
    EXPECT_EQ(exec["timeout_seconds"], 60);
    EXPECT_EQ(exec["stdin_base64"], "/wA=");
    EXPECT_EQ(exec["operation_id"], operation.text());
    EXPECT_EQ(exec["max_output_bytes"], 1000);

    ASSERT_TRUE(wait(runtime.destroy(id)));
    EXPECT_EQ(json::parse(written("delete")),
              json({{"protocol_version", "sandbox.runtime.v1"}, {"sandbox_id", id.text()}, {"payload", nullptr}}));
}

// The page is the whole contract, so its example of a create must be one.
TEST_F(DriverTest, is_given_the_fields_that_the_page_shows) {
    std::ifstream page(source("docs/runtime-driver.md"));
    const std::string text(std::istreambuf_iterator<char>(page), {});
    const auto begun = text.find("{\"isolation\": \"container\",");
    ASSERT_NE(begun, std::string::npos);
    const auto shown = json::parse(text.substr(begun, text.find("```", begun) - begun));
    const auto keys = [](const json& object) {
        std::vector<std::string> names;
        for (const auto& [name, value] : object.flatten().items()) {
            // What is inside of these is the caller's.
            if (!name.starts_with("/env") && !name.starts_with("/command")) names.push_back(name);
        }
        return names;
    };
    EXPECT_EQ(keys(shown["spec"]), keys(json(any_spec())));
}

// Nothing of the worker's is the driver's: not its settings and tokens, not what it has open, not its process group.
TEST_F(DriverTest, is_given_nothing_of_the_workers) {
    ::setenv("SANDBOX__SERVER__API_TOKEN", "the-workers-own-token", 1);
    ::setenv("SOMETHING_ELSE", "stays", 1);
    const int open_for_anyone = ::open("/dev/null", O_RDONLY);  // without close-on-exec
    auto& runtime =
        use(script("env > env; ls -l /proc/$$/fd > fds; cut -d ' ' -f 5 /proc/$$/stat > group; echo $$ > pid\n" +
                   std::string(kAnswersAll)));
    auto probed = wait(runtime.probe(in(60s)));
    ::close(open_for_anyone);
    ::unsetenv("SANDBOX__SERVER__API_TOKEN");
    ASSERT_TRUE(probed) << probed.error().message();
    const auto env = written("env");
    EXPECT_THAT(env, Not(HasSubstr("the-workers-own-token")));
    EXPECT_THAT(env, Not(HasSubstr("SANDBOX__")));
    EXPECT_THAT(env, HasSubstr("SANDBOX_STATE_DIR=" + state() + "\n"));
    EXPECT_THAT(env, HasSubstr("SANDBOX_NODE_NAME=test-node\n"));
    EXPECT_THAT(env, HasSubstr("SOMETHING_ELSE=stays\n"));
    EXPECT_THAT(written("fds"), Not(HasSubstr("/dev/null")));
    EXPECT_THAT(written("fds"), Not(HasSubstr("socket:")));
    EXPECT_THAT(written("fds"), Not(HasSubstr("anon_inode")));
    EXPECT_EQ(written("group"), written("pid"));
}

TEST_F(DriverTest, its_log_is_ours_with_sandbox_and_action) {
    auto& runtime = use(script("echo 'one line' >&2; seq 1 5000 >&2\n" + std::string(kAnswersAll)));
    log::configure(log::Level::info, log::Format::json);
    ::testing::internal::CaptureStderr();
    const auto id = new_id();
    auto removed = wait(runtime.destroy(id));
    const auto log = ::testing::internal::GetCapturedStderr();
    log::configure(log::Level::warn, log::Format::text);
    ASSERT_TRUE(removed);
    const auto first = json::parse(log.substr(0, log.find('\n')));
    EXPECT_EQ(first["message"], "driver");
    EXPECT_EQ(first["sandbox_id"], id.text());
    EXPECT_EQ(first["action"], "delete");
    EXPECT_EQ(first["line"], "one line");
    EXPECT_EQ(std::ranges::count(log, '\n'), 1001);
    EXPECT_THAT(log, HasSubstr("… and 4001 lines more"));
}

// Two calls of one sandbox never overlap, those of two sandboxes may; a delete does not wait.
TEST_F(DriverTest, is_called_for_one_sandbox_at_a_time) {
    auto& runtime = use(script(R"(
        [ "$1" = probe ] || [ "$1" = list ] || {
          mkdir "busy-$1" 2>/dev/null || echo overlap >> overlaps
          sleep 0.3
          rmdir "busy-$1" 2>/dev/null
        })"
                               "\n" +
                               std::string(kAnswersAll)));
    ASSERT_TRUE(wait(runtime.probe(in(60s))));
    const auto id = new_id();
    const auto asked = command({"true"});
    auto first = begin(runtime.exec(id, new_operation(), asked, 1000));
    auto second = begin(runtime.exec(id, new_operation(), asked, 1000));
    auto third = begin(runtime.exec(id, new_operation(), asked, 1000));
    ASSERT_TRUE(eventually(30s, [&] { return first->has_value() && second->has_value() && third->has_value(); }));
    EXPECT_TRUE(**first && **second && **third);
    EXPECT_EQ(written("overlaps"), "");
}

TEST_F(DriverTest, is_called_side_by_side_when_it_says_so) {
    auto& runtime = use(script(R"sh(
        if [ "$1" = exec ]; then
          : > "began-$$"
          until [ "$(ls began-* | wc -l)" = 3 ]; do sleep 0.02; done
        fi
        echo '{"success": true, "result": {"name": "side by side", "version": "1", "tiers": ["container"],
               "concurrent_exec": true, "exit_code": 0, "sandboxes": []}, "error": null}')sh"));
    auto probed = wait(runtime.probe(in(60s)));
    ASSERT_TRUE(probed);
    EXPECT_TRUE(probed->concurrent_exec);
    const auto id = new_id();
    const auto asked = command({"true"});
    std::vector<std::shared_ptr<std::optional<Result<runtime::ExecResult>>>> running;
    for (int i = 0; i < 3; ++i) running.push_back(begin(runtime.exec(id, new_operation(), asked, 1000)));
    for (auto& each : running) ASSERT_TRUE(eventually(30s, [&] { return each->has_value(); }));
    for (auto& each : running) EXPECT_TRUE(**each) << (**each).error().message();
}

// A driver that does not know how to cancel is sent SIGTERM, and what it started goes with it.
TEST_F(DriverTest, is_stopped_when_it_can_not_cancel) {
    auto& runtime = use(script("[ \"$1\" = cancel ] && exit 1\n: > began\nsetsid sleep 1000"));
    const auto id = new_id();
    const auto operation = new_operation();
    const auto asked = command({"true"});
    auto running = begin(runtime.exec(id, operation, asked, 1000));
    ASSERT_TRUE(eventually(30s, [&] { return ::access((state() + "/began").c_str(), F_OK) == 0; }));
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(wait(runtime.cancel(id, operation)));
    ASSERT_TRUE(eventually(30s, [&] { return running->has_value(); }));
    EXPECT_LT(since(begun), 10s);
    ASSERT_TRUE(**running) << (**running).error().message();
    EXPECT_EQ((**running)->output.exit_code, 137);
    EXPECT_EQ((**running)->error, "cancelled");
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; }));
    EXPECT_TRUE(wait(runtime.cancel(id, operation)));  // nothing any more
}

// One that waits for its turn is not begun any more.
TEST_F(DriverTest, does_not_begin_what_was_cancelled_before) {
    auto& runtime = use(script("[ \"$1\" = exec ] || exit 1\necho begun >> execs\n: > began\nexec sleep 1000"));
    const auto id = new_id();
    const auto first = new_operation();
    const auto second = new_operation();
    const auto asked = command({"true"});
    auto running = begin(runtime.exec(id, first, asked, 1000));
    auto waiting = begin(runtime.exec(id, second, asked, 1000));
    ASSERT_TRUE(eventually(30s, [&] { return ::access((state() + "/began").c_str(), F_OK) == 0; }));
    EXPECT_TRUE(wait(runtime.cancel(id, second)));
    ASSERT_TRUE(eventually(30s, [&] { return waiting->has_value(); }));
    EXPECT_EQ((**waiting)->error, "cancelled");
    EXPECT_TRUE(wait(runtime.cancel(id, first)));
    ASSERT_TRUE(eventually(30s, [&] { return running->has_value(); }));
    EXPECT_EQ(written("execs"), "begun\n");
}

// A delete ends a create that is under way, and comes after it.
TEST_F(DriverTest, ends_a_create_before_it_deletes) {
    auto& runtime = use(script(R"(
        echo "$1" >> calls
        if [ "$1" = create ]; then
          trap 'echo "create ends" >> calls; exit 1' TERM
          : > began; while :; do sleep 0.05; done
        fi)"
                               "\n" +
                               std::string(kAnswersAll)));
    ASSERT_TRUE(wait(runtime.probe(in(60s))));
    const auto id = new_id();
    const auto spec = any_spec();
    auto creating = begin(runtime.create(id, spec, domain::Tier::container, {}));
    ASSERT_TRUE(eventually(30s, [&] { return ::access((state() + "/began").c_str(), F_OK) == 0; }));
    EXPECT_THAT(*wait(runtime.list(in(60s))), IsEmpty());
    auto removed = wait(runtime.destroy(id));
    EXPECT_TRUE(removed) << removed.error().message();
    ASSERT_TRUE(eventually(10s, [&] { return creating->has_value(); }));
    ASSERT_FALSE(**creating);
    EXPECT_EQ((**creating).error().code(), Code::cancelled);
    EXPECT_EQ(written("calls"), "probe\nlist\ncreate\nlist\ncreate ends\ndelete\n");
}

TEST_F(DriverTest, removes_what_a_failed_create_leaves) {
    auto& runtime = use(script("echo \"$1\" >> calls; [ \"$1\" = create ] && exit 7\n" + std::string(kAnswersAll)));
    ASSERT_TRUE(wait(runtime.probe(in(60s))));
    auto created = wait(runtime.create(new_id(), any_spec(), domain::Tier::container, {}));
    ASSERT_FALSE(created);
    EXPECT_EQ(created.error().message(), "driver create: it ended with exit status 7");
    EXPECT_EQ(written("calls"), "probe\nlist\ncreate\ndelete\n");
}

// Without `list` the worker does without an inventory.
TEST_F(DriverTest, need_not_list) {
    auto& runtime = use(script("[ \"$1\" = list ] && exit 1\n" + std::string(kAnswersAll)));
    auto probed = wait(runtime.probe(in(60s)));
    ASSERT_TRUE(probed) << probed.error().message();
    EXPECT_THAT(probed->features, ElementsAre("stdin", "cancel"));
    EXPECT_FALSE(wait(runtime.list(in(60s))));
}

// A command that outlives its own limit and the five seconds more is a failure of the driver.
TEST_F(DriverTest, is_killed_past_the_commands_limit) {
    settings_.limits.beyond_exec = 200ms;
    auto& runtime = use(script("exec sleep 1000"));
    auto asked = command({"sleep", "1000"});
    asked.timeout_seconds = 1;
    auto result = wait(runtime.exec(new_id(), new_operation(), asked, 1000));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message(), "driver exec: it did not end within 1200 ms and was killed");
}

// Output that a driver did not cut is cut here, as any command's; what it says of more than there is, is believed.
TEST_F(DriverTest, cuts_what_the_driver_did_not) {
    auto& runtime = use(script(R"(
        out=$(seq 1 3000 | tr '\n' ' ')
        printf '{"success": true, "result": {"exit_code": 3, "stdout": "%s", "stderr_base64": "/w==", "stderr_bytes": 9,
                "truncated": false, "error": "it went wrong"}, "error": null}' "$out")"));
    auto result = wait(runtime.exec(new_id(), new_operation(), command({"any"}), 1000));
    ASSERT_TRUE(result) << result.error().message();
    const auto& output = result->output;
    EXPECT_EQ(output.exit_code, 3);
    EXPECT_EQ(result->error, "it went wrong");
    EXPECT_TRUE(output.truncated);
    EXPECT_LE(output.stdout_text.size(), 1000U);
    EXPECT_TRUE(output.stdout_text.starts_with("1 2 3 "));
    EXPECT_TRUE(output.stdout_text.ends_with(" 2999 3000 "));
    EXPECT_EQ(output.stdout_bytes, 13893);
    EXPECT_EQ(output.stderr_text, "\xEF\xBF\xBD");
    EXPECT_EQ(output.stderr_base64, "/w==");
    EXPECT_EQ(output.stderr_bytes, 9);
}

TEST_F(DriverTest, its_answers_are_held_to_their_form) {
    const std::pair<const char*, const char*> wrong[] = {
        {R"([])", "must be an object"},
        {R"({"result": {}})", "success: is required"},
        {R"({"success": 1, "result": {}})", "success: must be true or false"},
        {R"({"success": true, "result": []})", "result: must be an object"},
        {R"({"success": true, "result": {}})", "result.exit_code: is required"},
        {R"({"success": true, "result": {"exit_code": 256}})", "result.exit_code: must be an integer from 0 to 255"},
        {R"({"success": true, "result": {"exit_code": 0, "stdout": 7}})", "result.stdout: must be a string"},
        {R"({"success": true, "result": {"exit_code": 0, "stdout_base64": "?"}})",
         "result.stdout_base64: is no base64"},
        {R"({"success": true, "success": true, "result": {"exit_code": 0}})", "success"},
        {R"({"success": false})", "driver exec: it failed and did not say why"},
        {R"({"success": false, "error": "so it is"})", "driver exec: so it is"},
    };
    for (const auto& [answer, says] : wrong) {
        auto& runtime = use(script("echo '" + std::string(answer) + "'"));
        auto result = wait(runtime.exec(new_id(), new_operation(), command({"any"}), 1000));
        ASSERT_FALSE(result) << answer;
        EXPECT_THAT(result.error().message(), HasSubstr(says)) << answer;
    }
}

// When the worker stops, so do its drivers.
TEST_F(DriverTest, ends_with_its_worker) {
    auto& runtime = use(script(": > began; trap '' TERM; setsid sleep 1000 & sleep 1000; sleep 1000"));
    const auto asked = command({"true"});
    auto running = begin(runtime.exec(new_id(), new_operation(), asked, 1000));
    ASSERT_TRUE(eventually(30s, [&] { return ::access((state() + "/began").c_str(), F_OK) == 0; }));
    wait(runtime_->stop(in(2s)));
    EXPECT_TRUE(eventually(10s, [&] { return running->has_value(); }));
    EXPECT_TRUE(test::eventually(10s, [&] { return left() == 0; }));
}

}  // namespace
}  // namespace sandbox::test
