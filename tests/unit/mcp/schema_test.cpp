#include <schema.hpp>

#include <gtest/gtest.h>

#include <sandbox/api/messages.hpp>
#include <sandbox/domain/agents.hpp>

namespace sandbox::mcp {
namespace {

/// Every member that a schema says is there is there; and, so that a model is told of all, the other way round.
void expect_same_members(const Json& schema, const nlohmann::json& value, const std::string& path) {
    if (!schema.contains("properties") || !value.is_object()) return;
    for (const auto& [name, property] : schema["properties"].items()) {
        EXPECT_TRUE(value.contains(name)) << path << "." << name << " is in the schema only";
        if (value.contains(name)) expect_same_members(property, value[name], path + "." + name);
    }
    for (const auto& [name, member] : value.items())
        EXPECT_TRUE(schema["properties"].contains(name)) << path << "." << name << " is not in the schema";
}

// Whoever adds a member to one of these shapes adds it to the bridge's schemas (cmd/sandbox-mcp/schema.cpp).
TEST(Schema, has_the_members_of_the_apis_objects) {
    domain::Operation operation;
    operation.output.emplace();
    expect_same_members(schema::operation(), operation, "operation");

    domain::Sandbox sandbox;
    sandbox.startup.emplace();
    sandbox.tunnels.emplace_back();
    sandbox.spec.exposures.emplace_back();
    expect_same_members(schema::sandbox(), sandbox, "sandbox");
    const auto properties = schema::sandbox()["properties"];
    expect_same_members(properties["tunnels"]["items"], sandbox.tunnels[0], "tunnel");
    expect_same_members(properties["spec"]["properties"]["exposures"]["items"], sandbox.spec.exposures[0], "exposure");

    expect_same_members(schema::health(), api::Health{}, "health");
    expect_same_members(schema::agent(), domain::agent_profiles()[0], "agent");
}

}  // namespace
}  // namespace sandbox::mcp
