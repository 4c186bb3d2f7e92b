// What a model is shown: complete both as text and as structure, cut where it is long, and without secrets.
#include <sandbox/base/text.hpp>

#include "mcp_fixture.hpp"

namespace sandbox::test {
namespace {

using Results = McpTest;

TEST_F(Results, a_sandbox_from_its_creation_to_its_end) {
    const auto id = sandbox({{"labels", {{"made-by", "test"}}}});
    const auto inspected = bridge.tool("sandbox_inspect", {{"sandbox_id", id}});
    EXPECT_EQ(inspected["structuredContent"]["sandbox"]["state"], "running");
    EXPECT_THAT(text_of(inspected), HasSubstr("label made-by=test"));

    const auto listed = bridge.tool("sandbox_list", {{"tenant", tenant()}});
    ASSERT_EQ(listed["structuredContent"]["sandboxes"].size(), 1U);
    EXPECT_EQ(listed["structuredContent"]["sandboxes"][0]["id"], id);
    EXPECT_THAT(text_of(listed), HasSubstr(id));

    const auto before = inspected["structuredContent"]["sandbox"]["expires_at"].get<std::string>();
    const auto extended = bridge.tool("sandbox_extend", {{"sandbox_id", id}, {"ttl_seconds", 7200}});
    EXPECT_GT(extended["structuredContent"]["sandbox"]["expires_at"].get<std::string>(), before);

    const auto deleted = bridge.tool("sandbox_delete", {{"sandbox_id", id}});
    EXPECT_EQ(deleted["isError"], false);
    EXPECT_EQ(deleted["structuredContent"]["operation"]["state"], "succeeded");
    EXPECT_EQ(bridge.tool("sandbox_list", {{"tenant", tenant()}})["structuredContent"]["sandboxes"], json::array());
    const auto all = bridge.tool("sandbox_list", {{"tenant", tenant()}, {"include_ended", true}});
    EXPECT_EQ(all["structuredContent"]["sandboxes"][0]["state"], "stopped");
}

TEST_F(Results, a_command_is_shown_with_its_output_both_ways) {
    const auto good = bridge.tool("sandbox_exec", {{"sandbox_id", sandbox()},
                                                   {"argv", {"sh", "-c", "cat; echo $X; pwd; echo warned >&2"}},
                                                   {"stdin", "given\n"},
                                                   {"env", {{"X", "value"}}},
                                                   {"cwd", "/tmp"}});
    EXPECT_EQ(good["isError"], false);
    EXPECT_THAT(text_of(good), HasSubstr("exit status 0"));
    EXPECT_THAT(text_of(good), HasSubstr("stdout:\ngiven\nvalue\n/tmp\n"));
    EXPECT_THAT(text_of(good), HasSubstr("stderr:\nwarned\n"));
    const auto& output = good["structuredContent"]["operation"]["output"];
    EXPECT_EQ(output["stdout"], "given\nvalue\n/tmp\n");
    EXPECT_EQ(output["stderr"], "warned\n");
    EXPECT_FALSE(good["structuredContent"].contains("error"));
}

TEST_F(Results, a_command_that_fails_is_an_error_that_begins_with_what_went_wrong) {
    const auto id = sandbox();
    const auto seven = exec(id, "echo because >&2; exit 7");
    EXPECT_EQ(seven["isError"], true);
    EXPECT_THAT(text_of(seven), ::testing::StartsWith("The command exited with status 7"));
    EXPECT_THAT(text_of(seven), HasSubstr("because"));
    EXPECT_THAT(text_of(seven), ::testing::StartsWith(seven["structuredContent"]["error"].get<std::string>()));
    EXPECT_EQ(seven["structuredContent"]["operation"]["output"]["exit_code"], 7);

    const auto late =
        bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "60"}}, {"timeout_seconds", 1}});
    EXPECT_EQ(late["isError"], true);
    EXPECT_THAT(text_of(late), HasSubstr("stopped at its time limit"));

    const auto absent = bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"no-such-program"}}});
    EXPECT_THAT(text_of(absent), HasSubstr("status 127"));

    const auto looked_at =
        bridge.tool("sandbox_operation", {{"operation_id", seven["structuredContent"]["operation"]["id"]}});
    EXPECT_EQ(looked_at["isError"], true);
}

TEST_F(Results, a_wait_that_runs_out_is_no_error_and_can_be_repeated) {
    const auto id = sandbox();
    const auto started = bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"sleep", "4"}}, {"wait", false}});
    EXPECT_EQ(started["isError"], false);
    const json operation = started["structuredContent"]["operation"]["id"];
    EXPECT_THAT(text_of(started), HasSubstr(operation.get<std::string>()));

    const auto early = bridge.tool("sandbox_wait", {{"operation_id", operation}, {"timeout_seconds", 0}});
    EXPECT_EQ(early["isError"], false);
    EXPECT_THAT(text_of(early), HasSubstr("sandbox_wait"));
    const auto done = bridge.tool("sandbox_wait", {{"operation_id", operation}});
    EXPECT_EQ(done["structuredContent"]["operation"]["state"], "succeeded");
}

TEST_F(Results, long_output_is_cut_head_and_tail_and_can_be_read_on) {
    const auto result = exec(sandbox(), "seq 1 20000");
    const auto& operation = result["structuredContent"]["operation"];
    const auto shown = operation["output"]["stdout"].get<std::string>();
    EXPECT_LT(shown.size(), 10400U);
    EXPECT_THAT(shown, ::testing::StartsWith("1\n2\n"));
    EXPECT_THAT(shown, ::testing::EndsWith("19999\n20000\n"));
    EXPECT_THAT(shown, HasSubstr("of 108894 bytes are left out"));
    EXPECT_THAT(text_of(result), HasSubstr(shown));
    EXPECT_EQ(operation["output"]["stdout_bytes"], 108894);

    std::string whole;
    json offset = 0;
    while (!offset.is_null()) {
        const auto page =
            bridge.tool("sandbox_operation",
                        {{"operation_id", operation["id"]}, {"stream", "stdout"}, {"offset", offset}, {"limit", 9999}});
        EXPECT_EQ(page["isError"], false);
        whole += page["structuredContent"]["operation"]["output"]["stdout"].get<std::string>();
        offset = page["structuredContent"]["page"]["next_offset"];
    }
    std::string expected;
    for (int i = 1; i <= 20000; ++i) expected += std::to_string(i) + "\n";
    EXPECT_EQ(whole, expected);
}

class ShortOutput : public McpTest {
protected:
    ShortOutput() : McpTest({"--max-output", "300"}) {}
};

TEST_F(ShortOutput, is_cut_to_what_this_run_was_told) {
    const auto result = exec(sandbox(), "seq 1 200; seq 1 3 >&2");
    const auto& output = result["structuredContent"]["operation"]["output"];
    EXPECT_LT(output["stdout"].get<std::string>().size(), 600U);
    EXPECT_EQ(output["stderr"], "1\n2\n3\n");
}

TEST_F(Results, output_that_is_no_text_is_shown_as_text_and_kept_exactly) {
    const auto result = exec(sandbox(), "printf 'a\\377b\\000c'");
    const auto& output = result["structuredContent"]["operation"]["output"];
    EXPECT_EQ(output["stdout"], json(std::string("a\xef\xbf\xbd"
                                                 "b\0c",
                                                 7)));
    EXPECT_EQ(output["stdout_base64"], "Yf9iAGM=");
}

/// All pages of the operation's standard output, each with the bytes that it says it has.
std::string paged(McpProgram& bridge, const json& operation, std::int64_t limit) {
    std::string whole;
    for (json offset = 0; !offset.is_null();) {
        const auto result =
            bridge.tool("sandbox_operation",
                        {{"operation_id", operation}, {"stream", "stdout"}, {"offset", offset}, {"limit", limit}});
        const auto& page = result["structuredContent"]["page"];
        const auto& output = result["structuredContent"]["operation"]["output"];
        const auto bytes = output["stdout_base64"].is_null()
                               ? output["stdout"].get<std::string>()
                               : base64_decode(output["stdout_base64"].get<std::string>()).value();
        EXPECT_EQ(page["offset"], offset);
        EXPECT_EQ(page["bytes"], bytes.size());
        whole += bytes;
        offset = page["next_offset"];
    }
    return whole;
}

TEST_F(Results, long_output_that_is_no_text_can_be_read_back_exactly) {
    const auto result = exec(sandbox(), "printf '\\200\\201AB'; head -c 20000 /dev/zero | tr '\\0' '\\377'");
    const auto& operation = result["structuredContent"]["operation"];
    EXPECT_EQ(operation["output"]["stdout_base64"], nullptr);
    EXPECT_THAT(text_of(result), HasSubstr("the exact bytes come as base64"));
    const auto read =
        bridge.result("resources/read", {{"uri", "sandbox://operations/" + operation["id"].get<std::string>()}});
    EXPECT_THAT(read["contents"][0]["text"].get<std::string>(), HasSubstr("the exact bytes come as base64"));

    const auto expected =
        "\x80\x81"
        "AB" +
        std::string(20000, '\xff');
    for (const std::int64_t limit : {999, 20000, 1'000'000}) EXPECT_EQ(paged(bridge, operation["id"], limit), expected);
    const auto first =
        bridge.tool("sandbox_operation", {{"operation_id", operation["id"]}, {"stream", "stdout"}, {"limit", 4}});
    EXPECT_THAT(text_of(first), HasSubstr(base64_encode(expected.substr(0, 4)))) << "for who sees only the text";
}

class Secrets : public McpTest {
protected:
    Secrets()
        : McpTest({},
                  {{"SANDBOX_TOKEN", "a-token-of-the-bridge-0123456789abcdef"}, {"OF_THE_BRIDGE", "its-own-secret"}}) {}
};

// Everything that the bridge says in a session, and everything that a sandbox gets.
TEST_F(Secrets, of_the_bridge_and_of_a_sandbox_are_in_no_result) {
    const auto id = sandbox({{"env", {{"KEY", "of-the-sandbox"}}}});
    std::string said;
    for (const auto& result :
         {bridge.tool("sandbox_inspect", {{"sandbox_id", id}}), bridge.tool("sandbox_list", {{"tenant", tenant()}}),
          bridge.tool("sandbox_extend", {{"sandbox_id", id}, {"ttl_seconds", 3600}}), bridge.tool("sandbox_health"),
          bridge.result("resources/read", {{"uri", "sandbox://sandboxes/" + id}}),
          bridge.result("resources/read", {{"uri", "sandbox://capabilities"}}),
          bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"nothing"}}, {"env", {{"K", "of-the-command"}}}})})
        said += result.dump();
    EXPECT_THAT(said, HasSubstr("KEY"));
    for (const auto* secret : {"of-the-sandbox", "of-the-command", "a-token-of-the-bridge", "its-own-secret"})
        EXPECT_THAT(said, Not(HasSubstr(secret)));

    const auto environment = text_of(exec(id, "env"));
    EXPECT_THAT(environment, HasSubstr("KEY=of-the-sandbox"));
    for (const auto* secret : {"a-token-of-the-bridge", "its-own-secret", "SANDBOX_TOKEN", "SANDBOX_URL"})
        EXPECT_THAT(environment, Not(HasSubstr(secret)));
    EXPECT_THAT(bridge.process().err(), Not(HasSubstr("a-token-of-the-bridge")));
}

TEST_F(Results, what_is_not_there_is_an_error_that_says_so) {
    const json nobody = "00000000-0000-7000-8000-000000000000";
    for (const auto& result : {bridge.tool("sandbox_inspect", {{"sandbox_id", nobody}}),
                               bridge.tool("sandbox_delete", {{"sandbox_id", nobody}}),
                               bridge.tool("sandbox_exec", {{"sandbox_id", nobody}, {"argv", {"true"}}})}) {
        EXPECT_EQ(result["isError"], true);
        EXPECT_THAT(text_of(result), HasSubstr("sandbox_list"));
    }
    const auto no_operation = bridge.tool("sandbox_wait", {{"operation_id", nobody}});
    EXPECT_EQ(no_operation["isError"], true);
    EXPECT_THAT(text_of(no_operation), HasSubstr("operation.id"));
    const auto uri = "sandbox://sandboxes/" + nobody.get<std::string>();
    EXPECT_EQ(bridge.error("resources/read", {{"uri", uri}})["code"], -32002);
    EXPECT_EQ(bridge.error("resources/read", july_2026({{"uri", uri}}))["code"], -32602);
}

TEST_F(Results, no_capacity_names_what_is_short_and_warns_not_to_weaken_isolation) {
    const auto result = bridge.tool("sandbox_create", small({{"memory_mib", 100'000'000}}));
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), HasSubstr("memory_mib (100000000 asked"));
    EXPECT_THAT(text_of(result), Not(HasSubstr("cpu_millis")));
    EXPECT_THAT(text_of(result), HasSubstr("Do not weaken isolation"));
}

// A create that leaves less than a host keeps in reserve.
TEST_F(Results, no_capacity_because_of_the_reserve_names_what_is_short) {
    const auto node = get("/v1/nodes")["nodes"][0];
    // As much as there is but for half of the reserve: what the host itself uses meanwhile makes no difference.
    const auto memory = node["capacity"]["available"]["memory_mib"].get<std::int64_t>() -
                        node["capacity"]["total"]["memory_mib"].get<std::int64_t>() / 40;
    const auto result = bridge.tool("sandbox_create", small({{"memory_mib", memory}}));
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), HasSubstr("in reserve; short is memory_mib (" + std::to_string(memory)));
}

TEST_F(Results, a_create_with_exposures_is_refused_without_advice_to_try_again) {
    const auto result = bridge.tool("sandbox_create", small({{"exposures", json::array({{{"container_port", 80}}})}}));
    EXPECT_THAT(text_of(result), HasSubstr("not available in this version"));
    EXPECT_THAT(text_of(result), Not(HasSubstr("ry again")));
}

TEST_F(Results, a_create_that_fails_is_an_error_with_the_sandbox_and_its_operation) {
    const auto result = bridge.tool("sandbox_create", small({{"image", "no-such-image:local"}}));
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), ::testing::StartsWith("The sandbox could not be created: "));
    EXPECT_EQ(result["structuredContent"]["sandbox"]["state"], "failed");
    EXPECT_EQ(result["structuredContent"]["operation"]["state"], "failed");
    owns(result);
}

// Each in a test of its own: an agent's sandbox asks for much, and not every machine has room for two.
TEST_F(Results, an_agent_without_arguments_gets_a_sandbox_and_says_how_to_go_on) {
    const auto made = bridge.tool("sandbox_agent_run",
                                  {{"agent", "codex"}, {"tenant", tenant()}, {"image", kImage}, {"network", "deny"}});
    ASSERT_EQ(made["isError"], false) << text_of(made);
    owns(made);
    const auto& structure = made["structuredContent"];
    EXPECT_EQ(structure["sandbox"]["spec"]["agent"], "codex");
    EXPECT_EQ(structure["create_operation"]["state"], "succeeded");
    EXPECT_EQ(structure["agent_operation"], nullptr);
    EXPECT_EQ(structure["agent_command"], nullptr);
    EXPECT_THAT(text_of(made), HasSubstr("argv [\"codex\""));
}

TEST_F(Results, an_agent_with_arguments_runs_like_any_command) {
    const auto ran = bridge.tool("sandbox_agent_run", {{"agent", "codex"},
                                                       {"tenant", tenant()},
                                                       {"image", kImage},
                                                       {"network", "deny"},
                                                       {"args", {"exec", "hello"}}});
    ASSERT_TRUE(ran["structuredContent"].contains("sandbox")) << text_of(ran);
    owns(ran);
    EXPECT_EQ(ran["isError"], true) << "this image has no codex";
    EXPECT_EQ(ran["structuredContent"]["agent_command"], json::array({"codex", "exec", "hello"}));
    EXPECT_EQ(ran["structuredContent"]["agent_operation"]["output"]["exit_code"], 127);
    EXPECT_THAT(text_of(ran), HasSubstr("The sandbox stays until it is deleted"));
}

TEST_F(Results, ids_and_tenants_that_were_seen_are_completed) {
    const auto id = sandbox();
    const auto values = [&](const json& ref, const std::string& name, const std::string& begun) {
        return bridge.result("completion/complete",
                             {{"ref", ref}, {"argument", {{"name", name}, {"value", begun}}}})["completion"]["values"];
    };
    EXPECT_EQ(values({{"type", "ref/resource"}, {"uri", "sandbox://sandboxes/{id}"}}, "id", id.substr(0, 30)),
              json::array({id}));
    const auto operation = operations_of(id)[0]["id"].get<std::string>();
    EXPECT_EQ(values({{"type", "ref/resource"}, {"uri", "sandbox://operations/{id}"}}, "id", operation.substr(0, 30)),
              json::array({operation}));
    EXPECT_EQ(values({{"type", "ref/prompt"}, {"name", "sandbox-task"}}, "tenant", tenant().substr(0, 10)),
              json::array({tenant()}));
}

}  // namespace
}  // namespace sandbox::test
