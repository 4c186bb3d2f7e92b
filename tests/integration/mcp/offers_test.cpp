// What the bridge offers, as far as it needs no server: schemas, resources, prompts, completions, refusals.
#include <regex>
#include <set>
#include <support/mcp_program.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sandbox::test {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Offers : public ::testing::Test {
protected:
    Offers() { bridge.initialize(); }

    static std::vector<std::string> names(const json& list) {
        std::vector<std::string> names;
        for (const auto& one : list) names.push_back(one["name"].get<std::string>());
        return names;
    }
    static std::string text_of(const json& result) { return result["content"][0]["text"].get<std::string>(); }

    McpProgram bridge;
};

/// What not every model vendor understands, anywhere in a schema.
void expect_common(const json& schema, const std::string& path, bool is_property) {
    static const std::set<std::string> kForbidden{"$schema", "$ref", "$defs",  "definitions", "anyOf", "oneOf",
                                                  "allOf",   "not",  "format", "if",          "const"};
    if (schema.is_boolean()) {
        EXPECT_FALSE(is_property) << path << " is a bare boolean";
        return;
    }
    ASSERT_TRUE(schema.is_object()) << path;
    EXPECT_FALSE(schema.empty()) << path << " says nothing";
    for (const auto& [key, value] : schema.items()) EXPECT_FALSE(kForbidden.contains(key)) << path << " has " << key;
    if (schema.contains("type")) EXPECT_TRUE(schema["type"].is_string()) << path << " has a list of types";
    if (schema.contains("properties"))
        for (const auto& [name, property] : schema["properties"].items())
            expect_common(property, path + "." + name, true);
    if (schema.contains("items")) expect_common(schema["items"], path + "[]", true);
    if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
        expect_common(schema["additionalProperties"], path + ".*", true);
}

TEST_F(Offers, thirteen_tools_with_schemas_that_every_vendor_understands) {
    const auto tools = bridge.result("tools/list")["tools"];

    EXPECT_THAT(names(tools),
                ElementsAre("sandbox_health", "sandbox_create", "sandbox_exec", "sandbox_list", "sandbox_inspect",
                            "sandbox_extend", "sandbox_tunnel_create", "sandbox_tunnel_delete", "sandbox_delete",
                            "sandbox_operation", "sandbox_wait", "sandbox_agent_list", "sandbox_agent_run"));
    for (const auto& tool : tools) {
        const auto name = tool["name"].get<std::string>();
        EXPECT_FALSE(tool["title"].get<std::string>().empty()) << name;
        EXPECT_FALSE(tool["description"].get<std::string>().empty()) << name;
        EXPECT_EQ(tool["inputSchema"]["additionalProperties"], false) << name;
        for (const auto* hint : {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"})
            EXPECT_TRUE(tool["annotations"][hint].is_boolean()) << name << " " << hint;
        for (const auto* schema : {"inputSchema", "outputSchema"}) {
            EXPECT_EQ(tool[schema]["type"], "object") << name;
            expect_common(tool[schema], name + "." + schema, false);
        }
        for (const auto& [property, schema] : tool["inputSchema"]["properties"].items()) {
            EXPECT_TRUE(schema["description"].is_string()) << name << "." << property;
            if (property.ends_with("_id")) EXPECT_TRUE(schema["pattern"].is_string()) << name << "." << property;
        }
    }
}

TEST_F(Offers, no_list_has_a_second_page) {
    for (const auto* method : {"tools/list", "resources/list", "resources/templates/list", "prompts/list"}) {
        EXPECT_FALSE(bridge.result(method).contains("nextCursor")) << method;
        EXPECT_EQ(bridge.error(method, {{"cursor", "made-up"}})["code"], -32602) << method;
        EXPECT_EQ(bridge.error(method, {{"cursor", 7}})["code"], -32602) << method;
    }
}

TEST(ReadOnly, offers_only_what_changes_nothing) {
    McpProgram bridge("http://127.0.0.1:1", {"--read-only"});
    bridge.initialize();
    std::vector<std::string> names;
    for (const auto& tool : bridge.result("tools/list")["tools"]) {
        EXPECT_EQ(tool["annotations"]["readOnlyHint"], true);
        names.push_back(tool["name"].get<std::string>());
    }
    EXPECT_THAT(names, ElementsAre("sandbox_health", "sandbox_list", "sandbox_inspect", "sandbox_operation",
                                   "sandbox_wait", "sandbox_agent_list"));
    const auto error = bridge.error("tools/call", {{"name", "sandbox_exec"}, {"arguments", json::object()}});
    EXPECT_EQ(error["code"], -32602);
    EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("read-only"));
}

TEST(ReadOnly, can_be_set_in_the_environment) {
    McpProgram bridge("http://127.0.0.1:1", {}, {{"SANDBOX_MCP_READ_ONLY", "1"}});
    bridge.initialize();
    EXPECT_EQ(bridge.result("tools/list")["tools"].size(), 6U);
}

TEST(Tenant, of_the_run_makes_the_argument_optional) {
    McpProgram bridge("http://127.0.0.1:1", {"--tenant", "team-a"});
    bridge.initialize();
    for (const auto& tool : bridge.result("tools/list")["tools"]) {
        const auto required = tool["inputSchema"].value("required", json::array());
        EXPECT_EQ(std::ranges::count(required, "tenant"), 0) << tool["name"];
    }
    EXPECT_EQ(bridge.result("prompts/get", {{"name", "sandbox-task"}, {"arguments", {{"image", "i"}, {"task", "t"}}}})
                  .contains("messages"),
              true);
}

TEST_F(Offers, without_a_tenant_of_the_run_the_argument_is_required) {
    const auto result = bridge.tool("sandbox_list");
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), HasSubstr("tenant: is required"));
}

TEST_F(Offers, a_server_that_is_not_there_is_an_error_that_says_what_to_do_and_not_where_it_would_be) {
    const auto result = bridge.tool("sandbox_health");
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), HasSubstr("does not answer"));
    EXPECT_THAT(text_of(result), HasSubstr("SANDBOX_URL"));
    EXPECT_THAT(result.dump(), ::testing::Not(HasSubstr("127.0.0.1")));
    EXPECT_EQ(result["structuredContent"]["error"], text_of(result));
}

TEST_F(Offers, tunnel_tools_check_their_arguments_and_say_that_there_are_no_tunnels_yet) {
    const json id = "00000000-0000-7000-8000-000000000000";
    const auto bad = bridge.tool("sandbox_tunnel_create", {{"sandbox_id", id}, {"container_port", 70000}});
    EXPECT_THAT(text_of(bad), HasSubstr("container_port: must be an integer from 1 to 65535"));
    for (const auto& result : {bridge.tool("sandbox_tunnel_create", {{"sandbox_id", id}, {"container_port", 80}}),
                               bridge.tool("sandbox_tunnel_delete", {{"sandbox_id", id}, {"tunnel_id", id}})}) {
        EXPECT_EQ(result["isError"], true);
        EXPECT_THAT(text_of(result), HasSubstr("not available in this version"));
    }
}

// JSON Schema counts 300.0 among the integers, and some clients write numbers that way.
TEST_F(Offers, whole_numbers_with_a_fraction_are_integers) {
    const json id = "00000000-0000-7000-8000-000000000000";
    const auto result = bridge.tool("sandbox_extend", {{"sandbox_id", id}, {"ttl_seconds", 300.0}});
    EXPECT_THAT(text_of(result), HasSubstr("does not answer"));
    const auto half = bridge.tool("sandbox_extend", {{"sandbox_id", id}, {"ttl_seconds", 300.5}});
    EXPECT_THAT(text_of(half), HasSubstr("ttl_seconds: must be an integer"));
}

/// A value of another type than the schema says.
json misfit(const json& schema) {
    return schema.value("type", "") == "string" ? json(5) : json("wrong");
}

// Each property of each tool: a value that the schema does not allow is refused, with one sentence.
TEST_F(Offers, what_the_schema_does_not_allow_is_refused_once) {
    for (const auto& tool : bridge.result("tools/list")["tools"])
        for (const auto& [property, schema] : tool["inputSchema"]["properties"].items())
            for (const auto& value : {json(), misfit(schema)}) {
                const auto name = tool["name"].get<std::string>();
                const auto result = bridge.tool(name, {{property, value}});
                const auto text = text_of(result);
                EXPECT_EQ(result["isError"], true) << name << " " << property;
                std::size_t times = 0;
                for (const std::string before : {"fit: ", "; "})
                    times += text.find(before + property + ": ") == std::string::npos ? 0 : 1;
                EXPECT_EQ(times, 1U) << name << " " << property << ": " << text;
                EXPECT_EQ(text.rfind("; " + property + ": "), text.find("; " + property + ": ")) << text;
            }
}

TEST_F(Offers, null_is_no_value_of_an_argument_however_deep) {
    const json id = "00000000-0000-7000-8000-000000000000";
    EXPECT_THAT(
        text_of(bridge.tool("sandbox_exec", {{"sandbox_id", id}, {"argv", {"true"}}, {"timeout_seconds", nullptr}})),
        HasSubstr("timeout_seconds: must not be null: leave it out instead"));
    const json exposure{{"container_port", 80}, {"subdomain", nullptr}};
    EXPECT_THAT(text_of(bridge.tool("sandbox_create",
                                    {{"tenant", "t"}, {"image", "i"}, {"exposures", json::array({exposure})}})),
                HasSubstr("exposures[0].subdomain: must not be null"));
}

TEST_F(Offers, an_agent_run_without_waiting_takes_no_arguments_for_the_agent) {
    const auto result = bridge.tool("sandbox_agent_run",
                                    {{"agent", "codex"}, {"tenant", "t"}, {"args", {"exec", "hi"}}, {"wait", false}});
    EXPECT_EQ(result["isError"], true);
    EXPECT_THAT(text_of(result), HasSubstr("wait: may only be false without args"));
    EXPECT_THAT(text_of(bridge.tool("sandbox_agent_run", {{"agent", "commandcode"}, {"tenant", "t"}})),
                HasSubstr("image: is required"));
    EXPECT_THAT(text_of(bridge.tool("sandbox_agent_run", {{"agent", "nobody"}, {"tenant", "t"}})),
                HasSubstr("agent: must be one of codex, claude"));
}

TEST_F(Offers, three_resources_that_need_no_server_and_two_templates) {
    std::vector<std::string> uris;
    for (const auto& resource : bridge.result("resources/list")["resources"]) {
        uris.push_back(resource["uri"].get<std::string>());
        const auto contents = bridge.result("resources/read", {{"uri", resource["uri"]}})["contents"];
        ASSERT_EQ(contents.size(), 1U);
        EXPECT_EQ(contents[0]["uri"], resource["uri"]);
        EXPECT_EQ(contents[0]["mimeType"], resource["mimeType"]);
        if (resource["mimeType"] == "application/json")
            EXPECT_TRUE(json::parse(contents[0]["text"].get<std::string>()).is_object());
    }
    EXPECT_THAT(uris, ElementsAre("sandbox://capabilities", "sandbox://agents", "sandbox://workflow"));

    std::vector<std::string> templates;
    for (const auto& one : bridge.result("resources/templates/list")["resourceTemplates"])
        templates.push_back(one["uriTemplate"].get<std::string>());
    EXPECT_THAT(templates, ElementsAre("sandbox://sandboxes/{id}", "sandbox://operations/{id}"));
}

TEST_F(Offers, capabilities_that_are_true_of_this_build) {
    const auto contents = bridge.result("resources/read", {{"uri", "sandbox://capabilities"}})["contents"];
    const auto capabilities = json::parse(contents[0]["text"].get<std::string>());
    for (const auto* key : {"server", "mcp_protocol", "runtime", "isolation_preferences", "network_modes", "features",
                            "public_tunnels", "not_implemented"})
        EXPECT_TRUE(capabilities.contains(key)) << key;
    for (const auto* key :
         {"protocols", "domain_and_tls", "url_scheme", "client_must_use_returned_url", "authentication"})
        EXPECT_TRUE(capabilities["public_tunnels"].contains(key)) << key;
    EXPECT_EQ(capabilities["network_modes"], json::array({"deny", "restricted", "open"}));
    EXPECT_THAT(capabilities["runtime"].get<std::string>(), HasSubstr("driver"));
    EXPECT_THAT(capabilities["runtime"].get<std::string>(), HasSubstr("Docker"));
    EXPECT_THAT(capabilities["not_implemented"], ::testing::Not(::testing::Contains("micro-VM runtime")))
        << "an operator's driver may offer it";

    const auto workflow = bridge.result("resources/read", {{"uri", "sandbox://workflow"}})["contents"][0]["text"];
    EXPECT_THAT(workflow.get<std::string>(), HasSubstr("running in the background"));
    for (const auto& tool : bridge.result("tools/list")["tools"])
        if (tool["name"] == "sandbox_exec")
            EXPECT_THAT(tool["description"].get<std::string>(), HasSubstr("running in the background"));
}

TEST_F(Offers, two_prompts_with_a_plan_each) {
    EXPECT_THAT(names(bridge.result("prompts/list")["prompts"]), ElementsAre("sandbox-task", "sandbox-agent-session"));
    const auto task = bridge.result(
        "prompts/get",
        {{"name", "sandbox-task"}, {"arguments", {{"tenant", "me"}, {"image", "py"}, {"task", "count"}}}});
    ASSERT_EQ(task["messages"].size(), 1U);
    EXPECT_EQ(task["messages"][0]["role"], "user");
    const auto text = task["messages"][0]["content"]["text"].get<std::string>();
    for (const auto* part :
         {"count", "\"me\"", "\"py\"", "\"deny\"", "sandbox_create", "sandbox_exec", "sandbox_delete"})
        EXPECT_THAT(text, HasSubstr(part));
    EXPECT_EQ(bridge
                  .result("prompts/get",
                          {{"name", "sandbox-agent-session"},
                           {"arguments", {{"agent", "codex"}, {"tenant", "me"}, {"task", "count"}}}})["messages"]
                  .size(),
              1U);
}

TEST_F(Offers, a_prompt_that_is_unknown_or_lacks_an_argument_is_invalid) {
    EXPECT_EQ(bridge.error("prompts/get", {{"name", "no-such"}})["code"], -32602);
    EXPECT_EQ(bridge.error("prompts/get", {{"name", 7}})["code"], -32602);
    EXPECT_EQ(bridge.error("prompts/get", {{"name", "sandbox-task"}})["code"], -32602);
    const json almost{{"tenant", "me"}, {"image", "py"}};
    const auto missing = bridge.error("prompts/get", {{"name", "sandbox-task"}, {"arguments", almost}});
    EXPECT_THAT(missing["message"].get<std::string>(), HasSubstr("task"));
    const json wrong{{"tenant", "me"}, {"image", "py"}, {"task", 7}};
    EXPECT_EQ(bridge.error("prompts/get", {{"name", "sandbox-task"}, {"arguments", wrong}})["code"], -32602);
}

TEST_F(Offers, completes_agents_and_networks_and_nothing_from_a_server_that_is_away) {
    const auto values = [&](const json& ref, const char* name, const char* begun) {
        return bridge.result("completion/complete",
                             {{"ref", ref}, {"argument", {{"name", name}, {"value", begun}}}})["completion"]["values"];
    };
    const json session{{"type", "ref/prompt"}, {"name", "sandbox-agent-session"}};
    EXPECT_EQ(values(session, "agent", "co"), json::array({"codex", "commandcode"}));
    EXPECT_EQ(values(session, "task", ""), json::array());
    EXPECT_EQ(values({{"type", "ref/prompt"}, {"name", "sandbox-task"}}, "network", "r"), json::array({"restricted"}));
    EXPECT_EQ(values({{"type", "ref/resource"}, {"uri", "sandbox://sandboxes/{id}"}}, "id", ""), json::array());

    for (const auto& ref : {json{{"type", "ref/prompt"}, {"name", "no-such"}}, json{{"type", "ref/other"}}, json(7),
                            json{{"type", "ref/resource"}, {"uri", "sandbox://no/{such}"}}})
        EXPECT_EQ(
            bridge.error("completion/complete", {{"ref", ref}, {"argument", {{"name", "id"}, {"value", ""}}}})["code"],
            -32602);
    EXPECT_EQ(bridge.error("completion/complete", {{"ref", session}})["code"], -32602);
}

}  // namespace
}  // namespace sandbox::test
